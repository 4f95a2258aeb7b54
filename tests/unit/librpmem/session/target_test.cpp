// SPDX-License-Identifier: BSD-3-Clause
// Tests how the library parses a target, which commands it gives to ssh(1), and which addresses its
// lanes try. Nothing connects. The test fails if a target is parsed otherwise, if a word could
// reach ssh or the remote shell as an option or a command, if an error text keeps control
// characters, or if lanes would connect to an address that only the target has named.
#include "common/base/io.hpp"
#include "librpmem/session/channel.hpp"
#include "librpmem/session/lane_addresses.hpp"
#include "librpmem/session/remote_command.hpp"
#include "librpmem/session/ssh_arguments.hpp"
#include "librpmem/session/target.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::initiator {
namespace {

struct Good {
    const char* text;
    const char* user;
    const char* host;
    unsigned port; // 0 if TEXT has none
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
    const auto target = test::value_of(parse_target(GetParam().text));
    EXPECT_EQ(target.user, GetParam().user);
    EXPECT_EQ(target.host, GetParam().host);
    EXPECT_EQ(target.port.value_or(0), GetParam().port);
    EXPECT_EQ(target.port.has_value(), GetParam().port != 0);
}

class BadTargets : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, BadTargets,
                         ::testing::Values("", "@host", "user@", ":22", "host:", "host:0",
                                           "host:65536", "host:x", "user@@host", "user@host@22",
                                           "u@domain@host", "host:22x", "host:-1", "host:+1",
                                           "host: 1", "[::1", "[::1]x", "[::1]:", "[]:22",
                                           "-oProxyCommand=x", "-l@host", "ho st", "host\n"));

TEST_P(BadTargets, AreNamedInTheError) {
    EXPECT_TRUE(
        test::failed(parse_target(GetParam()), EINVAL, "'" + std::string(GetParam()) + "'"));
}

using Words = std::vector<std::string>;

// The arguments of 1.12.1 come first, because wrappers in RPMEM_SSH parse them. The options undo
// settings of ssh_config(5) for interactive logins.
TEST(SshArguments, OverrideWhatIsForPeople) {
    const auto expected = [](Words words, const Words& end) {
        for (const char* const option :
             {"-oBatchMode=yes", "-oRemoteCommand=none", "-oStdinNull=no", "-oSessionType=default",
              "-oClearAllForwardings=yes", "-oPermitLocalCommand=no",
              "-oForkAfterAuthentication=no"})
            words.emplace_back(option);
        words.insert(words.end(), end.begin(), end.end());
        return words;
    };
    EXPECT_EQ(ssh_arguments("ssh", *parse_target("127.0.0.1:22522"), true, "rpmemd -x"),
              expected({"ssh", "-p", "22522", "-T", "-4"}, {"127.0.0.1", "rpmemd -x"}));
    EXPECT_EQ(ssh_arguments("/opt/my ssh", *parse_target("me@node"), false, "rpmemd"),
              expected({"/opt/my ssh", "-T"}, {"me@node", "rpmemd"}));
    EXPECT_EQ(ssh_arguments("ssh", *parse_target("me@[fe80::1]:5"), false, "rpmemd"),
              expected({"ssh", "-p", "5", "-T"}, {"me@fe80::1", "rpmemd"}));
}

TEST(RemoveCommand, PlainNamesGoAsTheyAre) {
    EXPECT_EQ(remove_command("rpmemd", "dir/pool-1.set", false, false),
              "rpmemd --remove dir/pool-1.set");
    EXPECT_EQ(remove_command("rpmemd", "pool.set", true, false),
              "rpmemd --remove pool.set --force");
    EXPECT_EQ(remove_command("rpmemd", "pool.set", false, true),
              "rpmemd --remove pool.set --pool-set");
    EXPECT_EQ(remove_command("a b", "pool.set", true, true),
              "a b --remove pool.set --force --pool-set");
}

TEST(RemoveCommand, OthersAreQuotedForTheShell) {
    EXPECT_EQ(remove_command("r", "my pool", false, false), "r --remove 'my pool'");
    EXPECT_EQ(remove_command("r", "a;b$(c)`d`", false, false), "r --remove 'a;b$(c)`d`'");
    EXPECT_EQ(remove_command("r", "it's", false, false), "r --remove 'it'\\''s'");
    EXPECT_EQ(remove_command("r", "", false, false), "r --remove ''");
}

// Returns the error text of a channel whose command has written TEXT to its standard error.
std::string error_text_after(std::string_view text) {
    auto pipe = make_pipe();
    EXPECT_TRUE(pipe && write_fully(pipe->write_end.get(), std::as_bytes(std::span(text)),
                                    Deadline(std::chrono::seconds(1))));
    Channel channel({UniqueFd(), UniqueFd(), std::move(pipe->read_end)}, nullptr);
    channel.collect_error_text();
    return channel.error_text();
}

TEST(Channel, LinesOfTheErrorTextAreJoined) {
    EXPECT_EQ(error_text_after("one\ntwo \xc3\xa4\n\n"), "one; two \xc3\xa4");
    EXPECT_EQ(error_text_after(""), "");
}

