// Several messages in one: good ones, and such that break the rules.
#include "visit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace rpmem::target {
namespace {

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

} // namespace
} // namespace rpmem::target
