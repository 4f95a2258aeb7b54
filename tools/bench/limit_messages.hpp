// What the processes of the limits say to each other, as bytes over a pair of sockets or through
// ssh.
#pragma once

#include "common/base/io.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "tools/bench/limits.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>

namespace rpmem::bench {

using std::chrono::milliseconds;

// How long one end of an exchange waits while nothing comes from the other.
inline constexpr milliseconds exchange_timeout = std::chrono::seconds(20);
// A login, and the start of a program behind it.
inline constexpr milliseconds start_timeout = std::chrono::seconds(60);
// --time has a minute at most, and a large range on a slow network its own.
inline constexpr milliseconds longest_measurement = std::chrono::minutes(30);
// Between two tasks. If the other process ends, the wait does.
inline constexpr milliseconds longest_run = std::chrono::hours(24 * 7);

// What a connection begins with, so that nobody else's is taken for one of ours.
using Token = std::array<std::byte, 16>;

// The first message to the answering process.
struct Setup {
    std::array<char, 8> version{};
    Token token{};
    std::array<char, 64> listen_at{}; // empty: all addresses
    std::array<char, 32> mark{};      // of the daemons of this run
    std::array<char, 4096> medium{};  // file that is its pool; empty: its memory is
    std::uint64_t pool_size = 0;
};
// A shell's greeting, or the program of another version, is told from ours by this.
inline constexpr std::array<char, 8> limit_version{'r', 'p', 'm', 'b', 'n', 'c', 'h', '2'};

struct Reply {
    std::array<char, 8> version = limit_version;
    std::int32_t error = 0;
    std::uint16_t port = 0;
    std::uint64_t samples = 0; // that many times 8 bytes follow
    std::uint64_t value = 0;   // of what is no measurement
    std::int64_t elapsed = 0;
    std::int64_t own_cpu = 0;
    std::int64_t other_cpu = 0;
    std::array<char, 512> text{}; // of the error; or the address where it can be reached
};

// As much of TEXT as fits, and a zero behind it.
template <std::size_t size>
void put(std::array<char, size>& field, const std::string& text) {
    field[text.copy(field.data(), size - 1)] = '\0';
}

[[nodiscard]] Reply refusal(const Error& error);
[[nodiscard]] Result<> send_samples(int fd, const Result<Samples>& samples);
// Neither returns a reply that is a refusal.
[[nodiscard]] Result<Reply> receive_reply(int fd, milliseconds timeout);
[[nodiscard]] Result<Samples> receive_samples(int fd, milliseconds timeout);

[[nodiscard]] Result<> send_bytes(int fd, std::span<const std::byte> bytes);
[[nodiscard]] Result<> receive_bytes(int fd, std::span<std::byte> bytes, milliseconds timeout);

template <typename Message>
[[nodiscard]] Result<> send_message(int fd, const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return send_bytes(fd, std::as_bytes(std::span(&message, 1)));
}

template <typename Message>
[[nodiscard]] Result<Message> receive_message(int fd, milliseconds timeout) {
    static_assert(std::is_trivially_copyable_v<Message>);
    Message message{};
    RPMEM_TRY(receive_bytes(fd, std::as_writable_bytes(std::span(&message, 1)), timeout));
    return message;
}

// A process of its own that runs SERVE and ends with this one; the socket to it.
Result<UniqueFd> start_process(const std::function<void(const UniqueFd&)>& serve);

} // namespace rpmem::bench
