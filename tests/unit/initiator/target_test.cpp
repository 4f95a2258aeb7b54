#include "librpmem/session/target.hpp"

#include <gtest/gtest.h>

namespace rpmem::initiator {
namespace {

struct Good {
    const char* text;
    const char* user;
    const char* host;
    unsigned port; // 0: none
};
void PrintTo(const Good& good, std::ostream* out) { *out << good.text; }

class GoodTargets : public ::testing::TestWithParam<Good> {};

INSTANTIATE_TEST_SUITE_P(
    All, GoodTargets,
    ::testing::Values(Good{"host", "", "host", 0}, Good{"host:22", "", "host", 22},
                      Good{"user@host", "user", "host", 0},
                      Good{"user@host:65535", "user", "host", 65535},
                      Good{"10.0.0.1:1", "", "10.0.0.1", 1}, Good{"fe80::1", "", "fe80::1", 0},
                      Good{"::1", "", "::1", 0}, Good{"[fe80::1]:22", "", "fe80::1", 22},
                      Good{"[::1]", "", "::1", 0}, Good{"user@[::1]:2222", "user", "::1", 2222},
                      Good{"fe80::1%eth0", "", "fe80::1%eth0", 0}));

TEST_P(GoodTargets, AreTakenApart) {
    const auto target = parse_target(GetParam().text);
    ASSERT_TRUE(target) << target.error().text;
    EXPECT_EQ(target->user, GetParam().user);
    EXPECT_EQ(target->host, GetParam().host);
    EXPECT_EQ(target->port.value_or(0), GetParam().port);
    EXPECT_EQ(target->port.has_value(), GetParam().port != 0);
}

class BadTargets : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, BadTargets,
                         ::testing::Values("", "@host", "user@", ":22", "host:", "host:0",
                                           "host:65536", "host:x", "user@@host", "user@host@22",
                                           "u@domain@host", "host:22x", "host:-1", "host:+1",
                                           "host: 1", "[::1", "[::1]x", "[::1]:", "[]:22",
                                           "-oProxyCommand=x", "-l@host", "ho st", "host\n"));

TEST_P(BadTargets, AreNamedInTheError) {
    const auto target = parse_target(GetParam());
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().code, EINVAL);
    EXPECT_NE(target.error().text.find("'" + std::string(GetParam()) + "'"), std::string::npos);
}

} // namespace
} // namespace rpmem::initiator
