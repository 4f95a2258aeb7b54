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
        const wire::MessageRules messages =
            agree_on_messages(std::nullopt, 4, suggested, TargetBuffers::one_each);
        EXPECT_EQ(messages.inline_size, 8192U);
        EXPECT_EQ(messages.in_flight, 1U);
    }
}

TEST(Messages, TheSuggestedSizeIsTakenInWholeCacheLines) {
    const auto hello = hello_of(32, 65536);
    EXPECT_EQ(agree_on_messages(hello, 1, 32768, TargetBuffers::one_each).inline_size, 32768U);
    EXPECT_EQ(agree_on_messages(hello, 1, 65536, TargetBuffers::one_each).inline_size, 65536U);
    EXPECT_EQ(agree_on_messages(hello, 1, 64, TargetBuffers::one_each).inline_size, 64U);
    EXPECT_EQ(agree_on_messages(hello, 1, 200, TargetBuffers::one_each).inline_size, 192U);
}

TEST(Messages, LittleMemoryIsPinned) {
    const auto hello = hello_of(32, 262144);
    EXPECT_EQ(agree_on_messages(hello, 1, 262144, TargetBuffers::one_each).inline_size, 262144U);
    EXPECT_EQ(agree_on_messages(hello, 1, 262144, TargetBuffers::pinned).inline_size, 32768U);
    EXPECT_EQ(agree_on_messages(hello, 1, 4096, TargetBuffers::pinned).inline_size, 4096U);
}

TEST(Messages, TheTargetMayWantLess) {
    EXPECT_EQ(agree_on_messages(hello_of(32, 4096), 1, 65536, TargetBuffers::one_each).inline_size,
              4096U);
    // 1024 lanes of 32 messages: 2 KiB would be left for each, which is not worth it.
    EXPECT_EQ(
        agree_on_messages(hello_of(32, 65536), 1024, 65536, TargetBuffers::one_each).inline_size,
        8192U);
    EXPECT_EQ(
        agree_on_messages(hello_of(32, 65536), 1024, 1024, TargetBuffers::one_each).inline_size,
        1024U);
}

TEST(Messages, WhereATargetNeedsFewBuffersTheyAreLarge) {
    const auto hello = hello_of(32, 524288);
    constexpr auto few = TargetBuffers::few_large;
    EXPECT_EQ(agree_on_messages(hello, 1, 524288, few).inline_size, 524288U);
    EXPECT_EQ(agree_on_messages(hello, 256, 524288, few).inline_size, 524288U);
    // A daemon has 1 GiB for the four buffers of each lane.
    EXPECT_EQ(agree_on_messages(hello, 1024, 524288, few).inline_size, 262144U);
}

} // namespace
} // namespace rpmem
