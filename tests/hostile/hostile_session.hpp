// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests with a hostile client. It starts the real daemon in a temporary
// directory, sends it bytes, and checks what must hold after every session: the daemon has ended in
// time and without a signal, its output is valid, and all parts are unchanged and unlocked.
#pragma once

#include "common/wire/hello.hpp"
#include "tests/hostile/daemon_process.hpp"
#include "tests/hostile/pool_directory.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::hostile {

inline constexpr const char* loopback_connection = "127.0.0.1 1 127.0.0.1 22";

struct Response {
    wire::MessageType type{};
    wire::Status status{};
};

struct SessionEnd {
    Ending ending;
    std::string log;
    std::vector<Response> responses;
};

// The daemon may refuse a CREATE after its input was closed. A test that expects success therefore
// closes the input only after the response.
enum class Input { closed, closed_after_first_answer, left_open };

// Requests for the pools of PoolDirectory.
inline wire::CreateRequest create_request(const std::string& pool_set = absent_pool) {
    return {part_size, 4, wire::Provider::sockets, 8192, test_attributes(), pool_set};
}

inline wire::OpenRequest open_request(const std::string& pool_set = existing_pool) {
    return {part_size, 4, wire::Provider::sockets, 8192, pool_set};
}

inline wire::Bytes joined(std::initializer_list<wire::Bytes> messages) {
    wire::Bytes all;
    for (const wire::Bytes& message : messages)
        all.insert(all.end(), message.begin(), message.end());
    return all;
}

// Returns MESSAGE with VALUE as the big-endian number of SIZE bytes at OFFSET.
inline wire::Bytes with_field(wire::Bytes message, std::size_t offset, std::size_t size,
                              std::uint64_t value) {
    for (std::size_t index = size; index > 0; --index, value >>= 8)
        message.at(offset + index - 1) = static_cast<std::byte>(value & 0xff);
    return message;
}

inline std::uint64_t field_of(const wire::Bytes& message, std::size_t offset, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t index = 0; index < size; ++index)
        value = (value << 8) | std::to_integer<std::uint64_t>(message.at(offset + index));
    return value;
}

// Returns the size of the initial status and the response to the first request of BYTES. A refusal
// has the size of a success.
inline std::size_t size_of_first_answer(std::span<const std::byte> bytes) {
    const auto type = wire::request_type(bytes).value();
    return wire::initial_status_size + wire::encode_refusal(type, wire::Status::fatal).size();
}

// Returns OUTPUT with the initial status 0 in place of the hello.
inline wire::Bytes without_hello(std::span<const std::byte> output) {
    const std::size_t start = wire::initial_status_size;
    const auto status = output.first(std::min(output.size(), start));
    EXPECT_EQ(wire::decode_initial_status(status).value_or(-1), wire::hello_status);
    output = output.subspan(status.size());
    const auto size = wire::decode_hello_size(output, wire::hello_size);
    const auto hello = output.first(std::min(output.size(), size.value_or(0)));
    EXPECT_TRUE(wire::decode_hello(hello));
    return joined({wire::encode_initial_status(0),
                   wire::Bytes(output.begin() + std::ptrdiff_t(hello.size()), output.end())});
}

inline void expect_clean_end(const SessionEnd& end) {
    EXPECT_TRUE(end.ending.in_time) << "the daemon hangs";
    EXPECT_FALSE(end.ending.by_signal) << "signal " << end.ending.status << '\n'
                                       << end.ending.error_text;
    EXPECT_TRUE(end.ending.status == 0 || end.ending.status == 1)
        << "exit status " << end.ending.status << '\n'
        << end.ending.error_text;
    EXPECT_FALSE(end.log.empty()) << "nothing was logged";
}

class HostileTest : public testing::Test {
protected:
    // A session over tcp is confined. No input may make the daemon use a system call that the
    // confinement denies.
    ~HostileTest() override {
        EXPECT_EQ(directory_.read_log().find("confinement: denied"), std::string::npos)
            << directory_.read_log();
    }

    // Sends BYTES to a new daemon and waits for its end. Checks that the daemon exits in time with
    // status 0 or 1, that its output is the initial status 0 (or a hello, if it was offered) and
    // complete responses, and that the parts are unchanged.
    SessionEnd session(std::span<const std::byte> bytes, Input input = Input::closed) {
        SessionEnd end = session_that_may_write(bytes, input);
        EXPECT_EQ(directory_.damage(), "");
        return end;
    }

