// SPDX-License-Identifier: BSD-3-Clause
// Pairs of connected ends in one process, for transport_test.cpp. Lanes over tcp and within TLS use
// a Unix socket pair in place of TCP. Lanes over libfabric use its provider sockets, which stands
// for RDMA.
#pragma once

#include "common/transport/fabric/fabric_connection.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "tests/support/bare_end.hpp"
#include "tests/unit/common/transport/collector.hpp"
#include "tests/unit/common/transport/tls/tls_ends.hpp"

#include <numeric>

namespace rpmem::transport::contract {

using test::value_of;
using wire::FrameHeader;
using wire::FrameType;

constexpr std::size_t payload = 8192;
constexpr std::size_t frames = 8;
constexpr std::size_t pool_size = std::size_t{4} << 20;
constexpr std::chrono::milliseconds test_timeout(20000);

struct Side {
    std::unique_ptr<Group> group; // outlives the connection
    std::unique_ptr<LaneConnection> connection;
    Collector taker;
    Event wake = value_of(Event::make());

    // Polls and waits once. Returns false after a timeout.
    bool turn(std::chrono::milliseconds limit) {
        if (connection->poll(taker) > 0)
            group->progressed();
        return group->wait(limit, wake.fd()) != WaitResult::timed_out;
    }
};

// Two connected ends, and everything that they use.
struct Pair {
    virtual ~Pair() = default;
    // Polls both sides until DONE.
    ::testing::AssertionResult until(const std::function<bool()>& done) {
        constexpr std::chrono::milliseconds short_turn(1);
        for (const Deadline deadline(test_timeout); !done();) {
            if (deadline.passed())
                return ::testing::AssertionFailure() << ours.connection->failure().text << "; "
                                                     << theirs.connection->failure().text;
            ours.turn(short_turn);
            theirs.turn(short_turn);
        }
        return ::testing::AssertionSuccess();
    }
    Side ours;   // the initiator
    Side theirs; // the target
    Buffer our_pool = Buffer(pool_size);
    Buffer their_pool = Buffer(pool_size);
};

inline std::unique_ptr<Pair> over(std::unique_ptr<Stream> ours, std::unique_ptr<Stream> theirs) {
    auto pair = std::make_unique<Pair>();
    const auto make = [](Side& side, std::unique_ptr<Stream> stream) {
        side.connection = std::make_unique<FrameConnection>(std::move(stream), "lane 3");
        side.group = std::make_unique<SocketGroup>(std::chrono::microseconds(0), 64 * 1024);
        EXPECT_TRUE(side.group->add(*side.connection));
    };
    make(pair->ours, std::move(ours));
    make(pair->theirs, std::move(theirs));
    return pair;
}

inline std::unique_ptr<Pair> over_tcp() {
    auto sockets = value_of(make_socket_pair());
    return over(std::make_unique<SocketStream>(std::move(sockets.ours)),
                std::make_unique<SocketStream>(std::move(sockets.theirs)));
}

inline std::unique_ptr<Pair> inside_tls() {
    auto ends = tls_ends::joined();
    return over(std::move(ends.initiator), std::move(ends.target));
}

struct FabricPair final : Pair {
    using End = test::BareEnd;
    ~FabricPair() override { // before the objects that they use
        ours.connection.reset();
        theirs.connection.reset();
        ours.group.reset();
        theirs.group.reset();
    }

    FabricPair()
        : target(value_of(fabric::find_to_listen(fabric::ProviderKind::sockets, test::loopback, "0",
                                                 {16, 16}))),
          region(value_of(fabric::register_memory(target.domain, target.provider, their_pool.data(),
                                                  pool_size, fabric::Access::remote))),
          listener(value_of(
              fabric::PassiveEndpoint::listen(target.domain, target.provider, *target.events))),
          initiator(value_of(fabric::find_to_connect(fabric::ProviderKind::sockets, test::loopback,
                                                     std::to_string(listener.port()), {16, 16}))) {
        const fabric::RemoteAddress remote{region.remote_base(), region.key()};
        FabricConnection& mine =
            open(ours, initiator, initiator.provider.info.get(), our_pool, remote, false);
        EXPECT_TRUE(mine.endpoint().connect(initiator.provider.info->dest_addr));
        using Kind = fabric::ConnectionEvent::Kind;
        const auto request = target.await(Kind::requested);
        state = open(theirs, target, request.info.get(), their_pool, std::nullopt, true).state();
        static_cast<void>(initiator.await(Kind::connected));
        static_cast<void>(target.await(Kind::connected));
    }
    static FabricConnection& open(Side& side, const End& end, fi_info* info, Buffer& pool,
                                  std::optional<fabric::RemoteAddress> remote, bool accepts) {
        auto group = value_of(FabricGroup::open(end.domain, 64, std::chrono::microseconds(0)));
        auto connection = value_of(FabricConnection::open(
            {.domain = end.domain,
             .provider = end.provider,
             .info = info,
             .events = *end.events,
             .group = *group,
             .accepts = accepts},
            {.receives = 2 * frames,
             .receive_size = wire::frame_header_size + payload,
             .sends = frames,
             .send_size = wire::frame_header_size + payload,
             .queue = frames},
            {.memory = pool, .descriptor = nullptr, .remote = remote}, "lane 3", nullptr));
        FabricConnection& opened = *connection;
        EXPECT_TRUE(group->add(opened));
        side.group = std::move(group);
        side.connection = std::move(connection);
        return opened;
    }

    End target;
    fabric::MemoryRegion region;
    fabric::PassiveEndpoint listener;
    End initiator;
    std::shared_ptr<FabricState> state;
};

} // namespace rpmem::transport::contract
