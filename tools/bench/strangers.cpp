#include "tools/bench/strangers.hpp"

#include "common/base/io.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/processes.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

namespace rpmem::bench {
namespace {

constexpr milliseconds pause{5}; // 200 connections a second
// Who says nothing stays as long as the daemon lets him: more of them than it keeps.
constexpr std::size_t most_open = 100;
// A little less than the first message of a lane: what is wrong with it is seen at the first byte.
constexpr std::array<char, 64> nonsense{};

UniqueFd connect_once(const sockaddr_storage& address) {
    const socklen_t length =
        address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    UniqueFd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
        fd.reset();
    return fd;
}

} // namespace

std::optional<sockaddr_storage> youngest_peer() {
    std::vector<int> descriptors = numbered_entries("/proc/self/fd");
    std::ranges::sort(descriptors, std::greater());
    for (const int fd : descriptors) {
        sockaddr_storage peer{};
        socklen_t length = sizeof(peer);
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
            return peer;
    }
    return {};
}

// Every second one says something.
void come_as_strangers(int control, const sockaddr_storage& lanes_at) {
    // They share no processor with the thread that this process was copied from, if it has its own.
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof(all));
    place_itself(Side::asking, false, all);
    std::array<UniqueFd, most_open> open;
    int connections = 0;
    auto next = std::chrono::steady_clock::now();
    for (std::size_t i = 0;; ++i) {
        UniqueFd fd = connect_once(lanes_at);
        if (fd) {
            ++connections;
            if (i % 2 == 0)
                (void)::send(fd.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
        }
        open[i % most_open] = std::move(fd);
        next += pause;
        const auto left = std::chrono::ceil<milliseconds>(next - std::chrono::steady_clock::now());
        if (wait_readable(control, Deadline(left)).value_or(true))
            break;
    }
    (void)send_line(control, connections);
}

} // namespace rpmem::bench
