// Connections over libfabric to a session: those who do not know its token or its secret, or ask
// for a lane that they cannot have, are turned away, and the lanes that there are go on.
#include "fabric_session.hpp"
#include "wire/hello.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace rpmem::target::greeting {
namespace {

using EventKind = fabric::ConnectionEvent::Kind;
using Greeting = std::vector<std::byte>;

constexpr unsigned lane_count = 2;
// What the data of a connection request can be; see fabric::Endpoint::connect().
constexpr std::size_t most_data = 56;

Greeting good_greeting(std::uint32_t lane) {
    return encode(wire::LaneGreeting{lane, sample_proof(lane_count).keys.token});
}

// A bare peer that asks for a lane, with these data.
class Peer {
public:
    Peer(const FabricLaneServer& server, const Greeting& greeting)
        : end_(value_of(fabric::find_to_connect(fabric::ProviderKind::sockets, test::loopback,
                                                std::to_string(server.port()), {16, 16}))) {
        end_.endpoint = value_of(fabric::Endpoint::open(end_.domain, end_.provider.info.get(),
                                                        *end_.events, end_.completions));
        if (end_.endpoint.post_receive(answer_.data(), answer_.size(), nullptr, nullptr) != 0 ||
            !end_.endpoint.connect(end_.provider.info->dest_addr, greeting))
            throw std::runtime_error("no request");
    }

    // Waits until the request has an answer, of whatever kind.
    [[nodiscard]] EventKind answer() const {
        const auto event = value_of(end_.events->wait(Deadline(test::fabric_patience), -1));
        if (!event)
            throw std::runtime_error("the request was not answered");
        return event->kind;
    }
    // What the target says to MESSAGE.
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
};

class LaneGreeting : public testing::Test {
protected:
    LaneGreeting()
        : log_file_(testing::TempDir() + "lane_greeting." + std::to_string(::getpid())),
          served_(one_file, PoolAccess::direct, lane_count, false,
                  value_of(Log::to_file(log_file_, LogLevel::debug))) {}
    ~LaneGreeting() override { std::filesystem::remove(log_file_); }

    // The server turns away who comes with GREETING, and says WHY.
    void expect_refusal(const Greeting& greeting, const std::string& why) const {
        const unsigned before = served_.server->connected();
        std::filesystem::resize_file(log_file_, 0);
        const Peer peer(*served_.server, greeting);
        EXPECT_EQ(peer.answer(), EventKind::failed);
        EXPECT_EQ(served_.server->connected(), before);
        EXPECT_NE(read_log().find("refused a connection"), std::string::npos) << read_log();
        EXPECT_NE(read_log().find(why), std::string::npos) << read_log();
    }

    [[nodiscard]] Result<std::unique_ptr<LaneSet>>
    connect(const std::function<void(FabricLanesRequest&)>& change = {}) {
        FabricLanesRequest request = request_for(*served_.server, memory_,
                                                 wire::PersistMethod::general_purpose, alarm_.fd());
        if (change)
            change(request);
        return FabricLanes::open(request, fabric_settings(), test::fabric_patience);
    }
    // An honest initiator is served.
    void expect_lane() {
        Result<std::unique_ptr<LaneSet>> lanes = connect();
        const bool is_served = ServedSession::succeeds_in_time([&] {
            if (!lanes)
                lanes = connect();
            return lanes.has_value();
        });
        ASSERT_TRUE(is_served) << lanes.error().text;
        EXPECT_EQ((*lanes)->lane(0)->persist(0, 8, false), 0);
    }

    std::string read_log() const {
        std::ifstream file(log_file_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    const std::string log_file_;
    const Event alarm_ = value_of(Event::make());
    std::vector<std::byte> memory_ = std::vector<std::byte>(pool_size);
    ServedSession served_;
};

TEST_F(LaneGreeting, WithoutOrTooShort) {
    expect_refusal({}, "shorter than 20");
    for (const std::size_t size : {1U, 4U, 19U}) {
        SCOPED_TRACE(size);
        Greeting greeting = good_greeting(0);
        greeting.resize(size);
        expect_refusal(greeting, "shorter than 20");
    }
    expect_lane();
}

TEST_F(LaneGreeting, WrongToken) {
    for (const std::size_t place : {4U, 12U, 19U}) {
        SCOPED_TRACE(place);
        Greeting greeting = good_greeting(0);
        greeting[place] ^= std::byte{1};
        expect_refusal(greeting, "its token is not the one");
    }
    expect_refusal(encode(wire::LaneGreeting{0, {}}), "its token is not the one");
    // Who does not know the token is not told which lanes there are.
    expect_refusal(encode(wire::LaneGreeting{lane_count, {}}), "its token is not the one");
    expect_lane();
}

TEST_F(LaneGreeting, LanesThatThereAreNot) {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    for (const std::uint32_t lane : {lane_count, lane_count + 1, most}) {
        SCOPED_TRACE(lane);
        expect_refusal(good_greeting(lane), "there is no such lane");
    }
    expect_lane();
}

TEST_F(LaneGreeting, LanesThatAreConnectedAlready) {
    const auto lanes = connect();
    ASSERT_TRUE(lanes) << lanes.error().text;
    expect_refusal(good_greeting(0), "it is connected already");
    ASSERT_TRUE((*lanes)->use_lane(1));
    expect_refusal(good_greeting(1), "it is connected already");
    EXPECT_EQ((*lanes)->lane(0)->persist(0, 8, false), 0);
    EXPECT_EQ((*lanes)->lane(1)->persist(0, 8, false), 0);
}

TEST_F(LaneGreeting, APeerMayComeAgain) {
    for (int again = 0; again < 2; ++again) {
        SCOPED_TRACE(again);
        expect_lane();
    }
}

// The token crosses the network as it is: whoever saw it gets no further.
TEST_F(LaneGreeting, WhoKnowsTheTokenOnlyGetsNoLane) {
    for (const std::size_t size : {1U, 32U, 95U, 96U, 97U}) {
        SCOPED_TRACE(size);
        Greeting greeting = good_greeting(0);
        greeting.resize(most_data); // zeros may follow
        Peer peer(*served_.server, greeting);
        ASSERT_EQ(peer.answer(), EventKind::connected);
        EXPECT_EQ(peer.answer_to(Greeting(size, std::byte{0x11})), transport::refusal_magic);
        EXPECT_EQ(served_.server->connected(), 0U);
    }
    EXPECT_TRUE(served_.server->failure().empty());
    EXPECT_TRUE(served_.pool.is_untouched_but(0, 0));
    expect_lane();
}

TEST_F(LaneGreeting, AWrongProofIsRefused) {
    const auto lanes = connect([](FabricLanesRequest& request) {
        auto wrong = sample_proof(lane_count, 2);
        wrong.keys.token = request.proof->keys.token;
        wrong.keys.id = request.proof->keys.id;
        request.proof = std::make_shared<const transport::ProofSession>(std::move(wrong));
    });
    ASSERT_FALSE(lanes);
    EXPECT_EQ(lanes.error().code, EACCES) << lanes.error().text;
    EXPECT_NE(lanes.error().text.find("the proof is wrong"), std::string::npos)
        << lanes.error().text;
    EXPECT_EQ(served_.server->connected(), 0U);
    expect_lane();
}

} // namespace
} // namespace rpmem::target::greeting
