// What the processes of the raw measurements say to each other, as bytes over a pair of sockets.
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace rpmem::bench {

struct AnswerTask {
    LimitKind kind{};
    std::uint32_t connections = 1;
    std::uint64_t request = 0;
    std::uint64_t answer = 0;
    std::uint64_t count = 0; // 0: only listen
};

struct Reply {
    std::int32_t error = 0;
    std::uint16_t port = 0;
    std::uint64_t samples = 0; // that many times 8 bytes follow
    std::int64_t elapsed = 0;
    std::int64_t own_cpu = 0;
    std::int64_t other_cpu = 0;
    std::array<char, 256> text{};
};

[[nodiscard]] Reply refusal(const Error& error);
[[nodiscard]] Result<> result_of(const Reply& reply);

struct SocketPair {
    UniqueFd ours;
    UniqueFd theirs;
};
[[nodiscard]] Result<SocketPair> make_socket_pair();

[[nodiscard]] bool send_bytes(int fd, std::span<const std::byte> bytes);
[[nodiscard]] bool receive_bytes(int fd, std::span<std::byte> bytes);

template <typename Message>
[[nodiscard]] bool send_message(int fd, const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return send_bytes(fd, std::as_bytes(std::span(&message, 1)));
}

// Nothing at the end of the connection.
template <typename Message>
[[nodiscard]] std::optional<Message> receive_message(int fd) {
    static_assert(std::is_trivially_copyable_v<Message>);
    Message message{};
    if (!receive_bytes(fd, std::as_writable_bytes(std::span(&message, 1))))
        return std::nullopt;
    return message;
}

} // namespace rpmem::bench
