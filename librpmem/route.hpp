// By which provider, and to which of the target's addresses, the lanes of a pool go.
#pragma once

#include "base/settings.hpp"
#include "lanes/connection.hpp"
#include "lanes/provider_choice.hpp"
#include "session/lane_addresses.hpp"
#include "session/session.hpp"
#include "session/target.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem {

class Route {
public:
    // Begins the search for providers: to the place where lanes go as a rule, which need not be
    // looked for again then.
    Route(Target target, const LocalMemory& memory, const Settings& settings);

    [[nodiscard]] ProviderSearch& search() { return search_; }
    // The login must go to an address of this kind, as lanes will.
    [[nodiscard]] bool begins_with_ipv4() const;

    struct Choice {
        fabric::Provider provider;
        std::string why_not_others;
        std::vector<std::string> notes; // for the log
    };
    // After the login: the best provider to the first address that one leads to. ENOMEDIUM with all
    // addresses.
    Result<Choice> choose(const Session& session);

    // Tries the addresses from that one on, all of them together within RPMEM_CONNECT_TIMEOUT.
    // REQUEST is complete but for the host and the time.
    Result<std::unique_ptr<Connection>> connect(fabric::ProviderKind kind,
                                                const ConnectionRequest& request);
    // Where the lanes are connected; the first place where they may be, until then.
    [[nodiscard]] const LaneAddress& address() const { return addresses_[chosen_]; }

private:
    Result<Choice> choose_at(const std::string& host, const std::optional<wire::Hello>& hello);
    [[nodiscard]] std::vector<std::size_t> remaining() const;
    void note(const LaneAddress& address, const std::string& why);
    Failure failed(Error error) const;

    Target target_;
    Settings settings_;
    LocalMemory memory_;
    std::vector<std::string> resolved_; // addresses of the target's name
    std::string searched_;              // the host that search_ is for
    ProviderSearch search_;
    std::vector<LaneAddress> addresses_;
    std::size_t chosen_ = 0;
    std::vector<std::string> tried_; // each with its reason, for messages
};

} // namespace rpmem
