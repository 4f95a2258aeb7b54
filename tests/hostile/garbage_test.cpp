// Random bytes, always the same ones.
#include "tests/hostile/hostile_session.hpp"
#include "tests/support/thoroughness.hpp"

#include <algorithm>
#include <random>

namespace rpmem::hostile {
namespace {

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

// A good header of each type, noise of the right size behind it.
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

// A few bytes of a good message changed: granted, refused or malformed, but never half of it.
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
