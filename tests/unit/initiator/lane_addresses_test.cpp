#include "librpmem/session/lane_addresses.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rpmem::initiator {
namespace {

using Texts = std::vector<std::string>;

std::optional<std::vector<HostAddress>> told(const Texts& texts) {
    std::vector<HostAddress> addresses;
    for (const std::string& text : texts)
        addresses.push_back(*parse_address(text));
    return addresses;
}

struct Case {
    const char* name;
    LoginFacts arrival;
    std::optional<SshDestination> ssh; // what it says if it is asked
    bool is_asked;
    Texts tried;
    Texts not_tried;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class LaneAddresses : public ::testing::TestWithParam<Case> {};

TEST_P(LaneAddresses, AreThoseThatSshWentToAndThenTheDaemons) {
    const Case& one = GetParam();
    bool asked = false;
    const auto found = lane_addresses(one.arrival, [&] {
        asked = true;
        return one.ssh;
    });
    Texts tried;
    Texts not_tried;
    for (const LaneAddress& address : found)
        (address.why_not.empty() ? tried : not_tried).push_back(address.host);
    EXPECT_EQ(tried, one.tried);
    EXPECT_EQ(not_tried, one.not_tried);
    EXPECT_EQ(asked, one.is_asked);
}

INSTANTIATE_TEST_SUITE_P(
    All, LaneAddresses,
    ::testing::Values(
        Case{"the usual case takes no process",
             {"", "db", {"192.0.2.7"}, "", told({"192.0.2.7"})},
             {},
             false,
             {"db"},
             {}},
        Case{"another address of the name is the one",
             {"", "db", {"192.0.2.7", "192.0.2.8"}, "", told({"192.0.2.8"})},
             {},
             false,
             {"192.0.2.8"},
             {}},
        Case{"an old daemon has the name that it is called by",
             {"", "db", {"192.0.2.7"}, "", std::nullopt},
             {},
             false,
             {"db"},
             {}},
        Case{"RPMEM_ADDRESS comes first",
             {"198.51.100.1", "db", {"192.0.2.7"}, "", told({"192.0.2.7", "198.51.100.1"})},
             {},
             false,
             {"198.51.100.1", "db"},
             {}},
        Case{"libssh2 knows where it went",
             {"", "db", {"192.0.2.7"}, "192.0.2.9", told({"192.0.2.9", "198.51.100.1"})},
             {},
             false,
             {"192.0.2.9", "198.51.100.1"},
             {}},
        Case{"an alias that is no name here",
             {"", "db", {}, "", told({"192.0.2.7"})},
             SshDestination{"192.0.2.7", false},
             true,
             {"192.0.2.7"},
             {}},
        Case{"an alias that is the name of another host",
             {"", "db", {"203.0.113.5"}, "", told({"192.0.2.7"})},
             SshDestination{"192.0.2.7", false},
             true,
             {"192.0.2.7"},
             {}},
        Case{"behind a jump host, a name that is none here",
             {"", "db", {}, "", told({"192.0.2.7", "198.51.100.1"})},
             SshDestination{"db.invalid", true},
             true,
             {"192.0.2.7", "198.51.100.1"},
             {"db.invalid"}},
        Case{"the loopback device of a jump host is not ours",
             {"", "db", {}, "", told({"127.0.0.1", "192.0.2.7", "fe80::1"})},
             SshDestination{"127.0.0.1", true},
             true,
             {"192.0.2.7"},
             {"127.0.0.1", "fe80::1"}},
        Case{"the target does not lead us to our loopback device",
             {"", "db", {"192.0.2.7"}, "", told({"192.0.2.7", "127.0.0.5", "::1", "0.0.0.0"})},
             {},
             false,
             {"db"},
             {"127.0.0.5", "::1"}},
        Case{"where ssh went there, the target may",
             {"", "::1", {"::1"}, "", told({"::1", "127.0.0.5"})},
             {},
             false,
             {"::1", "127.0.0.5"},
             {}},
        Case{"ssh goes through a tunnel",
             {"", "127.0.0.1", {"127.0.0.1"}, "", told({"192.0.2.7"})},
             SshDestination{"127.0.0.1", false},
             true,
             {"127.0.0.1", "192.0.2.7"},
             {}},
        Case{"RPMEM_SSH does not know -G",
             {"", "db", {"203.0.113.5"}, "", told({"192.0.2.7"})},
             std::nullopt,
             true,
             {"db", "192.0.2.7"},
             {}},
        Case{"nothing helps", {"", "db", {}, "", std::nullopt}, std::nullopt, true, {}, {"db"}}));

TEST(SshDestinations, AreReadFromWhatSshPrints) {
    EXPECT_FALSE(read_destination(""));
    EXPECT_FALSE(read_destination("usage: rsh\n"));
    EXPECT_FALSE(read_destination("hostname " + std::string(300, 'x') + "\n"));
    const auto plain = read_destination("host db\nuser u\nhostname 10.0.0.1\nproxyjump none\n");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->host, "10.0.0.1");
    EXPECT_FALSE(plain->is_proxied);
    EXPECT_TRUE(read_destination("hostname db\nproxyjump u@jump\n")->is_proxied);
    EXPECT_TRUE(read_destination("proxycommand nc %h %p\nhostname db")->is_proxied);
}

TEST(HostAddresses, AreReadAndJudged) {
    const struct {
        const char* text;
        const char* again;
        Reach reach;
    } cases[] = {{"192.0.2.7", "192.0.2.7", Reach::anywhere},
                 {"127.3.4.5", "127.3.4.5", Reach::same_machine},
                 {"169.254.1.1", "169.254.1.1", Reach::same_link},
                 {"0.0.0.0", "0.0.0.0", Reach::nowhere},
                 {"224.0.0.1", "224.0.0.1", Reach::nowhere},
                 {"255.255.255.255", "255.255.255.255", Reach::nowhere},
                 {"::1", "::1", Reach::same_machine},
                 {"::", "::", Reach::nowhere},
                 {"ff02::1", "ff02::1", Reach::nowhere},
                 {"fe80::1%eth0", "fe80::1", Reach::same_link},
                 {"2001:db8::9", "2001:db8::9", Reach::anywhere},
                 {"::ffff:127.0.0.1", "127.0.0.1", Reach::same_machine}};
    for (const auto& one : cases) {
        SCOPED_TRACE(one.text);
        const auto address = parse_address(one.text);
        ASSERT_TRUE(address);
        EXPECT_EQ(text_of(*address), one.again);
        EXPECT_EQ(reach_of(*address), one.reach);
    }
    for (const char* bad : {"", "db", "1.2.3", "1.2.3.4.5", "1::2::3", "%eth0"})
        EXPECT_FALSE(parse_address(bad)) << bad;
}

} // namespace
} // namespace rpmem::initiator
