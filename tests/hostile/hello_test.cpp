// SPDX-License-Identifier: BSD-3-Clause
// Tests the real daemon with malformed, truncated and unusual answers to its hello, each followed
// by a valid CREATE or OPEN. The test fails if that request is handled after a malformed answer,
// if a valid answer of a later version is refused, if the daemon waits for more than the answer, or
// if two sessions have the same secret.
#include "common/wire/hello.hpp"
#include "tests/hostile/hostile_session.hpp"
#include "tests/support/thoroughness.hpp"

#include <set>

namespace rpmem::hostile {
namespace {

using wire::MessageType;

constexpr std::size_t version_offset = 4;
constexpr std::size_t capabilities_offset = 8;

// Without LOGIN, which takeover_test.cpp tests.
constexpr std::uint64_t taken = wire::all_capabilities & ~wire::capability_resume;

wire::Bytes good_answer() { return encode(wire::HelloAnswer{1, taken}); }

// Returns an answer of SIZE bytes, as a later version may send it.
wire::Bytes longer_answer(std::size_t size) {
    wire::Bytes answer = with_field(good_answer(), 0, wire::hello_size_field, size);
    answer.resize(size, std::byte{9});
    return answer;
}

class HelloAnswers : public HostileTest {
protected:
    HelloAnswers() { offer_ = wire::offer_value; }

    // Expects that the daemon ends at once, whether its input was closed or not.
    void expect_no_session(const wire::Bytes& answer, const std::string& logged) {
        for (const Input input : {Input::closed, Input::left_open})
            expect_hang_up(session(joined({answer, encode(create_request())}), input), logged);
    }

    void expect_session(const wire::Bytes& answer) {
        expect_granted(session(joined({answer, encode(open_request())})), MessageType::open);
    }
};

TEST_F(HelloAnswers, GoodOnesBeginASession) {
    expect_session(good_answer());
    expect_session(encode(wire::HelloAnswer{1, wire::capability_lane_frames}));
}

// A client that knows the secret of one session must not know that of another.
TEST_F(HelloAnswers, EachSessionHasASecretOfItsOwn) {
    std::set<wire::SessionSecret> secrets{wire::SessionSecret{}};
    for (int i = 0; i < 3; ++i) {
        const Ending end = session(good_answer()).ending;
        const auto said = std::span(end.output).subspan(wire::initial_status_size);
        const auto size =
            test::value_of(wire::decode_hello_size(said.first(wire::hello_size_field), 0));
        const auto hello = test::value_of(wire::decode_hello(said.first(size)));
        EXPECT_TRUE(secrets.insert(hello.secret).second);
    }
}

TEST_F(HelloAnswers, EndAtEveryByte) {
    const wire::Bytes answer = good_answer();
    for (std::size_t length = 0; length < answer.size(); length += every_case) {
        SCOPED_TRACE(length);
        const auto end = session(std::span(answer).first(length));
        expect_hang_up(end, length < wire::hello_size_field
                                ? fmt::format("it has {} bytes; its size field alone has 4", length)
                                : fmt::format("its size field is 16, but it has {} bytes", length));
        if (HasFailure()) // one failure is enough
            return;
    }
}

TEST_F(HelloAnswers, EndBeforeTheSizeThatTheyAnnounce) {
    const wire::Bytes answer = longer_answer(wire::max_hello_size);
    for (const std::size_t length : {std::size_t{16}, std::size_t{17}, answer.size() - 1})
        expect_hang_up(session(std::span(answer).first(length)),
                       fmt::format("its size field is 1024, but it has {} bytes", length));
}

TEST_F(HelloAnswers, SizesOutOfBounds) {
    for (const std::uint32_t size : {0U, 1U, 15U, 1025U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
        SCOPED_TRACE(size);
        expect_no_session(with_field(good_answer(), 0, wire::hello_size_field, size),
                          fmt::format("its size is {}; 16 to 1024 are allowed", size));
    }
}

TEST_F(HelloAnswers, Versions) {
    expect_no_session(with_field(good_answer(), version_offset, 2, 0),
                      "the version of its answer is 0");
    for (const std::uint16_t later : {std::uint16_t{2}, std::uint16_t{0xffff}})
        expect_session(with_field(good_answer(), version_offset, 2, later));
}

// The daemon ignores capabilities that it did not offer.
TEST_F(HelloAnswers, CapabilitiesThatWereNotOffered) {
    for (const std::uint64_t more :
         {std::uint64_t{1} << 40, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        SCOPED_TRACE(more);
        for (const std::uint64_t known : {wire::capability_lane_frames, taken})
            expect_session(with_field(good_answer(), capabilities_offset, 8,
                                      (more & ~wire::capability_resume) | known));
    }
}

// These bits had a meaning only in versions that were never released. They are ignored.
TEST_F(HelloAnswers, CapabilitiesThatThereWere) {
    for (const std::uint64_t bit : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
        SCOPED_TRACE(bit);
        expect_session(encode(wire::HelloAnswer{1, bit | wire::capability_lane_frames}));
    }
}

// After a hello, lanes carry frames only.
TEST_F(HelloAnswers, WithoutLaneFramesThereIsNoSession) {
    expect_no_session(encode(wire::HelloAnswer{1, 0}), "capability 0x800 (lane frames)");
}

TEST_F(HelloAnswers, BytesOfLaterVersionsAreSkipped) {
    for (const std::size_t size : {std::size_t{17}, std::size_t{60}, wire::max_hello_size}) {
        SCOPED_TRACE(size);
        expect_session(longer_answer(size));
    }
}

// A peer of protocol 0.1 sends a request. The type of a request is not a valid size of an answer.
TEST_F(HelloAnswers, ARequestInTheirPlace) {
    expect_hang_up(session(encode(open_request())), "malformed hello");
    expect_hang_up(session(encode(create_request()), Input::left_open), "malformed hello");
}

// Only the value 1 requests a hello. Otherwise the daemon uses protocol 0.1.
TEST_F(HelloAnswers, OffersOfAnotherValueGetNoHello) {
    for (const char* value : {"", "0", "2", "11", "1 "}) {
        SCOPED_TRACE(value);
        DaemonProcess daemon(directory_.daemon_arguments(), directory_.path(), loopback_connection,
                             value);
        EXPECT_EQ(
            wire::decode_initial_status(daemon.receive(wire::initial_status_size)).value_or(-1), 0);
        daemon.close_input();
        EXPECT_TRUE(daemon.wait().output.empty());
    }
}

} // namespace
} // namespace rpmem::hostile
