#include "common/wire/status.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace rpmem::wire {
namespace {

TEST(Status, EveryStatusHasTheErrnoOfTheProtocol) {
    constexpr int expected[] = {0,           EPROTONOSUPPORT, EINVAL,       EFBIG,  EINVAL,
                                EINVAL,      EREMOTEIO,       ECONNABORTED, EBUSY,  EEXIST,
                                EMEDIUMTYPE, ENOENT,          EACCES,       EINVAL, EIO};
    for (std::uint32_t raw = 0; raw < std::size(expected); ++raw)
        EXPECT_EQ(errno_of(Status{raw}), expected[raw]) << "status " << raw;
}

TEST(Status, TheNamesHaveTheNumbersOfTheProtocol) {
    EXPECT_EQ(static_cast<int>(Status::success), 0);
    EXPECT_EQ(static_cast<int>(Status::bad_protocol), 1);
    EXPECT_EQ(static_cast<int>(Status::bad_name), 2);
    EXPECT_EQ(static_cast<int>(Status::bad_size), 3);
    EXPECT_EQ(static_cast<int>(Status::bad_lanes), 4);
    EXPECT_EQ(static_cast<int>(Status::bad_provider), 5);
    EXPECT_EQ(static_cast<int>(Status::fatal), 6);
    EXPECT_EQ(static_cast<int>(Status::fatal_connection), 7);
    EXPECT_EQ(static_cast<int>(Status::busy), 8);
    EXPECT_EQ(static_cast<int>(Status::exists), 9);
    EXPECT_EQ(static_cast<int>(Status::provider_not_supported), 10);
    EXPECT_EQ(static_cast<int>(Status::not_found), 11);
    EXPECT_EQ(static_cast<int>(Status::no_access), 12);
    EXPECT_EQ(static_cast<int>(Status::pool_configuration), 13);
    EXPECT_EQ(static_cast<int>(Status::medium_failed), 14);
}

TEST(Status, EveryStatusHasWordsOfItsOwn) {
    std::set<std::string> texts;
    for (std::uint32_t raw = 0; raw <= 15; ++raw) // 15 is not known
        texts.insert(describe(Status{raw}));
    EXPECT_EQ(texts.size(), 16U);
    EXPECT_EQ(texts.count(""), 0U);
}

TEST(Status, AnUnknownStatusIsAFailureOfTheTarget) {
    EXPECT_EQ(errno_of(Status{15}), EREMOTEIO);
    EXPECT_EQ(errno_of(Status{0xffffffff}), EREMOTEIO);
    EXPECT_STREQ(describe(Status{0xffffffff}), describe(Status{15}));
}

} // namespace
} // namespace rpmem::wire
