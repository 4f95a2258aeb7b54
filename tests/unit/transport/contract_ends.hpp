// Connected ends, over each transport, and what tests of the contract look at.
#pragma once

#include "common/transport/fabric/fabric_connection.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "tests/support/bare_end.hpp"
#include "tests/unit/transport/tls_ends.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace rpmem::transport::contract {

using test::value_of;
using wire::FrameHeader;
using wire::FrameType;
using Bytes8 = std::vector<std::byte>;

constexpr std::size_t payload = 8192;
constexpr std::size_t frames = 8;
constexpr std::size_t pool_size = std::size_t{4} << 20;
constexpr std::chrono::milliseconds patience(20000);

// Keeps what comes.
class Taker : public Receiver {
public:
    bool begin(const FrameHeader& header, std::span<std::byte>& place, std::string& why) override {
        if (header.type == refused) {
            why = "sent what nobody wants";
            return false;
        }
        bytes.assign(wire::payload_of(header), std::byte{0});
        if (header.type == FrameType::data)
            place = bytes;
        return true;
    }
    void take(const FrameHeader&, std::size_t position, std::span<const std::byte> chunk) override {
        std::copy(chunk.begin(), chunk.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(position));
    }
    bool end(const FrameHeader& header, std::string&) override {
        headers.push_back(header);
        payloads.push_back(bytes);
        return true;
    }
    FrameType refused{};
    std::vector<FrameHeader> headers;
    std::vector<Bytes8> payloads;

private:
    Bytes8 bytes;
};

struct Side {
    std::unique_ptr<Group> group; // outlives the connection
    std::unique_ptr<Connection> connection;
    Taker taker;
    Event wake = value_of(Event::make());

    // One round; false: nothing came in time.
    bool turn(std::chrono::milliseconds limit) {
        if (connection->poll(taker) > 0)
            group->progressed();
        return group->wait(limit, wake.fd()) != WaitResult::timed_out;
    }
};

// Two connected ends, and what they stand on.
struct Pair {
    virtual ~Pair() = default;
    Side ours;   // of the initiator
    Side theirs; // of the target
    Bytes8 our_pool = Bytes8(pool_size);
    Bytes8 their_pool = Bytes8(pool_size);
};

inline std::unique_ptr<Pair> over_tcp() {
    auto pair = std::make_unique<Pair>();
    auto sockets = value_of(make_socket_pair());
    const auto make = [](Side& side, UniqueFd socket) {
        side.connection = std::make_unique<FrameConnection>(
            std::make_unique<SocketStream>(std::move(socket)), "lane 3");
        side.group = std::make_unique<SocketGroup>(std::chrono::microseconds(0), 64 * 1024);
        EXPECT_TRUE(side.group->add(*side.connection));
    };
    make(pair->ours, std::move(sockets.ours));
    make(pair->theirs, std::move(sockets.theirs));
    return pair;
}

inline std::unique_ptr<Pair> inside_tls() {
    auto pair = std::make_unique<Pair>();
    auto ends = tls_ends::joined();
    const auto make = [](Side& side, std::unique_ptr<TlsStream> stream) {
        side.connection = std::make_unique<FrameConnection>(std::move(stream), "lane 3");
        side.group = std::make_unique<SocketGroup>(std::chrono::microseconds(0), 64 * 1024);
        EXPECT_TRUE(side.group->add(*side.connection));
    };
    make(pair->ours, std::move(ends.initiator));
    make(pair->theirs, std::move(ends.target));
    return pair;
}

struct FabricPair final : Pair {
    struct End {
        explicit End(fabric::Provider found)
            : provider(std::move(found)), domain(value_of(fabric::open_domain(provider))),
              events(value_of(fabric::EventQueue::open(domain))) {}
        fabric::Provider provider;
        fabric::Domain domain;
        fabric::EventQueue events;
    };
    ~FabricPair() override { // before what they stand on
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
              fabric::PassiveEndpoint::listen(target.domain, target.provider, target.events))),
          initiator(value_of(fabric::find_to_connect(fabric::ProviderKind::sockets, test::loopback,
                                                     std::to_string(listener.port()), {16, 16}))) {
        const fabric::RemoteAddress remote{region.remote_base(), region.key()};
        FabricConnection& mine =
            open(ours, initiator, initiator.provider.info.get(), our_pool, remote, false);
        EXPECT_TRUE(mine.endpoint().connect(initiator.provider.info->dest_addr));
        const auto request = await(target.events, fabric::ConnectionEvent::Kind::requested);
        state = open(theirs, target, request.info.get(), their_pool, std::nullopt, true).state();
        await(initiator.events, fabric::ConnectionEvent::Kind::connected);
        await(target.events, fabric::ConnectionEvent::Kind::connected);
    }
    static FabricConnection& open(Side& side, const End& end, fi_info* info, Bytes8& pool,
                                  std::optional<fabric::RemoteAddress> remote, bool accepts) {
        auto group = value_of(FabricGroup::open(end.domain, 64, std::chrono::microseconds(0)));
        auto connection = value_of(FabricConnection::open(
            {.domain = end.domain,
             .provider = end.provider,
             .info = info,
             .events = end.events,
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
    static fabric::ConnectionEvent await(const fabric::EventQueue& events,
                                         fabric::ConnectionEvent::Kind kind) {
        auto event = value_of(events.wait(Deadline(patience), -1));
        if (!event || event->kind != kind)
            throw std::runtime_error("the connection was not made");
        return std::move(*event);
    }

    End target;
    fabric::MemoryRegion region;
    fabric::PassiveEndpoint listener;
    End initiator;
    std::shared_ptr<FabricState> state;
};

} // namespace rpmem::transport::contract
