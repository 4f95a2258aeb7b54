// The end of the input at every byte of every message.
#include "tests/hostile/hostile_session.hpp"
#include "tests/support/thoroughness.hpp"

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
            else if (length < sizeof(std::uint32_t)) // nobody to answer to
                expect_hang_up(end, "ended within the header");
            else if (length < wire::request_header_size)
                expect_refusal(end, type, Status::bad_protocol, 1, "ended within the header");
            else
                expect_refusal(
                    end, type, Status::bad_protocol, 1,
                    fmt::format("{} bytes was announced, and {} came", message.size(), length));
            if (HasFailure()) // one is enough to look at
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

TEST_F(Truncation, SetAttributesOfAnOpenPool) {
    const auto open = encode(open_request());
    const auto message = joined({open, encode(wire::SetAttributesRequest{test_attributes()})});
    for (const std::size_t length : {open.size() + 11, open.size() + 12, message.size() - 1}) {
        const auto end = session(std::span(message).first(length));
        EXPECT_EQ(end.responses.size(), 2U);
        expect_refusal(end, MessageType::set_attributes, Status::bad_protocol, 1, "malformed");
    }
}

TEST_F(Truncation, WholeCreateWithoutCloseRemovesThePoolAgain) {
    expect_granted(session(encode(create_request()), Input::closed_after_first_answer),
                   MessageType::create);
}

// The daemon may have seen the end before, while or after it made the parts.
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

TEST_F(Truncation, WholeOpenWithoutCloseLeavesThePoolAsItWas) {
    expect_granted(session(encode(open_request())), MessageType::open);
}

} // namespace
} // namespace rpmem::hostile
