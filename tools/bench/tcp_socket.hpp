// SPDX-License-Identifier: BSD-3-Clause
// TCP connections for the measurement of raw TCP.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "tools/bench/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rpmem::bench {

struct Place {
    std::string host;
    std::uint16_t port = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Place, host, port)

// Listens at HOST on a free port. Sets PLACE to host and port.
Result<UniqueFd> listen_at(const std::string& host, Place& place);
Result<UniqueFd> accept_from(int listener);
Result<UniqueFd> connect_to(const Place& place);

// Returns the peer of the TCP connection with the highest descriptor, which is usually the newest.
std::optional<Place> youngest_peer();

// How to wait. A yielding thread retries, and lets other threads run before each attempt.
enum class Waiting { spinning, yielding, sleeping };

[[nodiscard]] Waiting waiting_of(const LimitTask& task);

Result<> send_all(int fd, std::span<const std::byte> bytes, Waiting waiting);
// Receives what one call of recv(2) returns, at least one byte.
Result<std::size_t> receive_some(int fd, std::span<std::byte> bytes, Waiting waiting);
Result<> receive_all(int fd, std::span<std::byte> bytes, Waiting waiting);

} // namespace rpmem::bench
