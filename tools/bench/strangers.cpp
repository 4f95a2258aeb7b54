#include "tools/bench/strangers.hpp"

#include "common/base/unique_fd.hpp"

#include <netinet/in.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace rpmem::bench {
namespace {

constexpr std::chrono::milliseconds pause{5}; // 200 connections a second
// Who says nothing stays as long as the daemon lets him: more of them than it keeps.
constexpr std::size_t most_open = 100;
// A little less than the first message of a lane: what is wrong with it is seen at the first byte.
constexpr std::array<char, 64> nonsense{};

socklen_t length_of(const sockaddr_storage& address) {
    return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

UniqueFd connect_once(const sockaddr_storage& address) {
    UniqueFd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length_of(address)) != 0)
        fd.reset();
    return fd;
}

} // namespace

Strangers::Strangers(const sockaddr_storage& lanes_at)
    : lanes_at_(lanes_at), thread_([this](const std::stop_token& stopped) { come(stopped); }) {}

std::uint64_t Strangers::stop() {
    thread_.request_stop();
    thread_.join();
    return connections_;
}

// Every second one says something.
void Strangers::come(const std::stop_token& stopped) {
    std::array<UniqueFd, most_open> open;
    auto next = std::chrono::steady_clock::now();
    for (std::size_t i = 0; !stopped.stop_requested(); ++i) {
        UniqueFd fd = connect_once(lanes_at_);
        if (fd) {
            ++connections_;
            if (i % 2 == 0)
                (void)::send(fd.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
        }
        open[i % most_open] = std::move(fd);
        next += pause;
        std::this_thread::sleep_until(next);
    }
}

} // namespace rpmem::bench
