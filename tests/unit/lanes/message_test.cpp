// Messages on a lane, good ones and such that break the rules: the daemon gets them from a bare
// libfabric peer.
#include "guarded_pool.hpp"
#include "lanes/lane_server.hpp"
#include "serving_thread.hpp"
#include "support/bare_end.hpp"
#include "wire/persist_message.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace rpmem::target {
namespace {

using test::BareEnd;
using test::value_of;
using wire::PersistMessage;
using wire::PersistMode;

constexpr std::size_t inline_size = 1024;
constexpr unsigned windows = 4;

// One lane of a server, and a peer that has connected to it.
class Visit {
public:
    explicit Visit(PoolAccess access, bool late_answers = false, std::size_t data = inline_size,
                   unsigned window_count = 1, bool gathering = true)
        : server_(value_of(LaneServer::start(
              options(access, {data, 4, true, late_answers, window_count, true, gathering}),
              pool.begin(), pool_size, Persister(pool.medium()), Log()))),
          thread_(*server_),
          peer_(value_of(fabric::find_to_connect(fabric::ProviderKind::tcp, test::loopback,
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
        for (const Deadline deadline(test::fabric_patience);
             server_->connected() == 0 && !deadline.passed();)
            serve();
    }

    GuardedPool pool;

    // OFFSET: in the pool; wraps around as the peer's arithmetic would.
    [[nodiscard]] PersistMessage message(PersistMode mode, std::uint64_t offset,
                                         std::uint64_t size) const {
        return {static_cast<std::uint32_t>(mode), 0, server_->remote_base() + offset, size};
    }

    // Sends the first SIZE bytes of MESSAGE and of what follows it, all ones.
    void send(const PersistMessage& message, std::size_t size) {
        std::fill(sent_.begin(), sent_.end(), std::byte{1});
        std::memcpy(sent_.data(), &message, sizeof(message));
        send_bytes(size);
    }

    void send_bytes(std::size_t size) {
        const iovec place{sent_.data(), size};
        void* descriptor = nullptr;
        if (peer_.endpoint.post_receive(&answer_, sizeof(answer_), nullptr, nullptr) != 0 ||
            peer_.endpoint.post_send({&place, 1}, {&descriptor, 1}) != 0)
            throw std::runtime_error("cannot send");
    }

    // One message of several, each with as many bytes of data as it says, or 64. The last CUT are
    // missing.
    void send_together(std::span<const PersistMessage> messages, std::size_t cut = 0) {
        std::fill(sent_.begin(), sent_.end(), std::byte{1});
        std::size_t begin = 0;
        std::size_t end = 0;
        for (const PersistMessage& message : messages) {
            const std::size_t size = std::min<std::uint64_t>(message.size, 64);
            std::memcpy(sent_.data() + begin, &message, sizeof(message));
            end = begin + sizeof(message) + size;
            begin += wire::size_among_others(size);
        }
        send_bytes(end - cut);
    }

    bool is_answered() const { return peer_.await_completions(1); }
    // How many messages the last answer was for.
    [[nodiscard]] std::uint32_t count_answered() const { return answer_.flags; }

    // What the workers say of it; empty if they have nothing to say for a long time.
    std::string failure() const {
        pollfd failed{server_->failure_fd(), POLLIN, 0};
        const auto patience = std::chrono::milliseconds(test::fabric_patience).count();
        return ::poll(&failed, 1, static_cast<int>(patience)) == 1 ? server_->failure() : "";
    }

    // The first bytes of the lane's windows, read as the peer does.
    std::vector<std::byte> in_windows(std::size_t size) {
        std::vector<std::byte> bytes(size);
        if (peer_.endpoint.post_read(bytes.data(), size, nullptr,
                                     {server_->remote_base(), server_->key()}, nullptr) != 0 ||
            !peer_.await_completions(1))
            bytes.clear();
        return bytes;
    }

private:
    static LaneServerOptions options(PoolAccess access, const wire::MessageRules& rules) {
        return {fabric::ProviderKind::tcp,    test::loopback,      "", 1,     rules, 1,
                std::chrono::microseconds(0), PagingPolicy::never, {}, access};
    }

    std::unique_ptr<LaneServer> server_;
    ServingThread thread_;
    std::vector<std::byte> sent_ = std::vector<std::byte>(sizeof(PersistMessage) + 8 * inline_size);
    wire::PersistResponse answer_{};
    BareEnd peer_;
};

constexpr PoolAccess ways[] = {PoolAccess::direct, PoolAccess::messages};
constexpr std::size_t header = sizeof(PersistMessage);

TEST(LaneMessage, GoodOnesAreServed) {
    for (const PoolAccess access : ways) {
        Visit visit(access);
        visit.send(visit.message(PersistMode::inline_data, 128, 64), header + 64);
        ASSERT_TRUE(visit.is_answered());
        EXPECT_TRUE(visit.pool.is_untouched_but(128, 64));
        EXPECT_EQ(visit.pool.begin()[128], std::byte{1});
        EXPECT_EQ(visit.pool.begin()[191], std::byte{1});
    }
}

TEST(LaneMessage, AnswersWaitForTheLastOfSeveral) {
    Visit visit(PoolAccess::direct, true);
    PersistMessage message = visit.message(PersistMode::inline_data, 0, 64);
    message.flags |= wire::answer_may_wait;
    for (int i = 0; i < 3; ++i)
        visit.send(message, header + 64);
    visit.send(visit.message(PersistMode::persist_written, 0, 0), header);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.count_answered(), 4U);
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 64));
    EXPECT_EQ(visit.pool.begin()[63], std::byte{1});
}

