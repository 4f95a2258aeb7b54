// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/route.hpp"

#include "librpmem/session/ssh_destination.hpp"

#include <fmt/ranges.h>

namespace rpmem::initiator {
namespace {

std::optional<std::vector<HostAddress>> addresses_of(const std::optional<wire::Hello>& hello) {
    if (!hello || (hello->capabilities & wire::capability_addresses) == 0)
        return std::nullopt;
    return hello->addresses;
}

// Returns the first numeric address of NAME, or NAME itself if it cannot be resolved.
std::string number_of(const std::string& name, std::chrono::milliseconds time) {
    const auto numbers = resolve(name, time);
    return numbers ? numbers->front() : name;
}

} // namespace

Route::Route(Target target, std::span<std::byte> memory, const Settings& settings,
             std::chrono::milliseconds time)
    : target_(std::move(target)), settings_(settings), memory_(memory),
      resolved_(look_up_target(time_for_names(time))),
      searched_(!settings.address.empty() ? number_of(settings.address, time_for_names(time))
                : resolved_.empty()       ? target_.host
                                          : resolved_.front()),
      search_(searched_, memory, settings) {}

std::vector<std::string> Route::look_up_target(std::chrono::milliseconds time) {
    auto found = resolve(target_.host, time);
    if (found)
        return *std::move(found);
    why_not_resolved_ = found.error().text;
    return {};
}

Result<ProviderChoice> Route::choose(const Session& session, std::chrono::milliseconds time) {
    const Deadline deadline(time);
    const auto ask_where = [&]() -> std::optional<SshDestination> {
        if (settings_.ssh_transport != SshTransport::process)
            return std::nullopt;
        return ask_ssh(settings_.ssh, target_, forces_ipv4(), deadline.left());
    };
    const auto ask_resolver = [&](const std::string& name) {
        return resolve(name, time_for_names(deadline.left()));
    };
    addresses_ = lane_addresses({.setting = settings_.address,
                                 .host = target_.host,
                                 .resolved = resolved_,
                                 .peer = session.peer(),
                                 .advertised = addresses_of(session.hello()),
                                 .uses_advertised = settings_.told_addresses,
                                 .why_not_resolved = why_not_resolved_},
                                {.ssh = ask_where, .resolver = ask_resolver});
    std::optional<Error> first;
    for (const std::size_t index : remaining()) {
        auto choice = choose_at(addresses_[index].number, session);
        if (choice) {
            chosen_ = index;
            return choice;
        }
        note(addresses_[index], choice.error().text);
        if (!first)
            first = std::move(choice).error();
    }
    return failed(first.value_or(Error{ENOMEDIUM, ErrorClass::resource_limit, ""}));
}

Result<ProviderChoice> Route::choose_at(const std::string& host, const Session& session) {
    RPMEM_ASSIGN(auto rdma,
                 host == searched_ ? search_.take() : RdmaSearch(host, memory_, settings_).take());
    return choose_provider(std::move(rdma), host, {session.hello(), session.agreement()},
                           settings_);
}

Result<std::unique_ptr<ConnectionLanes>> Route::connect(std::chrono::milliseconds time,
                                                        const std::function<bool()>& is_lost,
                                                        const Try& connect_to) {
    const Deadline deadline(time);
    const auto indices = remaining();
    Error first{ECONNREFUSED, ErrorClass::link_lost, ""};
    for (std::size_t i = 0; i < indices.size(); ++i) {
        chosen_ = indices[i];
        auto lanes = connect_to(address().number,
                                std::chrono::milliseconds(deadline.poll_timeout() /
                                                          static_cast<int>(indices.size() - i)));
        if (lanes)
            return lanes;
        note(address(), lanes.error().text);
        if (i == 0)
            first = std::move(lanes).error();
        if (is_lost())
            break;
    }
    return failed(std::move(first));
}

// Returns the indices of the addresses that may be tried, from the chosen one on.
std::vector<std::size_t> Route::remaining() const {
    std::vector<std::size_t> indices;
    for (std::size_t index = chosen_; index < addresses_.size(); ++index)
        if (addresses_[index].why_not.empty())
            indices.push_back(index);
    return indices;
}

void Route::note(const LaneAddress& address, const std::string& why) {
    tried_.push_back(fmt::format("{} ({}): {}", address.host, address.source, why));
}

// ERROR is the error of the first address. If there is only one address, the text of ERROR is kept
// as it is.
Failure Route::failed(Error error) const {
    std::vector<std::string> all = tried_;
    for (const LaneAddress& address : addresses_)
        if (!address.why_not.empty())
            all.push_back(fmt::format("{} ({}): not tried: {}", address.host, address.source,
                                      address.why_not));
    if (addresses_.size() > 1 || error.text.empty())
        error.text = fmt::format("no address of {} can be used for lanes: {}. RPMEM_ADDRESS names "
                                 "the address to use",
                                 target_.host, fmt::join(all, "; "));
    return Failure(std::move(error));
}

} // namespace rpmem::initiator
