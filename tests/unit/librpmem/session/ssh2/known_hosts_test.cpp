// SPDX-License-Identifier: BSD-3-Clause
// Tests the parser of known_hosts files for logins by libssh2. Lines are given as text, and hashed
// names were made by ssh-keygen(1). The test fails if a line applies to the wrong name, if a
// negated or revoked entry is missed, or if a pattern of many stars takes exponential time.
#include "librpmem/session/ssh2/known_hosts.hpp"

#include <gtest/gtest.h>

namespace rpmem::initiator::ssh2 {
namespace {

// Returns the numbers of the lines of TEXT that apply to NAME.
std::vector<std::size_t> lines(std::string_view text, const std::string& name) {
    std::vector<std::size_t> found;
    for (const KnownKey& key : known_keys(text, "file", name)) {
        EXPECT_EQ(key.file, "file");
        found.push_back(key.line);
    }
    return found;
}

using Lines = std::vector<std::size_t>;

TEST(KnownHosts, TheUsualPortIsNotInTheName) {
    EXPECT_EQ(known_name("Node1", 22), "node1");
    EXPECT_EQ(known_name("node1", 2222), "[node1]:2222");
    EXPECT_EQ(known_name("fe80::1", 22), "fe80::1");
    EXPECT_EQ(known_name("fe80::1", 2222), "[fe80::1]:2222");
}

TEST(KnownHosts, LinesAreCountedAndTakenApart) {
    const auto keys = known_keys("# node1 ssh-rsa AAAA\n"
                                 "\n"
                                 "node2 ssh-rsa AAAB\n"
                                 "  node0,Node1\tssh-ed25519  AAAC a comment \r\n"
                                 "@revoked node1 ssh-rsa AAAD\n"
                                 "@cert-authority node1 ssh-rsa AAAE\n"
                                 "node1 ssh-rsa\n"
                                 "node1\n"
                                 "node1 ecdsa-sha2-nistp256 AAAF",
                                 "hosts", "node1");
    ASSERT_EQ(keys.size(), 3U);
    EXPECT_EQ(keys[0].line, 4U);
    EXPECT_EQ(keys[0].type, "ssh-ed25519");
    EXPECT_EQ(keys[0].key, "AAAC");
    EXPECT_FALSE(keys[0].revoked);
    EXPECT_EQ(keys[1].line, 5U);
    EXPECT_TRUE(keys[1].revoked);
    EXPECT_EQ(keys[2].line, 9U);
    EXPECT_EQ(keys[2].key, "AAAF");
}

TEST(KnownHosts, Patterns) {
    const std::string_view text = "*.lab,!bad.lab ssh-rsa A\n" // 1
                                  "node? ssh-rsa A\n"          // 2
                                  "[*]:2222 ssh-rsa A\n"       // 3
                                  "!*,* ssh-rsa A\n"           // 4
                                  "a*b*c ssh-rsa A\n";         // 5
    EXPECT_EQ(lines(text, "good.lab"), Lines{1});
    EXPECT_EQ(lines(text, "bad.lab"), Lines{});
    EXPECT_EQ(lines(text, ".lab"), Lines{1});
    EXPECT_EQ(lines(text, "node1"), Lines{2});
    EXPECT_EQ(lines(text, "node"), Lines{});
    EXPECT_EQ(lines(text, "node12"), Lines{});
    EXPECT_EQ(lines(text, "[x]:2222"), Lines{3});
    EXPECT_EQ(lines(text, "x:2222"), Lines{});
    EXPECT_EQ(lines(text, "abc"), Lines{5});
    EXPECT_EQ(lines(text, "axxbcxbxc"), Lines{5});
    EXPECT_EQ(lines(text, "abcb"), Lines{});
}

// The work is bounded by the product of the sizes of the pattern and the name.
TEST(KnownHosts, APatternOfManyStars) {
    std::string pattern;
    for (int i = 0; i < 2000; ++i)
        pattern += "*a";
    EXPECT_EQ(lines(pattern + "b ssh-rsa A\n", std::string(3000, 'a')), Lines{});
    EXPECT_EQ(lines(pattern + " ssh-rsa A\n", std::string(3000, 'a')), Lines{1});
}

// The first two lines were made by ssh-keygen -H.
TEST(KnownHosts, HashedNames) {
    const std::string_view text =
        "|1|mT6dDSUVYeRS2Uqx53hOBTax6HY=|sgtp84Hhhsqx/O4wDFsns3N+yLk= ssh-ed25519 AAAA\n"
        "|1|1Yg0LjgbQmbaMQntM3kTC1sPxvo=|wc42O6Nol9W+YMLGKz7uyiY5tR8= ssh-ed25519 AAAA\n"
        "|1|short|AAAA ssh-ed25519 AAAA\n"
        "|1| ssh-ed25519 AAAA\n"
        "|1|????????????????????????????|AAAA ssh-ed25519 AAAA\n";
    EXPECT_EQ(lines(text, "node1"), Lines{1});
    EXPECT_EQ(lines(text, "[node1]:2222"), Lines{2});
    EXPECT_EQ(lines(text, "node2"), Lines{});
}

TEST(KnownHosts, Base64) {
    const std::string text = "foobar";
    const auto encoded = [&](std::size_t size) {
        return to_base64(std::span(reinterpret_cast<const unsigned char*>(text.data()), size));
    };
    for (const auto& [size, expected] :
         {std::pair(0U, ""), {1, "Zg=="}, {2, "Zm8="}, {3, "Zm9v"}, {6, "Zm9vYmFy"}})
        EXPECT_EQ(encoded(size), expected);
}

} // namespace
} // namespace rpmem::initiator::ssh2