class GatheredMessages : public ::testing::Test {
protected:
    [[nodiscard]] PersistMessage inline_data(std::uint64_t offset, std::uint64_t size,
                                             bool last) const {
        PersistMessage message = visit.message(PersistMode::inline_data, offset, size);
        message.flags |= last ? 0 : wire::another_follows;
        return message;
    }
    void expect_refused(std::span<const PersistMessage> messages, std::size_t cut,
                        const std::string& words) {
        visit.send_together(messages, cut);
        EXPECT_NE(visit.failure().find(words), std::string::npos) << visit.failure();
        EXPECT_EQ(visit.count_answered(), 0U);
    }

    Visit visit{PoolAccess::direct, false, 8 * inline_size};
};

TEST_F(GatheredMessages, AreTakenAndAnsweredAsOne) {
    const std::array messages{inline_data(64, 5, false), inline_data(128, 64, false),
                              inline_data(69, 59, false), inline_data(192, 1, true)};
    visit.send_together(messages);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.count_answered(), 1U);
    EXPECT_TRUE(visit.pool.is_untouched_but(64, 129));
    for (const std::size_t offset : {64U, 68U, 128U, 191U, 192U})
        EXPECT_EQ(visit.pool.begin()[offset], std::byte{1}) << offset;
}

TEST_F(GatheredMessages, TheLastMustBeWhole) {
    const std::array messages{inline_data(64, 5, false), inline_data(128, 64, true)};
    expect_refused(messages, 1, "announces 64 bytes of data and carries 63");
}

TEST_F(GatheredMessages, AnotherMustFollowIfTheySaySo) {
    const std::array messages{inline_data(64, 8, false)};
    expect_refused(messages, 0, "of 0 bytes is shorter than its header");
}

TEST_F(GatheredMessages, OfMoreThanThereIs) {
    const std::array messages{inline_data(64, 8, false), inline_data(72, 4096, false)};
    expect_refused(messages, 0, "announces 4096 bytes of data and others behind it");
}

TEST_F(GatheredMessages, OfNumbersThatOverflow) {
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const std::array messages{inline_data(64, most - 7, false), inline_data(72, 8, true)};
    expect_refused(messages, 0, "and others behind it");
}

TEST_F(GatheredMessages, BeyondThePool) {
    const std::array messages{inline_data(64, 8, false), inline_data(pool_size - 8, 9, true)};
    expect_refused(messages, 0, "is not within the pool");
    EXPECT_TRUE(visit.pool.is_untouched_but(64, 8));
}

TEST_F(GatheredMessages, AsManyAsThereMayBe) {
    std::vector<PersistMessage> messages(wire::most_gathered, inline_data(64, 1, false));
    messages.back() = inline_data(65, 1, true);
    visit.send_together(messages);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.count_answered(), 1U);
    EXPECT_TRUE(visit.pool.is_untouched_but(64, 2));
    EXPECT_EQ(visit.pool.begin()[65], std::byte{1});
}

TEST_F(GatheredMessages, MoreThanThereMayBe) {
    std::vector<PersistMessage> messages(wire::most_gathered + 1, inline_data(64, 1, false));
    messages.back() = inline_data(65, 1, true);
    expect_refused(messages, 0, "number 129 of gathered messages");
}

