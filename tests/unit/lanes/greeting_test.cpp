// Connections to a session that has a token: those who do not know it, or ask for a lane that they
// cannot have, are turned away, and the lanes that there are go on.
#include "guarded_pool.hpp"
#include "lanes/lane_server.hpp"
#include "serving_thread.hpp"
#include "support/bare_end.hpp"
#include "wire/persist_message.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

namespace rpmem::target {
namespace {

using test::value_of;
using EventKind = fabric::ConnectionEvent::Kind;
using Greeting = std::vector<std::byte>;

constexpr unsigned lanes = 2;
// What the data of a connection request can be; see fabric::Endpoint::connect().
constexpr std::size_t most_data = 56;

wire::Token sample_token() {
    wire::Token token;
    for (std::size_t i = 0; i < token.size(); ++i)
        token[i] = static_cast<std::byte>(0xa0 + i);
    return token;
}

Greeting good_greeting(std::uint32_t lane) {
    return encode(wire::LaneGreeting{lane, sample_token()});
}

// A bare peer that asks for a lane, with these data.
class Peer {
public:
    Peer(const LaneServer& server, const Greeting& greeting)
        : end_(value_of(fabric::find_to_connect(fabric::ProviderKind::tcp, test::loopback,
                                                std::to_string(server.port()), {16, 16}))) {
        end_.endpoint = value_of(fabric::Endpoint::open(end_.domain, end_.provider.info.get(),
                                                        *end_.events, end_.completions));
        if (!end_.endpoint.connect(end_.provider.info->dest_addr, greeting))
            throw std::runtime_error("no request");
    }

    // Waits until the request has an answer, of whatever kind, while SERVE lets the server work.
    template <typename Serve>
    EventKind answer(Serve serve) const {
        const Deadline deadline(test::fabric_patience);
        while (!deadline.passed()) {
            serve();
            const auto event =
                value_of(end_.events->wait(Deadline(std::chrono::milliseconds(5)), -1));
            if (event)
                return event->kind;
        }
        throw std::runtime_error("the request was not answered");
    }

    // Asks for the whole pool to be made durable, and has an answer.
    bool is_served(const LaneServer& server) {
        message_ = {static_cast<std::uint32_t>(wire::PersistMode::persist_written), 0,
                    server.remote_base(), pool_size};
        const iovec place{&message_, sizeof(message_)};
        void* descriptor = nullptr;
        return end_.endpoint.post_receive(&response_, sizeof(response_), nullptr, nullptr) == 0 &&
               end_.endpoint.post_send({&place, 1}, {&descriptor, 1}) == 0 &&
               end_.await_completions(1);
    }

private:
    wire::PersistMessage message_{};
    wire::PersistResponse response_{};
    test::BareEnd end_;
};

// While it lives, FI_CONNECTED is written to QUEUE after FI_SHUTDOWN only, as if the thread that
// writes it had been kept from running. libfabric calls through a table that can be replaced.
class LateBeginnings {
public:
    explicit LateBeginnings(const fabric::EventQueue& queue)
        : queue_(queue.get()), usual_(queue_->ops) {
        instance = this;
        late_.write = [](fid_eq* eq, std::uint32_t event, const void* entry, std::size_t size,
                         std::uint64_t flags) {
            return instance->write(eq, event, entry, size, flags);
        };
        queue_->ops = &late_;
    }
    ~LateBeginnings() { queue_->ops = usual_; }
    LateBeginnings(const LateBeginnings&) = delete;
    LateBeginnings& operator=(const LateBeginnings&) = delete;

private:
    ssize_t write(fid_eq* eq, std::uint32_t event, const void* entry, std::size_t size,
                  std::uint64_t flags) {
        if (event == FI_CONNECTED)
            for (const Deadline deadline(test::fabric_patience); !ended_ && !deadline.passed();)
                std::this_thread::yield();
        const ssize_t written = usual_->write(eq, event, entry, size, flags);
        ended_ = ended_ || event == FI_SHUTDOWN;
        return written;
    }

    fid_eq* queue_;
    fi_ops_eq* usual_;
    fi_ops_eq late_ = *usual_;
    std::atomic<bool> ended_ = false;
    static inline LateBeginnings* instance = nullptr;
};

class LaneGreeting : public testing::Test {
protected:
    LaneGreeting()
        : log_file_(testing::TempDir() + "lane_greeting." + std::to_string(::getpid())),
          server_(value_of(LaneServer::start({fabric::ProviderKind::tcp,
                                              test::loopback,
                                              "",
                                              lanes,
                                              {1024, 4, true, false},
                                              1,
                                              std::chrono::microseconds(0),
                                              PagingPolicy::never,
                                              sample_token(),
                                              PoolAccess::direct},
                                             pool_.begin(), pool_size, Persister(pool_.medium()),
                                             value_of(Log::to_file(log_file_, LogLevel::debug))))),
          thread_(*server_) {}
    ~LaneGreeting() override { std::filesystem::remove(log_file_); }

    void serve() const {
        if (!server_->handle_events())
            throw std::runtime_error("the server failed");
    }

