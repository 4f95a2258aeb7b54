// SPDX-License-Identifier: BSD-3-Clause
// Tests the real daemon with requests whose input ends after any number of bytes, and with random
// or damaged bytes from a fixed seed. The test fails if the daemon hangs or crashes, grants an
// incomplete request, does not refuse one whose type has arrived, or changes a part.
#include "tests/hostile/hostile_session.hpp"
#include "tests/support/thoroughness.hpp"

#include <random>

namespace rpmem::hostile {
namespace {

using wire::MessageType;
using wire::Status;

class Truncation : public HostileTest {
protected:
    void cut_everywhere(MessageType type, const wire::Bytes& message, std::size_t step = 1) {
        for (std::size_t length = 0; length < message.size(); length += step * every_case) {
            SCOPED_TRACE(fmt::format("{} of {} bytes", length, message.size()));
            const auto end = session(std::span(message).first(length));
            if (length == 0)
                expect_hang_up(end, "without CLOSE");
            else if (length < sizeof(std::uint32_t)) // without a type there is no response
                expect_hang_up(end, fmt::format("{} of 12 bytes of its header arrived", length));
            else if (length < wire::request_header_size)
                expect_refusal(end, type, Status::bad_protocol, 1,
                               fmt::format("{} of 12 bytes of its header arrived", length));
            else
                expect_refusal(end, type, Status::bad_protocol, 1,
                               fmt::format("{} bytes was announced, but only {} arrived",
                                           message.size(), length));
            if (HasFailure()) // one failure is enough
                return;
        }
    }
};

TEST_F(Truncation, Create) { cut_everywhere(MessageType::create, encode(create_request())); }
TEST_F(Truncation, Open) { cut_everywhere(MessageType::open, encode(open_request())); }
TEST_F(Truncation, Close) { cut_everywhere(MessageType::close, encode(wire::CloseRequest{})); }
TEST_F(Truncation, SetAttributes) {
    cut_everywhere(MessageType::set_attributes,
                   encode(wire::SetAttributesRequest{test_attributes()}), 5);
}

TEST_F(Truncation, SetReplicaState) {
    cut_everywhere(MessageType::set_replica_state,
                   encode(wire::SetReplicaStateRequest{wire::ReplicaState::in_sync}));
}

TEST_F(Truncation, SetAttributesOfAnOpenPool) {
    const auto open = encode(open_request());
    const auto message = joined({open, encode(wire::SetAttributesRequest{test_attributes()})});
    for (const std::size_t length : {open.size() + 11, open.size() + 12, message.size() - 1}) {
        const auto end = session(std::span(message).first(length));
        EXPECT_EQ(end.responses.size(), 2U);
        expect_refusal(end, MessageType::set_attributes, Status::bad_protocol, 1, "malformed");
    }
}

// The daemon may notice the end before, while or after it creates the parts.
TEST_F(Truncation, InputThatEndsWithCreateLeavesNothing) {
    auto plain = create_request(plain_pool);
    plain.attributes = {};
    for (const auto& create : {create_request(), create_request(blank_pool), plain}) {
        SCOPED_TRACE(create.pool_set);
        const auto end = session(encode(create));
        ASSERT_EQ(end.responses.size(), 1U) << end.log;
        const bool granted = end.responses[0].status == Status::success;
        EXPECT_TRUE(granted || end.responses[0].status == Status::fatal) << end.log;
        EXPECT_EQ(end.ending.status, granted ? 1 : 0) << end.log;
    }
}

class Garbage : public HostileTest {
protected:
    wire::Bytes random_bytes(std::size_t size) {
        wire::Bytes bytes(size);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random_() & 0xff);
        return bytes;
    }

    std::mt19937_64 random_{20240229};
};

TEST_F(Garbage, OnlyNoise) {
    for (std::size_t round = 0; round < 60; round += every_case) {
        SCOPED_TRACE(round);
        const auto end = session(random_bytes(1 + random_() % 4096));
        EXPECT_EQ(end.ending.status, 1);
        EXPECT_TRUE(end.responses.empty());
        if (HasFailure())
            return;
    }
}

TEST_F(Garbage, MoreThanAPipeHolds) {
    const auto end = session(random_bytes(1024 * 1024), Input::left_open);
    EXPECT_EQ(end.ending.status, 1);
}

// A valid header of each type, followed by random bytes of the right size.
TEST_F(Garbage, NoiseBehindAGoodHeader) {
    const std::pair<wire::MessageType, wire::Bytes> messages[] = {
        {wire::MessageType::create, encode(create_request())},
        {wire::MessageType::open, encode(open_request())},
        {wire::MessageType::set_attributes, encode(wire::SetAttributesRequest{test_attributes()})}};
    for (std::size_t round = 0; round < 60; round += every_case) {
        SCOPED_TRACE(round);
        const auto& [type, good] = messages[round % 3];
        auto message = random_bytes(good.size());
        std::copy_n(good.begin(), wire::request_header_size, message.begin());
        const auto end = session(message);
        expect_refusal(end, type, wire::Status::bad_protocol, 1, "");
        if (HasFailure())
            return;
    }
}

// A message with a few random bytes may be granted, refused or malformed. It gets at most one
// response, and no part may change.
TEST_F(Garbage, GoodMessagesWithAFewBytesChanged) {
    const wire::Bytes messages[] = {encode(create_request()), encode(open_request())};
    for (std::size_t round = 0; round < 120; round += every_case) {
        SCOPED_TRACE(round);
        wire::Bytes message = messages[round % 2];
        for (auto changes = random_() % 3 + 1; changes > 0; --changes)
            message[random_() % message.size()] = static_cast<std::byte>(random_() & 0xff);
        const auto end = session(message);
        ASSERT_LE(end.responses.size(), 1U);
        const bool granted =
            !end.responses.empty() && end.responses[0].status == wire::Status::success;
        EXPECT_TRUE(!granted || end.ending.status == 1);
        if (HasFailure())
            return;
    }
}

} // namespace
} // namespace rpmem::hostile
