// SPDX-License-Identifier: BSD-3-Clause
// Tests the hello, its answer, the data of a lane's connection request, and the negotiation of
// capabilities. Expected bytes are written by hand. The test fails if a byte moves, if a malformed
// or oversized hello is accepted, if a longer hello of a later version is refused, or if a
// capability takes effect that one end has not sent.
#include "common/wire/hello.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <new>

namespace rpmem::wire {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> result;
    for (const int value : values)
        result.push_back(static_cast<std::byte>(value));
    return result;
}

Token sample_token() {
    Token token;
    for (std::size_t i = 0; i < token.size(); ++i)
        token[i] = static_cast<std::byte>(0xa0 + i);
    return token;
}

const auto golden_hello = bytes({
    0, 0, 0, 48, 0, 1, 0, 0,   // size, version
    0, 0, 0, 0,  0, 0, 0, 128, // capabilities
    0, 0, 0, 7,  0, 0, 4, 0,   // providers, lanes
    0, 0, 0, 0,  0, 0, 0, 0,   // reserved
    0, 0, 0, 0,  0, 0, 0, 0,   //
    0, 0, 0, 0,  0, 0, 0, 0,   //
});
const auto golden_answer = bytes({0, 0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128});
const auto golden_greeting = bytes({0,    0,    1,    2,    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5,
                                    0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf});

TEST(Hello, GoldenBytes) {
    Hello hello;
    hello.capabilities = capability_medium_failure;
    hello.providers = provider_bit(1) | provider_bit(2) | provider_bit(3);
    hello.lanes = 1024;
    EXPECT_EQ(encode(hello), golden_hello);
    const auto back = test::value_of(decode_hello(golden_hello));
    EXPECT_EQ(encode(back), golden_hello);

    EXPECT_EQ(encode(HelloAnswer{1, capability_medium_failure}), golden_answer);
    const auto answer = test::value_of(decode_hello_answer(golden_answer));
    EXPECT_EQ(encode(answer), golden_answer);

    EXPECT_EQ(encode(LaneConnectData{258, sample_token()}), golden_greeting);
    const auto greeting = test::value_of(decode_lane_connect_data(golden_greeting));
    EXPECT_EQ(greeting.lane, 258U);
    EXPECT_EQ(greeting.token, sample_token());
    EXPECT_EQ(with_offer("rpmemd -x", OfferForm::variable), "export RPMEMD_OFFER=1; rpmemd -x");
    EXPECT_EQ(with_offer("rpmemd -x", OfferForm::option), "rpmemd -x --offer");
    EXPECT_EQ(hello_status, 0x52504d48);
}

// An offer of all capabilities, and the answer of an initiator that accepts all of them.
TEST(Hello, GoldenBytesOfAllCapabilities) {
    const auto golden_offer = bytes({
        0,    0,    0,    124,  0,    1,    0,    0,                            // size, version
        0,    0,    0,    0,    0,    3,    169,  128,                          // capabilities
        0,    0,    0,    7,    0,    0,    4,    0,                            // providers, lanes
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    // reserved
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    //
        0,    0,    0,    2,                                                    // addresses
        0,    0,    0,    4,    192,  0,    2,    7,    0,    0,    0,    0,    // 192.0.2.7
        0,    0,    0,    0,    0,    0,    0,    0,                            //
        0,    0,    0,    6,    0x20, 0x01, 0x0d, 0xb8, 0,    0,    0,    0,    // 2001:db8::9
        0,    0,    0,    0,    0,    0,    0,    9,                            //
        0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, // secret
        0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, //
        0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf,
    });
    SessionSecret secret;
    for (std::size_t i = 0; i < secret.size(); ++i)
        secret[i] = static_cast<std::byte>(0xc0 + i);
    const std::vector<HostAddress> addresses{*parse_address("192.0.2.7"),
                                             *parse_address("2001:db8::9")};
    const auto golden_taken = bytes({0, 0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 169, 128});
    EXPECT_EQ(capability_medium_failure, 128U);
    EXPECT_EQ(capability_addresses, 256U);
    EXPECT_EQ(capability_lane_frames, 2048U);
    EXPECT_EQ(capability_tls, 8192U);
    EXPECT_EQ(capability_resume, 32768U);
    EXPECT_EQ(capability_pool_claim, 65536U);
    EXPECT_EQ(capability_compare, 131072U);
    EXPECT_EQ(condition_tls_required, 16384U);
    EXPECT_EQ(encode(Hello{1, all_capabilities, 7, 1024, addresses, secret}), golden_offer);
    const auto offer = test::value_of(decode_hello(golden_offer));
    EXPECT_EQ(offer.capabilities, all_capabilities);
    EXPECT_EQ(offer.addresses, addresses);
    EXPECT_EQ(offer.secret, secret);
    EXPECT_EQ(encode(offer), golden_offer);

    EXPECT_EQ(encode(HelloAnswer{1, all_capabilities}), golden_taken);
    const auto taken = test::value_of(decode_hello_answer(golden_taken));
    EXPECT_EQ(taken.capabilities, all_capabilities);
}