    // The server turns away who comes with GREETING, and says WHY.
    void expect_refusal(const Greeting& greeting, const std::string& why) const {
        const unsigned before = server_->connected();
        std::filesystem::resize_file(log_file_, 0);
        const Peer peer(*server_, greeting);
        EXPECT_EQ(peer.answer([this] { serve(); }), EventKind::failed);
        serve();
        EXPECT_EQ(server_->connected(), before);
        EXPECT_NE(read_log().find("refused a connection"), std::string::npos) << read_log();
        EXPECT_NE(read_log().find(why), std::string::npos) << read_log();
    }

    // Who comes with GREETING gets a lane, which is served.
    std::unique_ptr<Peer> expect_lane(const Greeting& greeting) const {
        const unsigned before = server_->connected();
        auto peer = std::make_unique<Peer>(*server_, greeting);
        if (peer->answer([this] { serve(); }) != EventKind::connected)
            throw std::runtime_error("no lane: " + read_log());
        for (const Deadline deadline(test::fabric_patience);
             server_->connected() == before && !deadline.passed();)
            serve();
        EXPECT_EQ(server_->connected(), before + 1);
        EXPECT_TRUE(peer->is_served(*server_));
        return peer;
    }

    std::string read_log() const {
        std::ifstream file(log_file_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    const GuardedPool pool_;
    const std::string log_file_;
    const std::unique_ptr<LaneServer> server_;
    const ServingThread thread_;
};

TEST_F(LaneGreeting, GoodOnesAreServedInAnyOrder) {
    EXPECT_FALSE(server_->ready());
    const auto second = expect_lane(good_greeting(1));
    EXPECT_TRUE(server_->ready());
    const auto first = expect_lane(good_greeting(0));
    EXPECT_TRUE(second->is_served(*server_));
}

TEST_F(LaneGreeting, ZerosMayFollow) {
    Greeting greeting = good_greeting(0);
    greeting.resize(most_data);
    expect_lane(greeting);
}

TEST_F(LaneGreeting, WithoutOrTooShort) {
    expect_refusal({}, "shorter than 20");
    for (const std::size_t size : {1U, 4U, 19U}) {
        SCOPED_TRACE(size);
        Greeting greeting = good_greeting(0);
        greeting.resize(size);
        expect_refusal(greeting, "shorter than 20");
    }
    expect_lane(good_greeting(0));
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
    expect_refusal(encode(wire::LaneGreeting{lanes, {}}), "its token is not the one");
    expect_lane(good_greeting(0));
}

TEST_F(LaneGreeting, LanesThatThereAreNot) {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    for (const std::uint32_t lane : {lanes, lanes + 1, most}) {
        SCOPED_TRACE(lane);
        expect_refusal(good_greeting(lane), "there is no such lane");
    }
    expect_lane(good_greeting(lanes - 1));
}

TEST_F(LaneGreeting, LanesThatAreConnectedAlready) {
    const auto first = expect_lane(good_greeting(0));
    expect_refusal(good_greeting(0), "it is connected already");
    EXPECT_TRUE(first->is_served(*server_));
    const auto second = expect_lane(good_greeting(1));
    expect_refusal(good_greeting(0), "it is connected already");
    expect_refusal(good_greeting(1), "it is connected already");
    EXPECT_TRUE(first->is_served(*server_));
    EXPECT_TRUE(second->is_served(*server_));
}

// The server hears of it when it looks; a peer that was quicker is turned away, and comes again.
TEST_F(LaneGreeting, APeerMayComeAgainButNotWithoutEnd) {
    const auto leave_and_wait = [this](std::unique_ptr<Peer> peer, const std::string& what) {
        std::filesystem::resize_file(log_file_, 0);
        peer.reset();
        for (const Deadline deadline(test::fabric_patience);
             read_log().find(what) == std::string::npos && !deadline.passed();)
            serve();
        EXPECT_NE(read_log().find(what), std::string::npos) << read_log();
    };
    auto peer = expect_lane(good_greeting(0));
    for (unsigned again = 0; again < lanes; ++again) {
        SCOPED_TRACE(again);
        leave_and_wait(std::move(peer), "lane 0 was shut down");
        peer = expect_lane(good_greeting(0));
    }
    const auto other = expect_lane(good_greeting(1));
    leave_and_wait(std::move(peer), "lane 0 was shut down");
    expect_refusal(good_greeting(0), "it is connected already");
    EXPECT_TRUE(other->is_served(*server_));
}

// Of a peer that leaves at once a worker's thread may see the end before accept() tells of the
// beginning.
TEST_F(LaneGreeting, TheEndMayBeToldBeforeTheBeginning) {
    const LateBeginnings late(server_->events());
    std::thread brief([this] { Peer(*server_, good_greeting(0)).answer([] {}); });
    for (const Deadline deadline(test::fabric_patience);
         read_log().find("lane 0 was shut down") == std::string::npos && !deadline.passed();)
        serve();
    brief.join();
    EXPECT_EQ(server_->connected(), 1U) << read_log();
    EXPECT_TRUE(server_->ready());
    expect_lane(good_greeting(0));
}

} // namespace
} // namespace rpmem::target
