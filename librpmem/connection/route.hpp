// SPDX-License-Identifier: BSD-3-Clause
// Chooses the provider for the lanes of a pool, and the address of the target to connect them to.
#pragma once

#include "librpmem/connection/address_family.hpp"
#include "librpmem/lanes/connection_lanes.hpp"
#include "librpmem/lanes/provider_choice.hpp"
#include "librpmem/session/lane_addresses.hpp"
#include "librpmem/session/session.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

class Route {
public:
    // Resolves the name of the target, and prepares the search for an RDMA device that reaches the
    // address where lanes usually connect. TIME is the time for the whole login, see
    // time_for_names().
    Route(Target target, std::span<std::byte> memory, const Settings& settings,
          std::chrono::milliseconds time);

    [[nodiscard]] RdmaSearch& search() { return search_; }
    // See must_use_ipv4().
    [[nodiscard]] bool forces_ipv4() const { return must_use_ipv4(resolved_); }

    // Call it after the login. Returns the best provider to the first address that has one. Looks
    // up other names for at most TIME. Fails with the error of the first address, for example
    // ENOMEDIUM. The text names all addresses.
    Result<ProviderChoice> choose(const Session& session, std::chrono::milliseconds time);

    // Connects lanes to the numeric address HOST, each of them within TIME.
    using Try = std::function<Result<std::unique_ptr<ConnectionLanes>>(
        const std::string& host, std::chrono::milliseconds time)>;
    // Calls CONNECT_TO for the addresses from the chosen one on, until one succeeds. Each of them
    // gets an equal share of the rest of TIME. Stops when IS_LOST returns that the session is lost,
    // because no other address would help.
    Result<std::unique_ptr<ConnectionLanes>> connect(std::chrono::milliseconds time,
                                                     const std::function<bool()>& is_lost,
                                                     const Try& connect_to);
    // Returns the address of the lanes. Before connect() it is the first one to try.
    [[nodiscard]] const LaneAddress& address() const { return addresses_[chosen_]; }

private:
    [[nodiscard]] std::vector<std::string> look_up_target(std::chrono::milliseconds time);
    Result<ProviderChoice> choose_at(const std::string& host, const Session& session);
    [[nodiscard]] std::vector<std::size_t> remaining() const;
    void note(const LaneAddress& address, const std::string& why);
    Failure failed(Error error) const;

    Target target_;
    Settings settings_;
    std::span<std::byte> memory_;
    std::string why_not_resolved_{};
    std::vector<std::string> resolved_; // addresses of the target's name
    std::string searched_;              // host of search_; numeric if it could be resolved
    RdmaSearch search_;
    std::vector<LaneAddress> addresses_;
    std::size_t chosen_ = 0;
    std::vector<std::string> tried_; // failed addresses with their errors, for messages
};

} // namespace rpmem::initiator
