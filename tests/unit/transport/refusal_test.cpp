#include "common/transport/refusal.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace rpmem::transport {
namespace {

TEST(Refusal, NumbersAreThoseOfTheDocument) {
    EXPECT_EQ(static_cast<int>(Refusal::busy), 1);
    EXPECT_EQ(static_cast<int>(Refusal::too_late), 2);
    EXPECT_EQ(static_cast<int>(Refusal::no_such_session), 3);
    EXPECT_EQ(static_cast<int>(Refusal::no_such_lane), 4);
    EXPECT_EQ(static_cast<int>(Refusal::lane_in_use), 5);
    EXPECT_EQ(static_cast<int>(Refusal::generation), 6);
    EXPECT_EQ(static_cast<int>(Refusal::proof_wrong), 7);
    EXPECT_EQ(static_cast<int>(Refusal::no_resources), 8);
    EXPECT_EQ(static_cast<int>(Refusal::ending), 9);
    EXPECT_EQ(static_cast<int>(Refusal::another_format), 10);
}

TEST(Refusal, EachHasItsOwnText) {
    std::set<std::string> texts;
    for (std::uint32_t why = 0; why <= 11; ++why)
        texts.insert(describe({.why = Refusal{why}, .number = 0, .by_peer = true}));
    EXPECT_EQ(texts.size(), 12U);
    EXPECT_EQ(describe({.why = Refusal::no_such_lane, .number = 8, .by_peer = true}),
              "the target refuses the lane: the session has 8 lanes, and none of this number");
    EXPECT_NE(describe({.why = Refusal::no_resources, .number = ENFILE, .by_peer = true})
                  .find("Too many open files in system"),
              std::string::npos);
    // The number may be anybody's.
    EXPECT_FALSE(describe({.why = Refusal::no_resources, .number = 0xffffffff}).empty());
    EXPECT_NE(describe({.why = Refusal{0xffffffff}, .by_peer = true}).find("4294967295"),
              std::string::npos);
}

TEST(Refusal, OnlyAWrongProofIsAQuestionOfRights) {
    for (std::uint32_t why = 0; why <= 11; ++why)
        EXPECT_EQ(errno_of(Refusal{why}),
                  Refusal{why} == Refusal::proof_wrong ? EACCES : ECONNREFUSED);
}

TEST(Refusal, OnlyBusyPasses) {
    for (std::uint32_t why = 0; why <= 11; ++why)
        EXPECT_EQ(may_pass(Refusal{why}), Refusal{why} == Refusal::busy);
}

} // namespace
} // namespace rpmem::transport