TEST_F(GatheredMessages, AllHaveData) {
    for (const PersistMode mode :
         {PersistMode::persist_written, PersistMode::deep_persist, PersistMode::fetch})
        for (const bool first : {true, false}) {
            Visit another(PoolAccess::messages);
            const PersistMessage with = another.message(PersistMode::inline_data, 64, 8);
            const PersistMessage without = another.message(mode, 64, 0);
            std::array messages{first ? without : with, first ? with : without};
            messages[0].flags |= wire::another_follows;
            another.send_together(messages);
            EXPECT_NE(another.failure().find("all with data"), std::string::npos)
                << another.failure();
        }
}

TEST(LaneMessage, NothingFollowsThoseOfPeersThatDoNotGather) {
    Visit visit(PoolAccess::direct, false, inline_size, 1, false);
    std::array messages{visit.message(PersistMode::inline_data, 64, 8),
                        visit.message(PersistMode::inline_data, 128, 8)};
    messages[0].flags |= wire::another_follows;
    visit.send_together(messages);
    EXPECT_NE(visit.failure().find("announces 8 bytes of data and carries 40"), std::string::npos)
        << visit.failure();
}

TEST(LaneMessage, ProcessorsMayHaveAnyNumber) {
    Visit visit(PoolAccess::direct);
    for (const std::uint32_t number : {1U, 2U, 1024U, 1025U, wire::most_processors}) {
        PersistMessage message = visit.message(PersistMode::inline_data, 128, 64);
        message.flags |= number << wire::processor_shift;
        visit.send(message, header + 64);
        ASSERT_TRUE(visit.is_answered());
    }
    EXPECT_TRUE(visit.pool.is_untouched_but(128, 64));
}

// Whatever the daemon finds together when it looks.
TEST(LaneMessage, AnAnswerThatIsWantedDoesNotWaitForOthers) {
    for (int round = 0; round < 50; ++round) {
        Visit visit(PoolAccess::direct, true);
        PersistMessage waiting = visit.message(PersistMode::inline_data, 0, 64);
        waiting.flags |= wire::answer_may_wait;
        visit.send(visit.message(PersistMode::inline_data, 0, 64), header + 64);
        visit.send(waiting, header + 64);
        visit.send(waiting, header + 64);
        ASSERT_TRUE(visit.is_answered());
        EXPECT_GE(visit.count_answered(), 1U);
    }
}

TEST(LaneMessage, AnswersDoNotWaitUnlessThatWasAgreed) {
    Visit visit(PoolAccess::direct, false);
    PersistMessage message = visit.message(PersistMode::inline_data, 0, 64);
    message.flags |= wire::answer_may_wait;
    visit.send(message, header + 64);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.count_answered(), 1U);
}

TEST(LaneMessage, FetchFillsTheWindowOfPoolsServedByMessages) {
    Visit visit(PoolAccess::messages);
    visit.pool.begin()[pool_size - 1] = std::byte{7};
    visit.send(visit.message(PersistMode::fetch, pool_size - inline_size, inline_size), header);
    ASSERT_TRUE(visit.is_answered());
    const auto window = visit.in_windows(inline_size);
    ASSERT_EQ(window.size(), inline_size);
    EXPECT_EQ(window[0], untouched);
    EXPECT_EQ(window[inline_size - 1], std::byte{7});
}

TEST(LaneMessage, FetchFillsTheWindowThatItNames) {
    Visit visit(PoolAccess::messages, false, inline_size, windows);
    for (unsigned window = 0; window < windows; ++window) {
        std::fill_n(visit.pool.begin(), inline_size, std::byte(window + 1));
        auto message = visit.message(PersistMode::fetch, 0, inline_size - 1);
        message.flags |= window << wire::window_shift;
        visit.send(message, header);
        ASSERT_TRUE(visit.is_answered());
    }
    const auto bytes = visit.in_windows(windows * inline_size);
    ASSERT_EQ(bytes.size(), windows * inline_size);
    for (std::size_t at = 0; at < bytes.size(); ++at)
        ASSERT_EQ(bytes[at], at % inline_size == inline_size - 1 ? std::byte{0}
                                                                 : std::byte(at / inline_size + 1))
            << at;
}

TEST(LaneMessage, FetchKnowsOneWindowUnlessMoreWereAgreed) {
    Visit visit(PoolAccess::messages);
    std::fill_n(visit.pool.begin(), inline_size, std::byte{7});
    auto message = visit.message(PersistMode::fetch, 0, inline_size);
    message.flags |= wire::window_mask << wire::window_shift;
    visit.send(message, header);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.in_windows(inline_size), std::vector<std::byte>(inline_size, std::byte{7}));
}

