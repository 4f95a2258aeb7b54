// SPDX-License-Identifier: BSD-3-Clause
// Tests the listener and connect_lane() with each other on real TCP sockets, with and without TLS.
// The listener runs in a thread of the test. The test fails if a lane without the secret is
// admitted, if a genuine lane is refused, also while 2000 silent connections a second arrive, or if
// an attempt ignores its timeout or reports another cause.
#include "common/base/io.hpp"
#include "common/transport/tcp/connect.hpp"
#include "common/transport/tcp/listener.hpp"
#include "tests/unit/common/transport/samples.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <map>
#include <mutex>

namespace rpmem::transport {
namespace {

using test::contains;
using test::failed;
using test::succeeded;
using test::value_of;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds test_timeout(20000);
constexpr std::uint32_t max_lanes = 1024;

// Admits every lane once.
class Owner : public LaneOwner {
public:
    std::optional<Refused> admit(const LaneIdentity& identity) override {
        const std::lock_guard lock(mutex);
        if (taken.contains(identity.lane))
            return Refused{.why = RefusalCode::lane_in_use};
        return std::nullopt;
    }
    void take(const LaneIdentity& identity, std::unique_ptr<Stream> stream, std::string name,
              const wire::LaneCredits& credits) override {
        const std::lock_guard lock(mutex);
        taken[identity.lane] = std::move(stream);
        last_name = std::move(name);
        last_credits = credits;
    }

    std::mutex mutex;
    std::map<std::uint32_t, std::unique_ptr<Stream>> taken;
    std::string last_name;
    wire::LaneCredits last_credits;
};

ProofSession session_of(int first) {
    ProofSession session = samples::session(first);
    session.lanes = max_lanes;
    session.generation = 0;
    return session;
}

// The listener has a thread of its own.
class ListenerTest : public ::testing::Test {
protected:
    void SetUp() override { listen({.addresses = {"127.0.0.1"}, .peer_timeout = test_timeout}); }
    void TearDown() override { stop(); }

