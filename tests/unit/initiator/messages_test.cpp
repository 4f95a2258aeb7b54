#include "lanes/inline_transfer.hpp"
#include "lanes/messages.hpp"

#include <gtest/gtest.h>

#include <limits>

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

TEST(Messages, LanesHaveSeveralWindowsWhereTheTargetKnowsThem) {
    auto hello = hello_of(32, 65536);
    EXPECT_EQ(agree_on_messages(hello, 1, 65536, TargetBuffers::one_each).windows, 1U);
    hello.capabilities |= wire::capability_windows;
    EXPECT_EQ(agree_on_messages(hello, 1, 65536, TargetBuffers::one_each).windows, 2U);
    EXPECT_EQ(agree_on_messages(hello, 1, 65536, TargetBuffers::pinned).windows, 4U);
    hello.capabilities = wire::capability_windows; // without pipelining
    EXPECT_EQ(agree_on_messages(hello, 1, 65536, TargetBuffers::pinned).windows, 1U);
}

TEST(Messages, FlagsAreForTargetsThatKnowThem) {
    for (const auto& [capability, rule] :
         {std::pair{wire::capability_late_answers, &wire::MessageRules::late_answers},
          std::pair{wire::capability_processors, &wire::MessageRules::processors},
          std::pair{wire::capability_gathering, &wire::MessageRules::gathering}}) {
        SCOPED_TRACE(capability);
        auto hello = hello_of(32, 65536);
        EXPECT_FALSE(agree_on_messages(hello, 1, 65536, TargetBuffers::one_each).*rule);
        hello.capabilities |= capability;
        EXPECT_TRUE(agree_on_messages(hello, 1, 65536, TargetBuffers::one_each).*rule);
        hello.capabilities = capability; // without pipelining
        EXPECT_FALSE(agree_on_messages(hello, 1, 65536, TargetBuffers::one_each).*rule);
    }
}

TEST(Messages, SmallRangesAreGatheredInOnePacket) {
    using fabric::ProviderKind;
    wire::MessageRules rules{524288, 32, true, true};
    EXPECT_EQ(gathered_size(rules, ProviderKind::tcp), 0U);
    rules.gathering = true;
    EXPECT_EQ(gathered_size(rules, ProviderKind::tcp), 65280U);
    EXPECT_EQ(gathered_size(rules, ProviderKind::verbs), 0U);
    rules.inline_size = 8192;
    EXPECT_EQ(gathered_size(rules, ProviderKind::tcp), 8192U);
    rules.inline_size = 8184;
    EXPECT_EQ(gathered_size(rules, ProviderKind::tcp), 0U);
}

TEST(Messages, WhatTheTargetHasForThem) {
    fabric::Provider provider{};
    EXPECT_EQ(buffers_behind(provider), TargetBuffers::one_each);
    provider.holds_back_messages = true;
    EXPECT_EQ(buffers_behind(provider), TargetBuffers::few_large);
    provider.pins_memory = true;
    EXPECT_EQ(buffers_behind(provider), TargetBuffers::pinned);
}

TEST(Messages, WhichRangesTheyCarry) {
    constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
    using fabric::ProviderKind;
    const wire::MessageRules rules{524288, 32, true, true};
    EXPECT_EQ(inline_worth(rules, false), any);
    EXPECT_EQ(inline_worth(rules, true), 4096U);
    EXPECT_EQ(strict_inline(rules, ProviderKind::tcp), any);
    EXPECT_EQ(strict_inline(rules, ProviderKind::verbs), any);
    const wire::MessageRules old{8192, 1, false, false};
    EXPECT_EQ(inline_worth(old, false), 0U);
    EXPECT_EQ(strict_inline(old, ProviderKind::verbs), any);
    EXPECT_EQ(strict_inline(old, ProviderKind::sockets), 8192U);
}

TEST(Messages, AnswersAreAskedForInEachHalfOfTheMessagesInFlight) {
    const wire::MessageRules rules{524288, 32, true, true};
    for (std::uint64_t number = 1; number <= 64; ++number)
        EXPECT_EQ(answer_can_wait(rules, number, 64), number % 16 != 0) << number;
    EXPECT_FALSE(answer_can_wait({524288, 32, true, false}, 1, 64));
    EXPECT_FALSE(answer_can_wait({524288, 3, true, true}, 1, 64));
}

// On a slow network 16 messages of 512 KiB take so long that the session would seem to be lost.
TEST(Messages, AnswersAreAskedForInEachMebibyte) {
    const wire::MessageRules rules{524288, 32, true, true};
    EXPECT_TRUE(answer_can_wait(rules, 1, 524288));
    EXPECT_FALSE(answer_can_wait(rules, 2, 2 * 524288));
}

TEST(Messages, FewPiecesOfEachRange) {
    constexpr std::size_t kibibyte = 1024;
    EXPECT_EQ(piece_of(64, 512 * kibibyte), 512 * kibibyte);
    EXPECT_EQ(piece_of(63 * kibibyte, 512 * kibibyte), 512 * kibibyte);
    EXPECT_EQ(piece_of(64 * kibibyte, 512 * kibibyte), 32 * kibibyte);
    EXPECT_EQ(piece_of(64 * kibibyte + 1, 512 * kibibyte), 512 * kibibyte);
    EXPECT_EQ(piece_of(64 * kibibyte, 8 * kibibyte), 8 * kibibyte);
    EXPECT_EQ(piece_of(1024 * kibibyte, 8 * kibibyte), 8 * kibibyte);
}

} // namespace
} // namespace rpmem