TEST(LaneMessage, FetchIntoAWindowThatTheLaneDoesNotHave) {
    Visit visit(PoolAccess::messages, false, inline_size, 2);
    auto message = visit.message(PersistMode::fetch, 0, 64);
    message.flags |= 2U << wire::window_shift;
    visit.send(message, header);
    EXPECT_NE(visit.failure().find("window 2"), std::string::npos) << visit.failure();
}

TEST(LaneMessage, FetchOfMoreThanTheWindow) {
    for (const unsigned count : {1U, windows}) {
        Visit visit(PoolAccess::messages, false, inline_size, count);
        visit.send(visit.message(PersistMode::fetch, 0, inline_size + 1), header);
        EXPECT_NE(visit.failure().find("window"), std::string::npos) << visit.failure();
    }
}

TEST(LaneMessage, FetchFromAPoolThatThePeerReadsItself) {
    for (const std::uint64_t size : {0U, 1U, 64U}) {
        Visit visit(PoolAccess::direct);
        visit.send(visit.message(PersistMode::fetch, 0, size), header);
        EXPECT_NE(visit.failure().find("can read itself"), std::string::npos) << visit.failure();
        EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
    }
}

TEST(LaneMessage, AnnouncesOtherThanItCarries) {
    for (const PoolAccess access : ways)
        for (const std::uint64_t announced : {0U, 63U, 65U, 4096U}) {
            Visit visit(access);
            visit.send(visit.message(PersistMode::inline_data, 0, announced), header + 64);
            EXPECT_NE(visit.failure().find("carries 64"), std::string::npos) << visit.failure();
            EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
        }
}

// A peer may fill all buffers of all its lanes.
TEST(LaneMessage, BuffersOfManyLanesAreBounded) {
    const GuardedPool pool;
    constexpr std::size_t largest = std::size_t{512} * 1024;
    constexpr std::size_t bound = std::size_t{1} << 30;
    constexpr unsigned in_flight = 32;
    const auto server =
        value_of(LaneServer::start({fabric::ProviderKind::tcp,
                                    test::loopback,
                                    "",
                                    1024,
                                    {largest, in_flight, true, true},
                                    1,
                                    std::chrono::microseconds(0),
                                    PagingPolicy::never,
                                    {},
                                    PoolAccess::direct},
                                   pool.begin(), pool_size, Persister(pool.medium()), Log()));
    const std::size_t buffers = server->provider().holds_back_messages ? 4 : in_flight;
    EXPECT_LE(server->lanes() * buffers * largest, bound);
    EXPECT_GE((server->lanes() + 1) * buffers * largest, bound);
}

// A peer may agree on messages that carry no data.
TEST(LaneMessage, WithoutRoomForData) {
    Visit visit(PoolAccess::direct, false, 0);
    visit.send(visit.message(PersistMode::persist_written, 0, pool_size), header);
    EXPECT_TRUE(visit.is_answered());
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
}

TEST(LaneMessage, IsShorterThanItsHeader) {
    for (const std::size_t size : {std::size_t{1}, header - 1}) {
        Visit visit(PoolAccess::direct);
        visit.send(visit.message(PersistMode::inline_data, 0, 0), size);
        EXPECT_NE(visit.failure().find("shorter"), std::string::npos) << visit.failure();
    }
}

TEST(LaneMessage, RangesOutsideThePool) {
    struct Range {
        std::uint64_t offset;
        std::uint64_t size;
    };
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    constexpr Range ranges[] = {{pool_size, 8},        {pool_size - 1, 8}, {most, 8},
                                {most - 7, 8},         {0, most},          {8, most - 7},
                                {pool_size + 4096, 8}, {most / 2, 8}};
    for (const PoolAccess access : ways)
        for (const auto mode : {PersistMode::persist_written, PersistMode::deep_persist,
                                PersistMode::inline_data, PersistMode::fetch})
            for (const Range& range : ranges) {
                Visit visit(access);
                visit.send(visit.message(mode, range.offset, range.size),
                           header + (mode == PersistMode::inline_data ? 8 : 0));
                EXPECT_NE(visit.failure().find("not within the pool"), std::string::npos)
                    << "mode " << static_cast<unsigned>(mode) << " offset " << range.offset
                    << " size " << range.size << ": " << visit.failure();
                EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
            }
}

} // namespace
} // namespace rpmem::target
