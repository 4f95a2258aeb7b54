#include "librpmem/session/remote_command.hpp"

#include <gtest/gtest.h>

namespace rpmem::initiator {
namespace {

using Words = std::vector<std::string>;

// The argument vectors of 1.12.1, which wrappers named in RPMEM_SSH parse.
TEST(SshArguments, AreThoseOf1121) {
    EXPECT_EQ(
        ssh_arguments("ssh", *parse_target("127.0.0.1:22522"), true, "rpmemd -x"),
        (Words{"ssh", "-p", "22522", "-T", "-4", "-oBatchMode=yes", "127.0.0.1", "rpmemd -x"}));
    EXPECT_EQ(ssh_arguments("/opt/my ssh", *parse_target("me@node"), false, "rpmemd"),
              (Words{"/opt/my ssh", "-T", "-oBatchMode=yes", "me@node", "rpmemd"}));
    EXPECT_EQ(ssh_arguments("ssh", *parse_target("me@[fe80::1]:5"), false, "rpmemd"),
              (Words{"ssh", "-p", "5", "-T", "-oBatchMode=yes", "me@fe80::1", "rpmemd"}));
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

} // namespace
} // namespace rpmem::initiator