    // Like session(), but does not compare the contents of the parts.
    SessionEnd session_that_may_write(std::span<const std::byte> bytes, Input input) {
        directory_.remove_log();
        SessionEnd end;
        {
            DaemonProcess daemon = started();
            (void)daemon.send(bytes); // it may have ended before it read everything
            wire::Bytes output;
            if (input == Input::closed_after_first_answer)
                output = daemon.receive(size_of_first_answer(bytes));
            if (input != Input::left_open)
                daemon.close_input();
            end.ending = daemon.wait();
            end.ending.output.insert(end.ending.output.begin(), output.begin(), output.end());
        }
        end.log = directory_.read_log();
        end.responses = parse_output(offer_ ? without_hello(end.ending.output) : end.ending.output);
        expect_clean_end(end);
        EXPECT_EQ(directory_.locked_part(), "");
        return end;
    }

    // Expects that the last response is this refusal, and that the log contains LOGGED.
    static void expect_refusal(const SessionEnd& end, wire::MessageType request,
                               wire::Status status, int exit_status, const std::string& logged) {
        ASSERT_FALSE(end.responses.empty()) << "no response\n" << end.log;
        EXPECT_EQ(end.responses.back().type, wire::response_to(request));
        EXPECT_EQ(end.responses.back().status, status) << end.log;
        EXPECT_EQ(end.ending.status, exit_status);
        EXPECT_TRUE(test::contains(end.log, logged));
    }
    // Expects no response, the exit status 1, and LOGGED in the log.
    static void expect_hang_up(const SessionEnd& end, const std::string& logged) {
        EXPECT_TRUE(end.responses.empty());
        EXPECT_EQ(end.ending.status, 1);
        EXPECT_TRUE(test::contains(end.log, logged));
    }
    // Expects that the request succeeded. The exit status is 1, because CLOSE was not sent.
    static void expect_granted(const SessionEnd& end, wire::MessageType request) {
        ASSERT_EQ(end.responses.size(), 1U) << end.log;
        EXPECT_EQ(end.responses[0].type, wire::response_to(request));
        EXPECT_EQ(end.responses[0].status, wire::Status::success) << end.log;
        EXPECT_EQ(end.ending.status, 1);
    }

    // Returns the responses in OUTPUT. Fails the test if it contains anything else.
    static std::vector<Response> parse_output(std::span<const std::byte> output) {
        std::vector<Response> responses;
        const auto ready = output.first(std::min(output.size(), wire::initial_status_size));
        EXPECT_EQ(wire::decode_initial_status(ready).value_or(-1), 0);
        output = output.subspan(ready.size());
        while (output.size() >= wire::response_header_size) {
            const wire::Bytes header(output.begin(), output.begin() + wire::response_header_size);
            const wire::MessageType type{static_cast<std::uint32_t>(field_of(header, 4, 4))};
            const auto decoded = wire::decode_response_header(header, type);
            if (!decoded || decoded->size > output.size()) {
                ADD_FAILURE() << "malformed response of type " << static_cast<unsigned>(type);
                return responses;
            }
            const auto body = output.subspan(wire::response_header_size,
                                             decoded->size - wire::response_header_size);
            const bool empty =
                std::ranges::all_of(body, [](std::byte byte) { return byte == std::byte{}; });
            EXPECT_TRUE(decoded->status == wire::Status::success || empty)
                << "a refusal with contents";
            responses.push_back({type, decoded->status});
            output = output.subspan(decoded->size);
        }
        EXPECT_EQ(output.size(), 0U) << "bytes after the last response";
        return responses;
    }

    // Starts a daemon like sshd does.
    [[nodiscard]] DaemonProcess started(const std::vector<std::string>& variables = {}) const {
        return {directory_.daemon_arguments(), directory_.path(), loopback_connection, offer_,
                variables};
    }
    // Expects that the daemon exited in time with STATUS.
    static void expect_status(const Ending& ending, int status) {
        EXPECT_TRUE(ending.in_time) << "the daemon hangs";
        EXPECT_FALSE(ending.by_signal) << "signal " << ending.status << '\n' << ending.error_text;
        EXPECT_EQ(ending.status, status) << ending.error_text;
    }

    PoolDirectory directory_;
    std::optional<std::string> offer_; // the value of RPMEMD_OFFER
};

} // namespace rpmem::hostile
