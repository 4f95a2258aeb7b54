// Messages on a lane, good ones and such that break the rules: the daemon gets them from a bare
// libfabric peer.
#include "visit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace rpmem::target {
namespace {

constexpr unsigned windows = 4;
constexpr PoolAccess ways[] = {PoolAccess::direct, PoolAccess::messages};

TEST(LaneMessage, GoodOnesAreServed) {
    for (const PoolAccess access : ways) {
        Visit visit(access);
        visit.send(visit.message(PersistMode::inline_data, 128, 64), message_header + 64);
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
        visit.send(message, message_header + 64);
    visit.send(visit.message(PersistMode::persist_written, 0, 0), message_header);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.count_answered(), 4U);
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 64));
    EXPECT_EQ(visit.pool.begin()[63], std::byte{1});
}

TEST(LaneMessage, ProcessorsMayHaveAnyNumber) {
    Visit visit(PoolAccess::direct);
    for (const std::uint32_t number : {1U, 2U, 1024U, 1025U, wire::most_processors}) {
        PersistMessage message = visit.message(PersistMode::inline_data, 128, 64);
        message.flags |= number << wire::processor_shift;
        visit.send(message, message_header + 64);
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
        visit.send(visit.message(PersistMode::inline_data, 0, 64), message_header + 64);
        visit.send(waiting, message_header + 64);
        visit.send(waiting, message_header + 64);
        ASSERT_TRUE(visit.is_answered());
        EXPECT_GE(visit.count_answered(), 1U);
    }
}

TEST(LaneMessage, AnswersDoNotWaitUnlessThatWasAgreed) {
    Visit visit(PoolAccess::direct, false);
    PersistMessage message = visit.message(PersistMode::inline_data, 0, 64);
    message.flags |= wire::answer_may_wait;
    visit.send(message, message_header + 64);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.count_answered(), 1U);
}

// A store to the pool would end the process, as it would end a daemon that maps it PROT_READ.
struct ReadOnlyVisit : Visit {
    explicit ReadOnlyVisit(PoolAccess access)
        : Visit(access, false, inline_size, 1, true, one_file, true) {
        if (::mprotect(pool.begin(), pool_size, PROT_READ) != 0)
            throw std::runtime_error("mprotect failed");
    }
};

TEST(LaneMessage, NothingIsWrittenToAReadOnlyPool) {
    struct Case {
        PersistMode mode;
        std::size_t data;
    };
    for (const Case& each : {Case{PersistMode::persist_written, 0},
                             {PersistMode::deep_persist, 0},
                             {PersistMode::inline_data, 64}})
        for (const PoolAccess access : ways) {
            SCOPED_TRACE(static_cast<int>(each.mode));
            ReadOnlyVisit visit(access);
            visit.send(visit.message(each.mode, 0, 64), message_header + each.data);
            EXPECT_NE(visit.failure().find("may only read"), std::string::npos) << visit.failure();
            EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
        }
}

TEST(LaneMessage, AReadOnlyPoolCanBeRead) {
    ReadOnlyVisit direct(PoolAccess::direct);
    EXPECT_EQ(direct.in_windows(64), std::vector<std::byte>(64, untouched));
    ReadOnlyVisit visit(PoolAccess::messages);
    visit.send(visit.message(PersistMode::fetch, 0, 64), message_header);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.in_windows(64), std::vector<std::byte>(64, untouched));
}

TEST(LaneMessage, TheKeyOfAReadOnlyPoolIsNoneToWriteWith) {
    for (const PoolAccess access : ways) {
        ReadOnlyVisit visit(access);
        EXPECT_FALSE(visit.write_directly(64));
        EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
    }
    Visit writable(PoolAccess::direct);
    EXPECT_TRUE(writable.write_directly(64));
}

TEST(LaneMessage, FetchFillsTheWindowOfPoolsServedByMessages) {
    Visit visit(PoolAccess::messages);
    visit.pool.begin()[pool_size - 1] = std::byte{7};
    visit.send(visit.message(PersistMode::fetch, pool_size - inline_size, inline_size),
               message_header);
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
        visit.send(message, message_header);
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
    visit.send(message, message_header);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_EQ(visit.in_windows(inline_size), std::vector<std::byte>(inline_size, std::byte{7}));
}

TEST(LaneMessage, FetchIntoAWindowThatTheLaneDoesNotHave) {
    Visit visit(PoolAccess::messages, false, inline_size, 2);
    auto message = visit.message(PersistMode::fetch, 0, 64);
    message.flags |= 2U << wire::window_shift;
    visit.send(message, message_header);
    EXPECT_NE(visit.failure().find("window 2"), std::string::npos) << visit.failure();
}

TEST(LaneMessage, FetchOfMoreThanTheWindow) {
    for (const unsigned count : {1U, windows}) {
        Visit visit(PoolAccess::messages, false, inline_size, count);
        visit.send(visit.message(PersistMode::fetch, 0, inline_size + 1), message_header);
        EXPECT_NE(visit.failure().find("window"), std::string::npos) << visit.failure();
    }
}

TEST(LaneMessage, FetchFromAPoolThatThePeerReadsItself) {
    for (const std::uint64_t size : {0U, 1U, 64U}) {
        Visit visit(PoolAccess::direct);
        visit.send(visit.message(PersistMode::fetch, 0, size), message_header);
        EXPECT_NE(visit.failure().find("can read itself"), std::string::npos) << visit.failure();
        EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
    }
}

TEST(LaneMessage, AnnouncesOtherThanItCarries) {
    for (const PoolAccess access : ways)
        for (const std::uint64_t announced : {0U, 63U, 65U, 4096U}) {
            Visit visit(access);
            visit.send(visit.message(PersistMode::inline_data, 0, announced), message_header + 64);
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
    visit.send(visit.message(PersistMode::persist_written, 0, pool_size), message_header);
    EXPECT_TRUE(visit.is_answered());
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
}

TEST(LaneMessage, IsShorterThanItsHeader) {
    for (const std::size_t size : {std::size_t{1}, message_header - 1}) {
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
                           message_header + (mode == PersistMode::inline_data ? 8 : 0));
                EXPECT_NE(visit.failure().find("not within the pool"), std::string::npos)
                    << "mode " << static_cast<unsigned>(mode) << " offset " << range.offset
                    << " size " << range.size << ": " << visit.failure();
                EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
            }
}

} // namespace
} // namespace rpmem::target
