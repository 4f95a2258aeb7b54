// What two ends agree on, over the whole table of capabilities: both come to the same by it.
#include "common/wire/hello.hpp"

#include <gtest/gtest.h>

namespace rpmem::wire {
namespace {

Hello hello_of(std::uint64_t capabilities) {
    return {.capabilities = capabilities,
            .providers = 7,
            .lanes = 4,
            .addresses = {},
            .secret = {std::byte{2}}};
}

constexpr std::uint64_t all_known = all_capabilities | all_conditions;

// The bit that was sent by neither end gives nothing; each gives what its line in the table says.
TEST(Agreement, OverTheWholeTable) {
    for (std::uint64_t offered = 0; offered < 2 * condition_tls_required; ++offered) {
        if ((offered & ~all_known) != 0)
            continue;
        const Hello hello = hello_of(offered);
        const HelloAnswer answer = answer_to(hello);
        ASSERT_EQ(answer.capabilities, offered);
        const Agreement agreement = negotiate(hello, answer);
        const auto has = [offered](std::uint64_t bit) { return (offered & bit) != 0; };
        ASSERT_TRUE(agreement.knows_hello);
        ASSERT_EQ(agreement.lane_frames, has(capability_lane_frames));
        ASSERT_EQ(agreement.tls, has(capability_lane_frames) && has(capability_tls));
        ASSERT_EQ(agreement.medium_failure, has(capability_medium_failure));
        ASSERT_EQ(agreement.conditions, offered & all_conditions);
    }
}

TEST(Agreement, WhatIsNotOfferedCannotBeTaken) {
    for (const std::uint64_t taken : {all_capabilities, ~std::uint64_t{0}})
        EXPECT_EQ(negotiate(hello_of(0), {.capabilities = taken}),
                  negotiate(hello_of(0), {.capabilities = 0}));
}

TEST(Agreement, WhatIsNotTakenIsNotAgreedOn) {
    const Hello hello = hello_of(all_known);
    for (std::uint64_t bit = 1; bit <= condition_tls_required; bit <<= 1) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(negotiate(hello, {.capabilities = all_known & ~bit}),
                  negotiate(hello_of(all_known & ~(bit & all_capabilities)),
                            {.capabilities = all_known}));
    }
}

// Bits of later versions are left.
TEST(Agreement, AnInitiatorTakesWhatItKnows) {
    EXPECT_EQ(answer_to(hello_of(~std::uint64_t{0})).capabilities, all_known);
    EXPECT_EQ(answer_to(hello_of(all_known), {.tls = false}).capabilities,
              all_known & ~capability_tls);
}

TEST(Agreement, WithAPeerOfProtocol01ThereIsNothing) {
    const Agreement none;
    EXPECT_FALSE(none.knows_hello || none.lane_frames || none.tls || none.medium_failure);
}

} // namespace
} // namespace rpmem::wire
