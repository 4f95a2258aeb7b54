// What goes over a lane, byte by byte. Both ends have the same byte order; here that of x86-64.
#include "common/wire/persist_message.hpp"
#include "tests/unit/wire/samples.hpp"

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

    static PersistMessage message(PersistMode mode) {
        return {static_cast<std::uint32_t>(mode), 0x01020304, 0x1112131415161718,
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
}

TEST_F(PersistMessages, TheModeIsInTheLowestBits) {
    EXPECT_EQ(persist_mode_mask, 3U);
    for (const auto mode :
         {PersistMode::persist_written, PersistMode::deep_persist, PersistMode::inline_data})
        EXPECT_EQ(PersistMode{message(mode).flags & persist_mode_mask}, mode);
}

TEST_F(PersistMessages, GoldenBytesOfResponses) {
    EXPECT_EQ(bytes_of(PersistResponse{0, 0x01020304}), "0000000004030201");
    EXPECT_EQ(bytes_of(PersistResponse{2, 0x01020304}), "0200000004030201");
}

} // namespace
} // namespace rpmem::wire
