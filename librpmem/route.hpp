// SPDX-License-Identifier: BSD-3-Clause
// By which provider, and to which of the target's addresses, the lanes of a pool go.
#pragma once

#include "librpmem/lanes/lazy_lanes.hpp"
#include "librpmem/lanes/provider_choice.hpp"
#include "librpmem/session/lane_addresses.hpp"
#include "librpmem/session/session.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rpmem::initiator {

class Route {
public:
    // Begins the search for an RDMA device: to the place where lanes go as a rule, which need not
    // be looked for again then.
    // Looks names up first, within TIME for the whole login.
    Route(Target target, const LocalMemory& memory, const Settings& settings,
          std::chrono::milliseconds time);

    [[nodiscard]] RdmaSearch& search() { return search_; }
    // The login must go to an address of this kind, as lanes will.
    [[nodiscard]] bool begins_with_ipv4() const;

    // After the login: the best provider to the first address that one leads to. ENOMEDIUM with all
    // addresses.
    // Looks up other names for at most TIME.
    Result<ProviderChoice> choose(const Session& session, std::chrono::milliseconds time);

    // Connects lanes to HOST, which is a number, each of them within TIME.
    using Try = std::function<Result<std::unique_ptr<LazyLanes>>(const std::string& host,
                                                                 std::chrono::milliseconds time)>;
    // Tries the addresses from that one on, all of them together within TIME. IS_LOST: the session
    // is, so that no address helps.
    Result<std::unique_ptr<LazyLanes>> connect(std::chrono::milliseconds time,
                                               const std::function<bool()>& is_lost,
                                               const Try& connect_to);
    // The address of the lanes; until they are connected, the first one to try.
    [[nodiscard]] const LaneAddress& address() const { return addresses_[chosen_]; }

private:
    [[nodiscard]] std::vector<std::string> look_up_target(std::chrono::milliseconds time);
    Result<ProviderChoice> choose_at(const std::string& host, const Session& session);
    [[nodiscard]] std::vector<std::size_t> remaining() const;
    void note(const LaneAddress& address, const std::string& why);
    Failure failed(Error error) const;

    Target target_;
    Settings settings_;
    LocalMemory memory_;
    std::string why_not_resolved_{};
    std::vector<std::string> resolved_; // addresses of the target's name
    std::string searched_;              // the host that search_ is for, a number if it has one
    RdmaSearch search_;
    std::vector<LaneAddress> addresses_;
    std::size_t chosen_ = 0;
    std::vector<std::string> tried_; // each with its reason, for messages
};

} // namespace rpmem::initiator
