// SPDX-License-Identifier: BSD-3-Clause
// Tests how the daemon serves messages of protocol 0.1, which a bare libfabric peer sends. The test
// fails if a valid message is not answered, if a malformed one or a range outside the pool does not
// end the lane with an error text, or if a byte outside the range or of a read-only pool is
// written.
#include "tests/unit/lanes/visit.hpp"

#include <limits>

namespace rpmem::target {
namespace {

TEST(LaneMessage, GoodOnesAreServed) {
    Visit visit;
    visit.send(visit.message(PersistMode::inline_data, 128, 64), message_header + 64);
    ASSERT_TRUE(visit.is_answered());
    EXPECT_TRUE(visit.pool.is_untouched_but(128, 64));
    EXPECT_EQ(visit.pool.begin()[128], std::byte{1});
    EXPECT_EQ(visit.pool.begin()[191], std::byte{1});
}

// The pool is mapped read-only as in the daemon, so a store would end the process.
struct ReadOnlyVisit : Visit {
    ReadOnlyVisit() : Visit(inline_size, one_file, true) {
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
                             {PersistMode::inline_data, 64}}) {
        SCOPED_TRACE(static_cast<int>(each.mode));
        ReadOnlyVisit visit;
        visit.send(visit.message(each.mode, 0, 64), message_header + each.data);
        EXPECT_TRUE(test::contains(visit.failure(), "is read-only"));
        EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
    }
}

TEST(LaneMessage, AReadOnlyPoolCanBeRead) {
    ReadOnlyVisit visit;
    EXPECT_EQ(visit.read_directly(64), std::vector<std::byte>(64, untouched));
}

TEST(LaneMessage, TheKeyOfAReadOnlyPoolIsNoneToWriteWith) {
    ReadOnlyVisit visit;
    EXPECT_FALSE(visit.write_directly(64));
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
    Visit writable;
    EXPECT_TRUE(writable.write_directly(64));
}

TEST(LaneMessage, AnnouncesOtherThanItCarries) {
    for (const std::uint64_t announced : {0U, 63U, 65U, 4096U}) {
        Visit visit;
        visit.send(visit.message(PersistMode::inline_data, 0, announced), message_header + 64);
        EXPECT_TRUE(test::contains(visit.failure(), "carries 64"));
        EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
    }
}

TEST(LaneMessage, OfAModeThatIsNotKnown) {
    Visit visit;
    visit.send({3, 0, visit.message(PersistMode::inline_data, 0, 0).addr, 64}, message_header);
    EXPECT_TRUE(test::contains(visit.failure(), "sent persist mode"));
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
}

// A peer may agree on messages without inline data.
TEST(LaneMessage, WithoutRoomForData) {
    Visit visit(0);
    visit.send(visit.message(PersistMode::persist_written, 0, pool_size), message_header);
    EXPECT_TRUE(visit.is_answered());
    EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
}

TEST(LaneMessage, IsShorterThanItsHeader) {
    for (const std::size_t size : {std::size_t{1}, message_header - 1}) {
        Visit visit;
        visit.send(visit.message(PersistMode::inline_data, 0, 0), size);
        EXPECT_TRUE(test::contains(visit.failure(), "shorter"));
    }
}

TEST(LaneMessage, RangesOutsideThePool) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    constexpr Range ranges[] = {{pool_size, 8},        {pool_size - 1, 8}, {most, 8},
                                {most - 7, 8},         {0, most},          {8, most - 7},
                                {pool_size + 4096, 8}, {most / 2, 8}};
    for (const auto mode :
         {PersistMode::persist_written, PersistMode::deep_persist, PersistMode::inline_data})
        for (const Range& range : ranges) {
            Visit visit;
            visit.send(visit.message(mode, range.offset, range.size),
                       message_header + (mode == PersistMode::inline_data ? 8 : 0));
            EXPECT_TRUE(test::contains(visit.failure(), "not within the pool"));
            EXPECT_TRUE(visit.pool.is_untouched_but(0, 0));
        }
}

} // namespace
} // namespace rpmem::target
