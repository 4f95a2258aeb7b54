// One end of plain TCP connections over loopback: what the network can do without any of us.
#pragma once

#include "base/unique_fd.hpp"
#include "buffer.hpp"
#include "exchange.hpp"
#include "samples.hpp"

#include <cstdint>
#include <vector>

namespace rpmem::bench {

class TcpEnd {
public:
    // The end that answers.
    static Result<TcpEnd> listen();
    // The end that asks.
    explicit TcpEnd(std::uint16_t port) : port_(port) {}

    [[nodiscard]] std::uint16_t port() const { return port_; }

    // Both ends must do so, the answering one first.
    Result<> prepare(const Exchange& exchange);
    Result<> ask(const Exchange& exchange, std::vector<std::uint64_t>& nanoseconds);
    Result<> answer(const Exchange& exchange);

private:
    Result<UniqueFd> connect_one() const;
    Result<UniqueFd> accept_one() const;

    UniqueFd listener_;
    std::uint16_t port_ = 0;
    std::vector<UniqueFd> connections_;
    std::vector<Buffer> buffers_; // one for each connection
};

} // namespace rpmem::bench
