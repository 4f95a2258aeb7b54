// SPDX-License-Identifier: BSD-3-Clause
// One lane of a server of protocol 0.1 over libfabric, and a bare peer that has connected to it.
// The tests of rpmemd/lanes send valid and invalid messages through it, and examine the response,
// the pool and the error of the server.
#pragma once

#include "common/wire/persist_message.hpp"
#include "rpmemd/lanes/fabric_lane_server.hpp"
#include "tests/support/bare_end.hpp"
#include "tests/unit/lanes/guarded_pool.hpp"

#include <poll.h>

#include <deque>

namespace rpmem::target {

using test::BareEnd;
using test::value_of;
using wire::PersistMessage;
using wire::PersistMode;

inline constexpr std::size_t message_header = sizeof(PersistMessage);
inline constexpr std::size_t inline_size = 1024;

class Visit {
public:
    explicit Visit(std::size_t data = inline_size, const std::vector<Share>& shares = one_file,
                   bool read_only = false)
        : pool(shares),
          server_(value_of(FabricLaneServer::start(
              options(data, read_only), {pool.begin(), pool_size}, pool.medium(), Log()))),
          peer_(value_of(fabric::find_to_connect(fabric::ProviderKind::sockets, test::loopback,
                                                 std::to_string(server_->port()), {16, 16}))) {
        peer_.endpoint = value_of(fabric::Endpoint::open(peer_.domain, peer_.provider.info.get(),
                                                         *peer_.events, peer_.completions));
        if (!peer_.endpoint.connect(peer_.provider.info->dest_addr))
            throw std::runtime_error("no connection");
        const auto serve = [this] {
            if (!server_->handle_events())
                throw std::runtime_error("the server failed");
        };
        peer_.await(fabric::ConnectionEvent::Kind::connected, serve);
        for (const Deadline deadline(test::fabric_timeout);
             server_->connected() == 0 && !deadline.passed();)
            serve();
    }

    GuardedPool pool;

    // OFFSET is an offset in the pool. It may wrap around, like the arithmetic of a peer.
    [[nodiscard]] PersistMessage message(PersistMode mode, std::uint64_t offset,
                                         std::uint64_t size) const {
        return {static_cast<std::uint32_t>(mode), 0, server_->remote_base() + offset, size};
    }

    // Sends SIZE bytes: MESSAGE, or its beginning, and then bytes of value 1.
    void send(const PersistMessage& message, std::size_t size) {
        // Earlier messages may still be in transit, so each has a buffer of its own.
        std::vector<std::byte>& sent =
            all_sent_.emplace_back(sizeof(PersistMessage) + 8 * inline_size, std::byte{1});
        std::memcpy(sent.data(), &message, sizeof(message));
        const iovec place{sent.data(), size};
        void* descriptor = nullptr;
        if (peer_.endpoint.post_receive(&answer_, sizeof(answer_), nullptr, nullptr) != 0 ||
            peer_.endpoint.post_send({&place, 1}, {&descriptor, 1}) != 0)
            throw std::runtime_error("cannot send");
    }

    bool is_answered() const { return peer_.await_completions(1); }
    // Returns whether a response has arrived. Every valid response contains a lane.
    [[nodiscard]] bool has_answer() const { return answer_.lane != no_lane; }

    // The peer's end of the connection.
    fabric::Endpoint& end() { return peer_.endpoint; }

    // Waits for an error of the server, and returns its text. Returns an empty text after a
    // timeout.
    std::string failure() const {
        pollfd failed{server_->failure_fd(), POLLIN, 0};
        const auto test_timeout = std::chrono::milliseconds(test::fabric_timeout).count();
        return ::poll(&failed, 1, static_cast<int>(test_timeout)) == 1 ? server_->failure() : "";
    }

    // Returns the first SIZE bytes of the pool, read by RDMA. Returns nothing after a failure.
    std::vector<std::byte> read_directly(std::size_t size) {
        std::vector<std::byte> bytes(size);
        if (peer_.endpoint.post_read(bytes.data(), size, nullptr,
                                     {server_->remote_base(), server_->key()}, nullptr) != 0 ||
            !peer_.await_completions(1))
            bytes.clear();
        return bytes;
    }

    // Writes bytes of value 1 to the first SIZE bytes of the pool by RDMA. Returns false if the
    // server refuses the write. A read after the write shows that it was accepted.
    bool write_directly(std::size_t size) {
        const std::vector<std::byte>& ones = all_sent_.emplace_back(size, std::byte{1});
        return peer_.endpoint.post_write(ones.data(), size, nullptr,
                                         {server_->remote_base(), server_->key()}, nullptr) == 0 &&
               peer_.await_completions(1) && !read_directly(size).empty();
    }

private:
    static FabricServerOptions options(std::size_t data, bool read_only) {
        return {.provider = fabric::ProviderKind::sockets,
                .address = test::loopback,
                .device = "",
                .lanes = 1,
                .inline_size = data,
                .workers = 1,
                .spin_time = std::chrono::microseconds(0),
                .paging = PagingPolicy::never,
                .access = PoolAccess::direct,
                .is_0_1 = true,
                .read_only = read_only};
    }

    std::unique_ptr<FabricLaneServer> server_;
    std::deque<std::vector<std::byte>> all_sent_;
    static constexpr std::uint32_t no_lane = 0xffffffff;

    wire::PersistResponse answer_{0, no_lane};
    BareEnd peer_;
};

} // namespace rpmem::target
