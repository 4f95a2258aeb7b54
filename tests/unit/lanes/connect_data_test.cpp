// SPDX-License-Identifier: BSD-3-Clause
// Tests how the daemon's server refuses connections over libfabric, with its provider sockets, bare
// peers and the library's own lanes. The test fails if a peer gets a lane without the token, the
// secret or a free lane, if the log does not state the reason, if unauthenticated connections have
// no limit or timeout, or if genuine lanes no longer work afterwards.
#include "common/wire/hello.hpp"
#include "tests/unit/lanes/fabric_session.hpp"

namespace rpmem::target::greeting {
namespace {

using namespace initiator;

using EventKind = fabric::ConnectionEvent::Kind;
using Greeting = std::vector<std::byte>;

constexpr unsigned lane_count = 2;
// Maximum size of the data of a connection request; see fabric::Endpoint::connect().
constexpr std::size_t max_data = 56;

Greeting good_greeting(std::uint32_t lane) {
    return encode(wire::LaneConnectData{lane, sample_proof(lane_count).keys.token});
}

// A bare peer that requests a lane with the data GREETING.
class Peer {
public:
    // Retries, because on a busy machine the provider sockets itself refuses some connections.
    static std::unique_ptr<Peer> connected(const FabricLaneServer& server,
                                           const Greeting& greeting) {
        std::unique_ptr<Peer> peer;
        const bool is_connected = ServedSession::succeeds_in_time([&] {
            peer = std::make_unique<Peer>(server, greeting);
            return peer->answer() == EventKind::connected;
        });
        if (!is_connected)
            throw std::runtime_error("no connection");
        return peer;
    }

    Peer(const FabricLaneServer& server, const Greeting& greeting)
        : end_(value_of(fabric::find_to_connect(fabric::ProviderKind::sockets, test::loopback,
                                                std::to_string(server.port()), {16, 16}))) {
        end_.endpoint = value_of(fabric::Endpoint::open(end_.domain, end_.provider.info.get(),
                                                        *end_.events, end_.completions));
        if (end_.endpoint.post_receive(answer_.data(), answer_.size(), nullptr, nullptr) != 0)
            throw std::runtime_error("no buffer for an answer");
        is_asked_ = end_.endpoint.connect(end_.provider.info->dest_addr, greeting).has_value();
    }

    // Waits for any answer to the request.
    [[nodiscard]] EventKind answer() const {
        if (!is_asked_)
            return EventKind::failed;
        const auto event = value_of(end_.events->wait(Deadline(test::fabric_timeout), -1));
        if (!event)
            throw std::runtime_error("the request was not answered");
        return event->kind;
    }
    // Waits until the target ends the connection.
    [[nodiscard]] bool is_ended() const {
        const auto event = value_of(end_.events->wait(Deadline(test::fabric_timeout), -1));
        return event && event->kind == EventKind::shut_down;
    }
    // Sends MESSAGE, and returns the first bytes of the response.
    std::string answer_to(const Greeting& message) {
        const iovec place{const_cast<std::byte*>(message.data()), message.size()};
        void* descriptor = nullptr;
        if (end_.endpoint.post_send({&place, 1}, {&descriptor, 1}) != 0 ||
            !end_.await_completions(1))
            return {};
        return {reinterpret_cast<const char*>(answer_.data()), transport::magic_size};
    }

private:
    std::array<std::byte, 128> answer_{};
    test::BareEnd end_;
    bool is_asked_ = false;
};

class LaneConnectData : public testing::Test {
protected:
    LaneConnectData()
        : log_file_(testing::TempDir() + "lane_connect_data." + std::to_string(::getpid())),
          served_(one_file, PoolAccess::direct, lane_count, false,
                  value_of(Log::to_file(log_file_, LogLevel::debug))) {}
    ~LaneConnectData() override { std::filesystem::remove(log_file_); }

    // Expects that the server refuses a connection with GREETING, and that WHY is in its log.
    void expect_refusal(const Greeting& greeting, const std::string& why) const {
        const unsigned before = served_.server->connected();
        std::filesystem::resize_file(log_file_, 0);
        EXPECT_TRUE(ServedSession::succeeds_in_time([&] {
            EXPECT_EQ(Peer(*served_.server, greeting).answer(), EventKind::failed);
            return read_log().find("refused a connection") != std::string::npos;
        })) << read_log();
        EXPECT_EQ(served_.server->connected(), before);
        EXPECT_TRUE(test::contains(read_log(), why));
    }

    [[nodiscard]] Result<std::unique_ptr<ConnectionLanes>>
    connect(const std::function<void(LanesRequest&)>& change = {}) {
        LanesRequest request = request_for(*served_.server, memory_,
                                           wire::PersistMethod::general_purpose, watch_.fd());
        if (change)
            change(request);
        return FabricLanes::open(request, fabric_settings(), test::fabric_timeout);
    }
    // Connects repeatedly until IS_ENOUGH accepts the result.
    Result<std::unique_ptr<ConnectionLanes>> connect_until(
        const std::function<bool(const Result<std::unique_ptr<ConnectionLanes>>&)>& is_enough,
        const std::function<void(LanesRequest&)>& change = {}) {
        Result<std::unique_ptr<ConnectionLanes>> lanes =
            fail(ErrorClass::link_lost, EAGAIN, "not tried");
        EXPECT_TRUE(ServedSession::succeeds_in_time([&] {
            lanes = connect(change);
            return is_enough(lanes);
        }));
        return lanes;
    }
    // Connects a genuine initiator.
    std::unique_ptr<ConnectionLanes> served_lanes() {
        return value_of(connect_until([](const auto& lanes) { return lanes.has_value(); }));
    }
    void expect_lane() { EXPECT_EQ(served_lanes()->lane(0)->persist(0, 8, false), 0); }

