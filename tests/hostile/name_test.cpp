// SPDX-License-Identifier: BSD-3-Clause
// Tests the real daemon with pool set names that leave poolset-dir, name no pool set, are too long,
// are malformed, or contain control characters. The test fails if CREATE or OPEN of such a name is
// granted, hangs or gets another status, or if a name can write a line of its own into the log.
#include "tests/hostile/hostile_session.hpp"

#include <sys/stat.h>

namespace rpmem::hostile {
namespace {

using wire::MessageType;
using wire::Status;

class Names : public HostileTest {
protected:
    // Expects that CREATE and OPEN of NAME are refused with one of STATUSES.
    void expect_refused(const std::string& name, const std::vector<Status>& statuses) {
        SCOPED_TRACE(name.substr(0, 80));
        for (const auto& message : {encode(create_request(name)), encode(open_request(name))}) {
            const auto end = session(message, Input::left_open);
            ASSERT_EQ(end.responses.size(), 1U) << end.log;
            EXPECT_NE(std::ranges::find(statuses, end.responses[0].status), statuses.end())
                << static_cast<unsigned>(end.responses[0].status) << '\n'
                << end.log;
            EXPECT_EQ(end.ending.status, 0);
        }
    }
};

TEST_F(Names, Absolute) {
    expect_refused((directory_.pool_sets() / absent_pool).native(), {Status::bad_name});
    expect_refused("/", {Status::bad_name});
    expect_refused("/dev/zero", {Status::bad_name});
    expect_refused("//etc/passwd", {Status::bad_name});
}

TEST_F(Names, LeavingTheDirectory) {
    // A valid pool set outside of the directory.
    std::filesystem::copy(directory_.pool_sets() / absent_pool, directory_.path() / "outside.set");
    expect_refused("../outside.set", {Status::bad_name});
    expect_refused("./../outside.set", {Status::bad_name});
    std::filesystem::create_directory(directory_.pool_sets() / "sub");
    expect_refused("sub/../../outside.set", {Status::bad_name});
    std::filesystem::create_symlink(directory_.path() / "outside.set",
                                    directory_.pool_sets() / "link.set");
    expect_refused("link.set", {Status::bad_name});
    std::filesystem::create_symlink("..", directory_.pool_sets() / "up");
    expect_refused("up/outside.set", {Status::bad_name});
}

TEST_F(Names, ThatAreNoPoolSets) {
    expect_refused("no-such.set", {Status::not_found});
    expect_refused(std::string(existing_pool) + "/x", {Status::not_found});
    expect_refused(".", {Status::pool_configuration});
    ASSERT_EQ(::mkfifo((directory_.pool_sets() / "fifo").c_str(), 0600), 0);
    expect_refused("fifo", {Status::pool_configuration});
    std::ofstream(directory_.pool_sets() / "empty.set").close();
    expect_refused("empty.set", {Status::pool_configuration});
    std::ofstream(directory_.pool_sets() / "binary.set") << std::string(100000, '\xff');
    expect_refused("binary.set", {Status::pool_configuration});
}

TEST_F(Names, TooLong) {
    expect_refused(std::string(wire::max_pool_set_size - 1, 'x'),
                   {Status::fatal, Status::bad_name, Status::not_found});
    std::string deep;
    while (deep.size() + 2 < wire::max_pool_set_size)
        deep += "./";
    expect_refused(deep + "x", {Status::fatal, Status::bad_name, Status::not_found});
}

TEST_F(Names, Empty) {
    auto open = encode(open_request(""));
    expect_refusal(session(open), MessageType::open, Status::bad_protocol, 1, "empty");
    auto create = encode(create_request(""));
    expect_refusal(session(create), MessageType::create, Status::bad_protocol, 1, "empty");
}

TEST_F(Names, WithANulOrWithoutOne) {
    for (const auto& [type, good] : {std::pair(MessageType::create, encode(create_request())),
                                     std::pair(MessageType::open, encode(open_request()))}) {
        auto embedded = good;
        embedded[embedded.size() - 4] = std::byte{0};
        expect_refusal(session(embedded), type, Status::bad_protocol, 1, "NUL");
        auto unterminated = good;
        unterminated.back() = std::byte{'x'};
        expect_refusal(session(unterminated), type, Status::bad_protocol, 1, "NUL");
    }
}

// A name must not write lines of its own into the log or control a terminal.
TEST_F(Names, WithControlCharacters) {
    const auto end = session(encode(open_request("x\n2000-01-01 forged line\r\x1b[31m.set")));
    expect_refusal(end, MessageType::open, Status::not_found, 0, "forged line");
    for (const std::string& text : {end.log, end.ending.error_text}) {
        EXPECT_FALSE(test::contains(text, "\n2000-01-01"));
        EXPECT_EQ(text.find('\r'), std::string::npos);
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
    }
}

} // namespace
} // namespace rpmem::hostile