// The fuzz target `session` has found that a delete character was not removed.
TEST(Channel, TheErrorTextCommandsNoTerminal) {
    EXPECT_EQ(error_text_after("a\x1b[2Jb\r\x07"
                               "c\x7f"
                               "d"),
              "a[2Jbcd");
}

using Texts = std::vector<std::string>;

std::optional<std::vector<HostAddress>> advertised(const Texts& texts) {
    std::vector<HostAddress> addresses;
    for (const std::string& text : texts)
        addresses.push_back(*parse_address(text));
    return addresses;
}

struct Case {
    const char* name;
    LoginFacts arrival;
    std::optional<SshDestination> ssh; // the output of ssh -G
    bool is_asked;
    Texts tried;
    Texts not_tried;
};
Case asked(const char* name, LoginFacts arrival, std::optional<SshDestination> ssh, Texts tried,
           Texts not_tried = {}) {
    return {name, std::move(arrival), std::move(ssh), true, std::move(tried), std::move(not_tried)};
}
Case unasked(const char* name, LoginFacts arrival, Texts tried, Texts not_tried = {}) {
    return {name, std::move(arrival), {}, false, std::move(tried), std::move(not_tried)};
}
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class LaneAddresses : public ::testing::TestWithParam<Case> {};

TEST_P(LaneAddresses, AreThoseThatSshWentToAndThenTheDaemons) {
    const Case& one = GetParam();
    bool asked = false;
    const auto found = lane_addresses(
        one.arrival,
        {.ssh =
             [&] {
                 asked = true;
                 return one.ssh;
             },
         .resolver =
             [](const std::string& name) { return resolve(name, std::chrono::seconds(5)); }});
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
        unasked("the usual case takes no process",
                {"", "db", {"192.0.2.7"}, "", advertised({"192.0.2.7"}), true}, {"db"}),
        unasked("another address of the name is the one",
                {"", "db", {"192.0.2.7", "192.0.2.8"}, "", advertised({"192.0.2.8"}), true},
                {"192.0.2.8"}),
        unasked("an old daemon has the name that it is called by",
                {"", "db", {"192.0.2.7"}, "", std::nullopt}, {"db"}),
        unasked("RPMEM_ADDRESS is the only one",
                {"198.51.100.1",
                 "db",
                 {"192.0.2.7"},
                 "",
                 advertised({"192.0.2.7", "198.51.100.2"}),
                 true},
                {"198.51.100.1"}),
        unasked("a target names any host, and is not believed",
                {"", "db", {"192.0.2.7"}, "192.0.2.7", advertised({"192.0.2.7", "198.51.100.1"})},
                {"db"}, {"198.51.100.1"}),
        unasked(
            "libssh2 knows where it went",
            {"", "db", {"192.0.2.7"}, "192.0.2.9", advertised({"192.0.2.9", "198.51.100.1"}), true},
            {"192.0.2.9", "198.51.100.1"}),
        asked("an alias that is no name here", {"", "db", {}, "", advertised({"192.0.2.7"}), true},
              SshDestination{"192.0.2.7", false}, {"192.0.2.7"}),
        asked("an alias that is the name of another host",
              {"", "db", {"203.0.113.5"}, "", advertised({"192.0.2.7"}), true},
              SshDestination{"192.0.2.7", false}, {"192.0.2.7"}),
        asked("behind a jump host, a name that is none here",
              {"", "db", {}, "", advertised({"192.0.2.7", "198.51.100.1"}), true},
              SshDestination{"db.invalid", true}, {"192.0.2.7", "198.51.100.1"}, {"db.invalid"}),
        asked("the loopback device of a jump host is not ours",
              {"", "db", {}, "", advertised({"127.0.0.1", "192.0.2.7", "fe80::1"}), true},
              SshDestination{"127.0.0.1", true}, {"192.0.2.7"}, {"127.0.0.1", "fe80::1"}),
        unasked("the target does not lead us to our loopback device",
                {"",
                 "db",
                 {"192.0.2.7"},
                 "",
                 advertised({"192.0.2.7", "127.0.0.5", "::1", "0.0.0.0"}),
                 true},
                {"db"}, {"127.0.0.5", "::1"}),
        unasked("where ssh went there, the target may",
                {"", "::1", {"::1"}, "", advertised({"::1", "127.0.0.5"}), true},
                {"::1", "127.0.0.5"}),
        asked("ssh goes through a tunnel",
              {"", "127.0.0.1", {"127.0.0.1"}, "", advertised({"192.0.2.7"}), true},
              SshDestination{"127.0.0.1", false}, {"127.0.0.1", "192.0.2.7"}),
        asked("RPMEM_SSH does not know -G",
              {"", "db", {"203.0.113.5"}, "", advertised({"192.0.2.7"}), true}, std::nullopt,
              {"db", "192.0.2.7"}),
        asked("nothing helps", {"", "db", {}, "", std::nullopt}, std::nullopt, {}, {"db"})));

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
