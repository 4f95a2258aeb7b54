// One session with a hostile client, and what must be true of the daemon after every one of them.
#pragma once

#include "tests/hostile/daemon_process.hpp"
#include "tests/hostile/pool_directory.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace rpmem::hostile {

struct Response {
    wire::MessageType type{};
    wire::Status status{};
};

struct SessionEnd {
    Ending ending;
    std::string log;
    std::vector<Response> responses;
};

// The daemon gives up a CREATE whose sender has gone: one that is to be granted must be answered
// before the input is closed.
enum class Input { closed, closed_after_first_answer, left_open };

class HostileTest : public testing::Test {
protected:
    // However a session is disturbed, it needs no system call that a confined one has not.
    ~HostileTest() override {
        EXPECT_EQ(directory_.read_log().find("confinement: denied"), std::string::npos)
            << directory_.read_log();
    }

    // Sends BYTES to a new daemon and waits for its end. Checks what holds for any session: the
    // daemon ends by itself, in time, with status 0 or 1; its output is the status 0 (or, with an
    // offer, a hello) and whole responses, nothing else; and the parts are as they were.
    SessionEnd session(std::span<const std::byte> bytes, Input input = Input::closed);

    // As session(), without a look at the parts.
    SessionEnd session_that_may_write(std::span<const std::byte> bytes, Input input);

    // The session ends with this refusal as its last response, and this word in the log.
    static void expect_refusal(const SessionEnd& end, wire::MessageType request,
                               wire::Status status, int exit_status, const std::string& logged);
    // The session ends without any response, with exit status 1 and this word in the log.
    static void expect_hang_up(const SessionEnd& end, const std::string& logged);
    // The request was granted; then the input ended without CLOSE.
    static void expect_granted(const SessionEnd& end, wire::MessageType request);

    // What the daemon said, taken apart. Fails the test on anything that is not in the protocol.
    static std::vector<Response> parse_output(std::span<const std::byte> output);

    PoolDirectory directory_;
    std::optional<std::string> offer_; // what daemons find in RPMEMD_OFFER
};

// Requests for the pools of PoolDirectory.
wire::CreateRequest create_request(const std::string& pool_set = absent_pool);
wire::OpenRequest open_request(const std::string& pool_set = existing_pool);

wire::Bytes joined(std::initializer_list<wire::Bytes> messages);

// A copy with the big-endian number of SIZE bytes at OFFSET replaced.
wire::Bytes with_field(wire::Bytes message, std::size_t offset, std::size_t size,
                       std::uint64_t value);
std::uint64_t field_of(const wire::Bytes& message, std::size_t offset, std::size_t size);

inline constexpr const char* loopback_connection = "127.0.0.1 1 127.0.0.1 22";

} // namespace rpmem::hostile
