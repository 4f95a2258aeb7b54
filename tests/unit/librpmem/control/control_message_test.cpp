// SPDX-License-Identifier: BSD-3-Clause
// Tests the messages between rpmemctl and a program that it steers. Each message is encoded,
// changed in one field, and decoded. The test fails if a field is lost on the way, or if a request
// that no rpmemctl would send reaches the pool.
#include "librpmem/control/control_message.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::initiator {
namespace {

using test::failed;
using test::succeeded;

constexpr std::size_t version_at = 8;
constexpr std::size_t verb_at = 12;
constexpr std::size_t text_at = 24;

const ControlRequest sample{.verb = ControlVerb::rate, .rate = 1000000, .pool = "me@host:a.set"};

std::vector<std::byte> changed(std::size_t at, int value) {
    auto bytes = encode(sample);
    bytes.at(at) = std::byte(value);
    return bytes;
}

TEST(ControlMessage, ARequestArrivesAsItWasSent) {
    for (const ControlRequest& request : {sample, ControlRequest{ControlVerb::pause, 0, "t:p"},
                                          ControlRequest{ControlVerb::resume, 0, ""},
                                          ControlRequest{ControlVerb::rate, 0, "t:p"}}) {
        const auto bytes = encode(request);
        EXPECT_EQ(bytes.size(), control_request_size);
        EXPECT_EQ(test::value_of(decode_control_request(bytes)), request);
    }
}

TEST(ControlMessage, AnAnswerArrivesAsItWasSent) {
    const auto bytes = encode(ControlAnswer{EIO, "the medium has failed"});
    EXPECT_EQ(bytes.size(), control_answer_size);
    const auto answer = test::value_of(decode_control_answer(bytes));
    EXPECT_EQ(answer.code, std::uint32_t{EIO});
    EXPECT_EQ(answer.text, "the medium has failed");
    const auto cut = encode(ControlAnswer{EIO, std::string(5000, 'x')});
    EXPECT_EQ(test::value_of(decode_control_answer(cut)).text, std::string(1023, 'x'));
}

TEST(ControlMessage, MalformedRequestsAreRefused) {
    EXPECT_TRUE(failed(decode_control_request({}), EBADMSG, "0 bytes"));
    auto bytes = encode(sample);
    bytes.pop_back();
    EXPECT_TRUE(failed(decode_control_request(bytes), EBADMSG, "535 bytes, expected 536"));
    bytes.resize(control_request_size + 1);
    EXPECT_TRUE(failed(decode_control_request(bytes), EBADMSG, "537 bytes"));
    EXPECT_TRUE(failed(decode_control_request(changed(0, 'x')), EBADMSG, "does not begin with"));
    EXPECT_TRUE(failed(decode_control_request(changed(version_at + 3, 2)), EPROTONOSUPPORT,
                       "version 2, expected 1"));
    EXPECT_TRUE(failed(decode_control_request(changed(verb_at + 3, 3)), EBADMSG, "verb 3"));
    EXPECT_TRUE(
        failed(decode_control_request(changed(control_request_size - 1, 'x')), EBADMSG, "NULs"));
    EXPECT_TRUE(failed(decode_control_answer(encode(sample)), EBADMSG, "does not begin with"));
}

TEST(ControlMessage, RatesOutOfRangeAreRefused) {
    const auto decoded = [](ControlVerb verb, std::uint64_t rate) {
        return decode_control_request(encode(ControlRequest{verb, rate, "t:p"}));
    };
    EXPECT_TRUE(succeeded(decoded(ControlVerb::rate, 65536)));
    EXPECT_TRUE(succeeded(decoded(ControlVerb::rate, 1000000000000)));
    EXPECT_TRUE(failed(decoded(ControlVerb::rate, 65535), EBADMSG, "65535 bytes/s"));
    EXPECT_TRUE(failed(decoded(ControlVerb::rate, 1000000000001), EBADMSG, "out of range"));
    EXPECT_TRUE(failed(decoded(ControlVerb::pause, 65536), EBADMSG, "out of range"));
}

// A text that fills its field has no end.
TEST(ControlMessage, ANameWithoutAnEndIsRefused) {
    auto bytes = encode(sample);
    std::fill(bytes.begin() + text_at, bytes.end(), std::byte{'x'});
    EXPECT_TRUE(failed(decode_control_request(bytes), EBADMSG, "name of the pool"));
}

} // namespace
} // namespace rpmem::initiator