TEST(Hello, ASecretOutOfScopeIsWiped) {
    alignas(Hello) std::array<std::byte, sizeof(Hello)> place;
    auto* const hello = new (place.data()) Hello();
    const auto offset = reinterpret_cast<std::byte*>(&hello->secret) - place.data();
    hello->secret.fill(std::byte{7});
    hello->~Hello();
    const auto left =
        std::span(place).subspan(static_cast<std::size_t>(offset), sizeof(SessionSecret));
    EXPECT_EQ(std::ranges::count(left, std::byte{7}), 0);
}

TEST(Hello, LongerOnesAreTheFuture) {
    auto longer = golden_hello;
    longer.resize(60, std::byte{9});
    longer[3] = std::byte{60};
    longer[5] = std::byte{2}; // version 2
    const auto hello = test::value_of(decode_hello(longer));
    EXPECT_EQ(hello.version, 2);
    EXPECT_EQ(hello.lanes, 1024U);
    auto padded = golden_greeting;
    padded.resize(56);
    EXPECT_TRUE(decode_lane_connect_data(padded));
}

TEST(Hello, EveryTruncationIsRefused) {
    for (std::size_t length = 0; length < golden_hello.size(); ++length) {
        EXPECT_TRUE(test::failed(decode_hello(std::span(golden_hello).first(length)), EBADMSG))
            << length;
    }
    for (std::size_t length = 0; length < golden_answer.size(); ++length)
        ASSERT_FALSE(decode_hello_answer(std::span(golden_answer).first(length))) << length;
    for (std::size_t length = 0; length < golden_greeting.size(); ++length)
        ASSERT_FALSE(decode_lane_connect_data(std::span(golden_greeting).first(length))) << length;
}

TEST(Hello, SizesAreBoundedBeforeAnythingIsRead) {
    for (const std::uint32_t size : {0U, 1U, 47U, 1025U, 0x7fffffffU, 0xffffffffU}) {
        std::vector<std::byte> field;
        for (int shift = 24; shift >= 0; shift -= 8)
            field.push_back(static_cast<std::byte>((size >> shift) & 0xff));
        EXPECT_FALSE(decode_hello_size(field, hello_size)) << size;
    }
    EXPECT_EQ(decode_hello_size(golden_hello, hello_size).value_or(0), 48U);
}

TEST(Hello, ZerosThatMakeNoSenseAreRefused) {
    for (const std::size_t last_byte : {5U, 22U}) { // version, lanes
        auto wrong = golden_hello;
        wrong[last_byte] = std::byte{0};
        EXPECT_FALSE(decode_hello(wrong)) << last_byte;
    }
    auto answer = golden_answer;
    answer[5] = std::byte{0};
    EXPECT_FALSE(decode_hello_answer(answer));
}

// The features that used these bytes were never released.
TEST(Hello, ReservedBytesMeanNothing) {
    for (std::size_t byte = 24; byte < 48; ++byte) {
        auto other = golden_hello;
        other[byte] = std::byte{0xff};
        const auto decoded = decode_hello(other);
        ASSERT_TRUE(decoded) << byte;
        EXPECT_EQ(encode(*decoded), golden_hello);
    }
}

TEST(Hello, AddressesAreBounded) {
    Hello hello{1, capability_addresses, 7, 1, {}};
    for (int i = 0; i < 20; ++i)
        hello.addresses.push_back(*parse_address("192.0.2." + std::to_string(i)));
    auto full = encode(hello);
    const auto decoded = test::value_of(decode_hello(full));
    ASSERT_EQ(decoded.addresses.size(), 8U);
    EXPECT_EQ(text_of(decoded.addresses[7]), "192.0.2.7");
    for (const std::size_t size : {48U, 51U, 52U, 71U, 211U}) {
        auto cut = full;
        cut.resize(size);
        cut[3] = static_cast<std::byte>(size);
        EXPECT_FALSE(decode_hello(cut)) << size;
    }
    for (const std::size_t byte : {48U, 49U, 50U}) { // the count
        auto wrong = full;
        wrong[byte] = std::byte{1};
        EXPECT_FALSE(decode_hello(wrong)) << byte;
    }
    full[51] = std::byte{9};
    EXPECT_FALSE(decode_hello(full));
    full[51] = std::byte{8};
    full[55] = std::byte{5}; // an unknown family, which is ignored
    EXPECT_EQ(decode_hello(full)->addresses.size(), 7U);
    full[14] = std::byte{0}; // without capability_addresses
    EXPECT_TRUE(decode_hello(full)->addresses.empty());
}