    void listen(const ListenOptions& options) {
        stop();
        listener = value_of(Listener::listen(options, random));
        stop_event = std::make_unique<Event>(value_of(Event::make()));
        thread = std::thread([this] {
            while (true) {
                const auto deadline = listener->deadline();
                const auto left =
                    deadline
                        ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now())
                        : test_timeout;
                std::array<pollfd, 2> fds{
                    {{stop_event->fd(), POLLIN, 0}, {listener->fd(), POLLIN, 0}}};
                ::poll(fds.data(), fds.size(), static_cast<int>(std::max(left, {}).count()));
                if (fds[0].revents != 0)
                    return;
                listener->handle(session, tls ? &*tls : nullptr, owner, Clock::now());
            }
        });
    }
    void stop() {
        if (!thread.joinable())
            return;
        stop_event->raise();
        thread.join();
    }
    [[nodiscard]] ConnectOptions options(std::uint32_t lane, const std::string& host = "127.0.0.1",
                                         std::chrono::milliseconds time = test_timeout) const {
        return {.address = {host, listener->port()},
                .identity = {.lane = lane},
                .limits = {.time = time},
                .peer_timeout = test_timeout};
    }
    void expect_refused(const ProofSession& by, std::uint32_t lane, int code,
                        const std::string& words) {
        EXPECT_TRUE(failed(connect_lane(by, options(lane), random), code, words));
    }
    UniqueFd stranger() const {
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(listener->port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        return fd;
    }

    SystemRandom random;
    ProofSession session = session_of(1);
    std::optional<TlsContext> tls; // the target's
    Owner owner;
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Event> stop_event;
    std::thread thread;
};

TEST_F(ListenerTest, ALaneThatKnowsTheSecretIsWelcome) {
    const auto opened = value_of(connect_lane(session, options(7), random));
    stop();
    EXPECT_EQ(owner.taken.size(), 1U);
    EXPECT_TRUE(owner.taken.contains(7));
    EXPECT_EQ(opened.credits, owner.last_credits);
    EXPECT_GE(opened.credits.bytes, wire::min_credit_bytes);
    EXPECT_EQ(owner.last_name.find("lane 7 of 127.0.0.1 port "), 0U) << owner.last_name;
    // A frame after the handshake arrives as the next bytes of the stream.
    ASSERT_EQ(
        opened.connection->post({.type = wire::FrameType::persist, .number = 1}, {}, More::none),
        PostResult::yes);
    std::array<std::byte, wire::frame_header_size> frame;
    const iovec place{frame.data(), frame.size()};
    EXPECT_EQ(owner.taken[7]->receive({&place, 1}), ssize_t(frame.size()));
    EXPECT_EQ(wire::decode_frame_header(frame)->number, 1U);
}

TEST_F(ListenerTest, OthersAreNot) {
    ProofSession other_id = session_of(2);
    expect_refused(other_id, 0, ECONNREFUSED, "");
    ProofSession wrong_key = session_of(2);
    wrong_key.keys.id = session.keys.id;
    expect_refused(wrong_key, 0, EACCES, "");
    ProofSession other_agreement = session_of(1);
    other_agreement.transcript[0] ^= std::byte{1};
    expect_refused(other_agreement, 0, EACCES, "");
    expect_refused(session, max_lanes, ECONNREFUSED, "1024");
    ASSERT_TRUE(connect_lane(session, options(3), random));
    expect_refused(session, 3, ECONNREFUSED, "");
    stop();
    EXPECT_EQ(owner.taken.size(), 1U);
}

TEST_F(ListenerTest, IPv6AndFurtherAddresses) {
    listen({.addresses = {"127.0.0.1", "::1", "127.0.0.2", "192.0.2.1"},
            .peer_timeout = test_timeout});
    ASSERT_EQ(listener->warnings().size(), 1U);
    EXPECT_TRUE(contains(listener->warnings().front(), "192.0.2.1"));
    std::uint32_t lane = 0;
    for (const char* host : {"127.0.0.1", "::1", "127.0.0.2"})
        EXPECT_TRUE(connect_lane(session, options(lane++, host), random)) << host;
}

TEST_F(ListenerTest, PortsComeFromTheRange) {
    const std::uint16_t taken = listener->port();
    SystemRandom other;
    const auto listen_up_to = [&](int last) {
        return Listener::listen({.addresses = {"127.0.0.1"},
                                 .ports = {taken, static_cast<std::uint16_t>(last)},
                                 .peer_timeout = test_timeout},
                                other);
    };
    const auto next = value_of(listen_up_to(taken + 20));
    EXPECT_GT(next->port(), taken);
    EXPECT_LE(next->port(), taken + 20);
    EXPECT_TRUE(failed(listen_up_to(taken), EADDRINUSE));
}

TEST_F(ListenerTest, NobodyListens) {
    const ConnectOptions gone = options(0);
    stop();
    listener.reset();
    EXPECT_TRUE(failed(connect_lane(session, gone, random), ECONNREFUSED,
                       "nothing listens there, or a firewall rejects the port"));
}

// If a firewall drops the packets of a lane, nothing answers. Either timeout may be the shorter
// one. With the default settings it is RPMEM_PEER_TIMEOUT, and the kernel ends the attempt.
TEST_F(ListenerTest, WhereNothingAnswersAFirewallMayBeWhy) {
    // The kernel drops further connections if the backlog is full.
    const UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET,
                        .sin_port = 0,
                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
    socklen_t size = sizeof(address);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(full.get(), name, size), 0);
    ASSERT_EQ(::listen(full.get(), 0), 0);
    ASSERT_EQ(::getsockname(full.get(), name, &size), 0);
    std::vector<UniqueFd> fillers;
    for (int ready = 1; ready == 1;) {
        fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        static_cast<void>(::connect(fillers.back().get(), name, size));
        pollfd connected{fillers.back().get(), POLLOUT, 0};
        ready = ::poll(&connected, 1, 100);
    }
    ConnectOptions dropped = options(0, "127.0.0.1", std::chrono::milliseconds(300));
    dropped.address.port = ntohs(address.sin_port);
    EXPECT_TRUE(failed(connect_lane(session, dropped, random), ETIMEDOUT,
                       "(firewall)? (waited 300 ms; RPMEM_CONNECT_TIMEOUT, or less while "
                       "reconnecting)"));
    dropped.limits.time = test_timeout;
    dropped.peer_timeout = std::chrono::milliseconds(500);
    EXPECT_TRUE(failed(connect_lane(session, dropped, random), ETIMEDOUT,
                       "(firewall)? (waited 500 ms, RPMEM_PEER_TIMEOUT)"));
}

// The connection succeeds because the kernel accepts it, but no thread serves it.
TEST_F(ListenerTest, ATargetThatSaysNothingIsNotWaitedForWithoutEnd) {
    stop();
    const auto hurried = options(0, "127.0.0.1", std::chrono::milliseconds(300));
    EXPECT_TRUE(failed(connect_lane(session, hurried, random), ETIMEDOUT, "another program"));
}

TEST_F(ListenerTest, TheEndOfTheSessionEndsTheWait) {
    stop();
    auto event = Event::make();
    event->raise();
    ConnectOptions waits = options(0);
    waits.limits.interrupt = {event->fd(), [] { return true; }};
    EXPECT_TRUE(failed(connect_lane(session, waits, random), ECONNRESET));
}

// A peer with another protocol loses its connection at the first wrong byte.
TEST_F(ListenerTest, GarbageIsRefused) {
    const UniqueFd fd = stranger();
    ASSERT_EQ(::send(fd.get(), "GET / HTTP/1.1\r\n", 16, 0), 16);
    std::array<std::byte, 100> answer;
    const auto got = read_fully(fd.get(), answer, Deadline(test_timeout));
    // The target closes the socket with unread input, so a reset may overtake the refusal.
    EXPECT_TRUE(got ? *got == second_message_size : got.error().code == ECONNRESET);
    EXPECT_TRUE(connect_lane(session, options(0), random));
}

// A replayed first message gets a slot, but the replaying peer cannot make the third message.
TEST_F(ListenerTest, AFirstMessageThatIsSaidAgainComesToNothing) {
    InitiatorProof proof(session, {.lane = 5}, false);
    const auto first = samples::copied(proof.start(random).send);
    for (int i = 0; i < 3; ++i) {
        const UniqueFd fd = stranger();
        ASSERT_EQ(::send(fd.get(), first.data(), first.size(), 0), ssize_t(first.size()));
        std::array<std::byte, second_message_size> second;
        const auto got = read_fully(fd.get(), second, Deadline(test_timeout));
        ASSERT_TRUE(got && *got == second.size());
        const std::array<std::byte, third_message_size> guess{};
        ASSERT_EQ(::send(fd.get(), guess.data(), guess.size(), 0), ssize_t(guess.size()));
        EXPECT_EQ(read_fully(fd.get(), second, Deadline(test_timeout)).value_or(0), second.size());
    }
    EXPECT_TRUE(owner.taken.empty());
    EXPECT_TRUE(connect_lane(session, options(5), random));
}

class TlsListenerTest : public ListenerTest {
protected:
    void SetUp() override {
        tls.emplace(value_of(TlsContext::make(TlsRole::target, session.keys.tls)));
        ListenerTest::SetUp();
    }
    [[nodiscard]] static TlsContext initiator_of(const ProofSession& of) {
        return value_of(TlsContext::make(TlsRole::initiator, of.keys.tls));
    }
    [[nodiscard]] ConnectOptions secured(std::uint32_t lane, const TlsContext& own) const {
        ConnectOptions with = options(lane);
        with.tls = &own;
        return with;
    }
};

TEST_F(TlsListenerTest, TheProofRunsInside) {
    const TlsContext own = initiator_of(session);
    for (std::uint32_t lane = 0; lane < 20; ++lane)
        ASSERT_TRUE(succeeded(connect_lane(session, secured(lane, own), random)));
    EXPECT_TRUE(
        failed(connect_lane(session, secured(3, own), random), ECONNREFUSED, "connected already"));
    stop();
    EXPECT_EQ(owner.taken.size(), 20U);
}

TEST_F(TlsListenerTest, OthersAreNot) {
    // The peer has another secret, and is refused before TLS begins.
    const ProofSession stranger = session_of(2);
    const TlsContext other_context = initiator_of(stranger);
    EXPECT_TRUE(failed(connect_lane(stranger, secured(0, other_context), random), ECONNREFUSED));
    // The peer has the lane key, but another PSK.
    EXPECT_TRUE(failed(connect_lane(session, secured(0, other_context), random), EPROTO));
    // The peer does not start TLS.
    EXPECT_FALSE(
        connect_lane(session, options(0, "127.0.0.1", std::chrono::milliseconds(500)), random));
    EXPECT_TRUE(owner.taken.empty());
    const TlsContext own = initiator_of(session);
    EXPECT_TRUE(connect_lane(session, secured(0, own), random));
}

// Silent connections arrive continuously, and more of them stay open than there are slots.
TEST_F(ListenerTest, StrangersDoNotKeepLanesOut) {
    constexpr std::uint32_t honest = 1024;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 8192));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < 4096)
        GTEST_SKIP() << "this process may have " << limit.rlim_cur << " descriptors only";
    std::atomic<bool> over = false;
    std::thread others([&] {
        std::vector<UniqueFd> held(200);
        for (std::size_t i = 0; !over; ++i) {
            held[i % held.size()] = stranger();
            // The pause determines the rate of the silent connections.
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
    });
    std::vector<Result<OpenedLane>> opened;
    for (std::uint32_t lane = 0; lane < honest; ++lane) {
        opened.push_back(connect_lane(session, options(lane), random));
        EXPECT_TRUE(succeeded(opened.back()));
    }
    over = true;
    others.join();
    stop();
    EXPECT_EQ(owner.taken.size(), honest);
}

} // namespace
} // namespace rpmem::transport
