// SPDX-License-Identifier: BSD-3-Clause
// Plain TCP, as a good programmer writes it.
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

// Listens at HOST; PLACE is where that is.
Result<UniqueFd> listen_at(const std::string& host, Place& place);
Result<UniqueFd> accept_from(int listener);
Result<UniqueFd> connect_to(const Place& place);

// The peer of this process's youngest TCP connection.
std::optional<Place> youngest_peer();

// A yielding thread tries again and again, and lets others run in between.
enum class Waiting { spinning, yielding, sleeping };

[[nodiscard]] Waiting waiting_of(const LimitTask& task);

Result<> send_all(int fd, std::span<const std::byte> bytes, Waiting waiting);
// As much as one call of recv(2) brings, at least a byte.
Result<std::size_t> receive_some(int fd, std::span<std::byte> bytes, Waiting waiting);
Result<> receive_all(int fd, std::span<std::byte> bytes, Waiting waiting);

} // namespace rpmem::bench
