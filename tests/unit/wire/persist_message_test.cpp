// What goes over a lane, byte by byte. Both ends have the same byte order; here that of x86-64.
#include "samples.hpp"
#include "wire/persist_message.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace rpmem::wire {
namespace {

class PersistMessages : public testing::Test {
protected:
    void SetUp() override {
        if (std::endian::native != std::endian::little)
            GTEST_SKIP() << "these are the bytes of another byte order";
    }

    template <typename Message>
    static std::string bytes_of(const Message& message) {
        return samples::hex(std::as_bytes(std::span(&message, 1)));
    }

    // The modes as today's ends send them: persist_written, deep_persist, inline_data, fetch.
    static PersistMessage message(PersistMode mode, std::uint32_t bits = 0) {
        return {static_cast<std::uint32_t>(mode) | bits, 0x01020304, 0x1112131415161718,
                0x2122232425262728};
    }
};

constexpr const char* golden_rest = "04030201"          // lane
                                    "1817161514131211"  // address
                                    "2827262524232221"; // size

TEST_F(PersistMessages, GoldenBytesOfEveryMode) {
    const std::string rest = golden_rest;
    EXPECT_EQ(bytes_of(message(PersistMode::persist_written)), "00000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::deep_persist)), "01000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::inline_data)), "02000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::fetch)), "03000000" + rest);
}

TEST_F(PersistMessages, GoldenBytesOfThoseWhoseAnswerMayWait) {
    const std::string rest = golden_rest;
    EXPECT_EQ(bytes_of(message(PersistMode::persist_written, answer_may_wait)), "04000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::deep_persist, answer_may_wait)), "05000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::inline_data, answer_may_wait)), "06000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::fetch, answer_may_wait)), "07000000" + rest);
}

TEST_F(PersistMessages, GoldenBytesOfFetchesIntoEachWindow) {
    const std::string rest = golden_rest;
    EXPECT_EQ(bytes_of(message(PersistMode::fetch, 1U << window_shift)), "0b000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::fetch, 2U << window_shift)), "13000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::fetch, 3U << window_shift)), "1b000000" + rest);
}

TEST_F(PersistMessages, GoldenBytesOfThoseThatTellAProcessor) {
    const std::string rest = golden_rest;
    const auto of = [](std::uint32_t number) {
        return bytes_of(message(PersistMode::inline_data, number << processor_shift));
    };
    EXPECT_EQ(of(0), "02000000" + rest);
    EXPECT_EQ(of(1), "02000100" + rest);
    EXPECT_EQ(of(0x304), "02000403" + rest);
    EXPECT_EQ(of(most_processors), "0200ffff" + rest);
}

TEST_F(PersistMessages, GoldenBytesOfThoseThatOthersFollow) {
    const std::string rest = golden_rest;
    EXPECT_EQ(bytes_of(message(PersistMode::inline_data, another_follows)), "22000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::inline_data, another_follows | answer_may_wait)),
              "26000000" + rest);
    EXPECT_EQ(size_among_others(0), 24U);
    EXPECT_EQ(size_among_others(1), 32U);
    EXPECT_EQ(size_among_others(8), 32U);
    EXPECT_EQ(size_among_others(9), 40U);
    EXPECT_EQ(size_among_others(4096), 4120U);
}

TEST_F(PersistMessages, SmallWindowsAreMore) {
    EXPECT_EQ(window_count(524288), 2U);
    EXPECT_EQ(window_count(32769), 2U);
    EXPECT_EQ(window_count(32768), 4U);
    EXPECT_EQ(window_count(64), 4U);
}

TEST_F(PersistMessages, TheModeIsInTheLowestBits) {
    EXPECT_EQ(persist_mode_mask, 3U);
    for (const auto mode : {PersistMode::persist_written, PersistMode::deep_persist,
                            PersistMode::inline_data, PersistMode::fetch}) {
        EXPECT_EQ(PersistMode{message(mode, answer_may_wait).flags & persist_mode_mask}, mode);
        EXPECT_EQ(message(mode).flags & answer_may_wait, 0U);
    }
}

TEST_F(PersistMessages, GoldenBytesOfResponses) {
    EXPECT_EQ(bytes_of(PersistResponse{0, 0x01020304}), "0000000004030201");
    EXPECT_EQ(bytes_of(PersistResponse{1, 0x01020304}), "0100000004030201"); // answers one
    EXPECT_EQ(bytes_of(PersistResponse{32, 0x01020304}), "2000000004030201");
}

} // namespace
} // namespace rpmem::wire