    std::string read_log() const { return test::read_file(log_file_); }

    const std::string log_file_;
    const Event watch_ = value_of(Event::make());
    std::vector<std::byte> memory_ = std::vector<std::byte>(pool_size);
    ServedSession served_;
};

TEST_F(LaneConnectData, WithoutOrTooShort) {
    for (const std::size_t size : {0U, 1U, 4U, 19U}) {
        SCOPED_TRACE(size);
        Greeting greeting = good_greeting(0);
        greeting.resize(size);
        expect_refusal(greeting, "the minimum is 20");
    }
    expect_lane();
    expect_lane(); // a lane may be connected again
}

TEST_F(LaneConnectData, WrongTokenAndLanesThatThereAreNot) {
    for (const std::size_t place : {4U, 12U, 19U}) {
        SCOPED_TRACE(place);
        Greeting greeting = good_greeting(0);
        greeting[place] ^= std::byte{1};
        expect_refusal(greeting, "its token is not the one");
    }
    expect_refusal(encode(wire::LaneConnectData{0, {}}), "its token is not the one");
    // Without the token, the error must not reveal how many lanes the session has.
    expect_refusal(encode(wire::LaneConnectData{lane_count, {}}), "its token is not the one");
    for (const std::uint32_t lane : {lane_count, lane_count + 1, UINT32_MAX}) {
        SCOPED_TRACE(lane);
        expect_refusal(good_greeting(lane),
                       fmt::format("lane {}: the lanes of this session are 0 to "
                                   "{}",
                                   lane, lane_count - 1));
    }
    expect_lane();
}

TEST_F(LaneConnectData, LanesThatAreConnectedAlready) {
    const auto lanes = served_lanes();
    expect_refusal(good_greeting(0), "it is connected already");
    ASSERT_TRUE(ServedSession::succeeds_in_time(
        [&] { return lanes->use_lane(1, test::fabric_timeout).has_value(); }));
    expect_refusal(good_greeting(1), "it is connected already");
    EXPECT_EQ(lanes->lane(0)->persist(0, 8, false), 0);
    EXPECT_EQ(lanes->lane(1)->persist(0, 8, false), 0);
}

// The token is sent in plain text, so an eavesdropper may have it. It must not suffice for a lane.
TEST_F(LaneConnectData, WhoKnowsTheTokenOnlyGetsNoLane) {
    for (const std::size_t size : {1U, 32U, 95U, 96U, 97U}) {
        SCOPED_TRACE(size);
        Greeting greeting = good_greeting(0);
        greeting.resize(max_data); // a provider may append zeros
        const auto peer = Peer::connected(*served_.server, greeting);
        EXPECT_EQ(peer->answer_to(Greeting(size, std::byte{0x11})), transport::refusal_magic);
        EXPECT_EQ(served_.server->connected(), 0U);
    }
    EXPECT_TRUE(served_.server->failure().empty());
    EXPECT_TRUE(served_.pool.is_untouched_but(0, 0));
    expect_lane();
}

TEST_F(LaneConnectData, AWrongProofIsRefused) {
    const auto lanes =
        connect_until([](const auto& tried) { return tried || tried.error().code == EACCES; },
                      [](LanesRequest& request) {
                          auto wrong = sample_proof(lane_count, 2);
                          wrong.keys.token = request.proof->keys.token;
                          wrong.keys.id = request.proof->keys.id;
                          request.proof =
                              std::make_shared<const transport::ProofSession>(std::move(wrong));
                      });
    EXPECT_TRUE(test::failed(lanes, EACCES, "the proof is wrong"));
    EXPECT_EQ(served_.server->connected(), 0U);
    expect_lane();
}

// A connection that ends frees its slot.
TEST(UnprovenLanes, AreNoMoreThanABound) {
    constexpr std::uint32_t most = 3;
    const ServedSession served(one_file, PoolAccess::direct, most + 1, false, {}, most);
    std::vector<std::unique_ptr<Peer>> silent;
    for (std::uint32_t lane = 0; lane < most; ++lane)
        silent.push_back(Peer::connected(*served.server, good_greeting(lane)));
    EXPECT_EQ(Peer(*served.server, good_greeting(most)).answer(), EventKind::failed);
    silent.pop_back();
    EXPECT_NO_THROW(silent.push_back(Peer::connected(*served.server, good_greeting(most))));
    EXPECT_EQ(served.server->connected(), 0U);
}

TEST(UnprovenLanes, AreEndedInTime) {
    const ServedSession served(one_file, PoolAccess::direct, lane_count, false, {}, 1,
                               std::chrono::milliseconds(300));
    const auto silent = Peer::connected(*served.server, good_greeting(0));
    EXPECT_TRUE(silent->is_ended());
    EXPECT_EQ(served.server->connected(), 0U);
    EXPECT_TRUE(served.server->failure().empty());
}

} // namespace
} // namespace rpmem::target::greeting