// The fuzz target hello found this: two equal IPv4 addresses compared as different.
TEST(Hello, WhatIsBehindAnAddressOfIpv4IsNotKept) {
    auto bytes = encode(Hello{1, capability_addresses, 7, 1, {*parse_address("192.0.2.7")}});
    bytes.back() = std::byte{1};
    const auto decoded = test::value_of(decode_hello(bytes));
    EXPECT_EQ(decoded.addresses, std::vector{*parse_address("192.0.2.7")});
}

TEST(Hello, ProvidersBeyondTheFieldHaveNoBit) {
    EXPECT_EQ(provider_bit(0), 0U);
    EXPECT_EQ(provider_bit(1), 1U);
    EXPECT_EQ(provider_bit(32), 0x80000000U);
    EXPECT_EQ(provider_bit(33), 0U);
    EXPECT_EQ(provider_bit(0xffffffffU), 0U);
}

Hello hello_of(std::uint64_t capabilities) {
    return {.capabilities = capabilities,
            .providers = 7,
            .lanes = 4,
            .addresses = {},
            .secret = {std::byte{2}}};
}

constexpr std::uint64_t all_known = all_capabilities | all_conditions;

// Returns the agreement for a hello with OFFERED and an answer with TAKEN.
Agreement agreed(std::uint64_t offered, std::uint64_t taken) {
    return test::value_of(negotiate(hello_of(offered), {.capabilities = taken}));
}

TEST(Agreement, OverTheWholeTable) {
    for (std::uint64_t offered = 0; offered < 2 * capability_compare; ++offered) {
        if ((offered & ~all_known) != 0)
            continue;
        const Hello hello = hello_of(offered);
        const HelloAnswer answer = answer_to(hello);
        ASSERT_EQ(answer.capabilities, offered);
        const auto agreement = negotiate(hello, answer);
        const auto has = [offered](std::uint64_t bit) { return (offered & bit) != 0; };
        if (!has(capability_lane_frames)) {
            ASSERT_TRUE(test::failed(agreement, EPROTO, "0x800"));
            continue;
        }
        ASSERT_TRUE(agreement->lane_frames);
        ASSERT_EQ(agreement->tls, has(capability_tls));
        ASSERT_EQ(agreement->medium_failure, has(capability_medium_failure));
        ASSERT_EQ(agreement->resume, has(capability_resume));
        ASSERT_EQ(agreement->pool_claim, agreement->resume && has(capability_pool_claim));
        ASSERT_EQ(agreement->compare, agreement->resume && has(capability_compare));
        ASSERT_EQ(agreement->conditions, offered & all_conditions);
    }
}

TEST(Agreement, WhatIsNotOfferedCannotBeTaken) {
    for (const std::uint64_t taken : {all_capabilities, ~std::uint64_t{0}})
        EXPECT_EQ(agreed(capability_lane_frames, taken),
                  agreed(capability_lane_frames, capability_lane_frames));
}

TEST(Agreement, WhatIsNotTakenIsNotAgreedOn) {
    for (std::uint64_t bit = 1; bit <= capability_compare; bit <<= 1) {
        if (bit == capability_lane_frames)
            continue;
        SCOPED_TRACE(bit);
        EXPECT_EQ(agreed(all_known, all_known & ~bit),
                  agreed(all_known & ~(bit & all_capabilities), all_known));
    }
}

// The answer omits the bits of later versions.
TEST(Agreement, AnInitiatorTakesWhatItKnows) {
    EXPECT_EQ(answer_to(hello_of(~std::uint64_t{0})).capabilities, all_known);
    EXPECT_EQ(answer_to(hello_of(all_known), {.tls = false}).capabilities,
              all_known & ~capability_tls);
}

TEST(Agreement, WithAPeerOfProtocol01ThereIsNothing) {
    const Agreement none;
    EXPECT_FALSE(none.lane_frames || none.tls || none.medium_failure);
}

} // namespace
} // namespace rpmem::wire
