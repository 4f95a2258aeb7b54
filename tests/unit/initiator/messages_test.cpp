#include "lanes/messages.hpp"

#include <gtest/gtest.h>

namespace rpmem {
namespace {

wire::Hello hello_of(std::uint32_t messages, std::uint32_t inline_size) {
    wire::Hello hello;
    hello.capabilities = wire::capability_pipelining;
    hello.messages = messages;
    hello.inline_size = inline_size;
    return hello;
}

TEST(Messages, AnOldTargetGetsWhatItKnows) {
    for (const std::size_t suggested : {64U, 8192U, 65536U}) {
        const wire::MessageRules messages = agree_on_messages(std::nullopt, 4, suggested, false);
        EXPECT_EQ(messages.inline_size, 8192U);
        EXPECT_EQ(messages.in_flight, 1U);
    }
}

TEST(Messages, TheSuggestedSizeIsTakenInWholeCacheLines) {
    const auto hello = hello_of(32, 65536);
    EXPECT_EQ(agree_on_messages(hello, 1, 32768, false).inline_size, 32768U);
    EXPECT_EQ(agree_on_messages(hello, 1, 65536, false).inline_size, 65536U);
    EXPECT_EQ(agree_on_messages(hello, 1, 64, false).inline_size, 64U);
    EXPECT_EQ(agree_on_messages(hello, 1, 200, false).inline_size, 192U);
}

TEST(Messages, LittleMemoryIsPinned) {
    const auto hello = hello_of(32, 262144);
    EXPECT_EQ(agree_on_messages(hello, 1, 262144, false).inline_size, 262144U);
    EXPECT_EQ(agree_on_messages(hello, 1, 262144, true).inline_size, 32768U);
    EXPECT_EQ(agree_on_messages(hello, 1, 4096, true).inline_size, 4096U);
}

TEST(Messages, TheTargetMayWantLess) {
    EXPECT_EQ(agree_on_messages(hello_of(32, 4096), 1, 65536, false).inline_size, 4096U);
    // 1024 lanes of 32 messages: 2 KiB would be left for each, which is not worth it.
    EXPECT_EQ(agree_on_messages(hello_of(32, 65536), 1024, 65536, false).inline_size, 8192U);
    EXPECT_EQ(agree_on_messages(hello_of(32, 65536), 1024, 1024, false).inline_size, 1024U);
}

} // namespace
} // namespace rpmem
