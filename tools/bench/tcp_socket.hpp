// Plain TCP, as a good programmer writes it.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "tools/bench/limit_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem::bench {

class Listener {
public:
    // ADDRESS as a number; empty: all of this machine.
    static Result<Listener> open(const std::string& address);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    // The next connection that begins with TOKEN.
    [[nodiscard]] Result<UniqueFd> accept(const Token& token) const;

private:
    Listener(UniqueFd fd, std::uint16_t port) : fd_(std::move(fd)), port_(port) {}
    UniqueFd fd_;
    std::uint16_t port_;
};

Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, const Token& token);

// Who yields tries again and again, and lets others run in between.
enum class Waiting { spinning, yielding, sleeping };

[[nodiscard]] Waiting waiting_of(const LimitTask& task);

Result<> send_all(int fd, std::span<const std::byte> bytes, Waiting waiting);
// What one call of recv(2) brings, at least a byte.
Result<std::size_t> receive_some(int fd, std::span<std::byte> bytes, Waiting waiting);
Result<> receive_all(int fd, std::span<std::byte> bytes, Waiting waiting);

} // namespace rpmem::bench
