// SPDX-License-Identifier: BSD-3-Clause
// Tests the functions of libcrypto that authenticate lanes, with values of RFC 5869, RFC 4231 and
// FIPS 180-2, and the memory of secrets with the real mappings of the process. The test fails if a
// key, a MAC or a hash differs, if the application's OpenSSL settings or error queue are used or
// changed, or if a core dump would contain a secret.
#include "common/transport/crypto.hpp"
#include "common/transport/secret.hpp"
#include "tests/support/dumped_pages.hpp"
#include "tests/unit/common/transport/samples.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

namespace rpmem::transport {
namespace {

std::vector<std::byte> from_hex(std::string_view text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(
            static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    return bytes;
}

// Test case 3 of RFC 5869 (A.3): SHA-256 with neither salt nor info.
TEST(Crypto, HkdfIsThatOfTheRfc) {
    const std::vector<std::byte> secret(22, std::byte{0x0b});
    std::vector<std::byte> key(42);
    ASSERT_TRUE(hkdf_sha256(secret, "", key));
    EXPECT_EQ(key, from_hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
                            "9d201395faa4b61a96c8"));
}

// Test case 2 of RFC 4231 (4.3), in one part and in several.
TEST(Crypto, HmacIsThatOfTheRfc) {
    const auto right = from_hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    Digest mac;
    ASSERT_TRUE(hmac_sha256(bytes_of("Jefe"), {bytes_of("what do ya want for nothing?")}, mac));
    EXPECT_EQ(samples::copied(mac), right);
    ASSERT_TRUE(hmac_sha256(bytes_of("Jefe"),
                            {bytes_of("what do ya "), ByteView{}, bytes_of("want for nothing?")},
                            mac));
    EXPECT_EQ(samples::copied(mac), right);
}

// The example of FIPS 180-2, B.1.
TEST(Crypto, HashIsSha256) {
    Digest digest;
    ASSERT_TRUE(sha256({bytes_of("a"), bytes_of("bc")}, digest));
    EXPECT_EQ(samples::copied(digest),
              from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

TEST(Crypto, SeveralThreadsMakeTheSameMac) {
    Digest right;
    ASSERT_TRUE(hmac_sha256(bytes_of("key"), {bytes_of("text")}, right));
    std::vector<std::thread> threads;
    std::array<bool, 4> all_same{};
    for (bool& same : all_same)
        threads.emplace_back([&same, &right] {
            same = true;
            for (int i = 0; i < 200; ++i) {
                Digest mac{};
                same =
                    hmac_sha256(bytes_of("key"), {bytes_of("text")}, mac) && mac == right && same;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(all_same, (std::array<bool, 4>{true, true, true, true}));
}

// The application may have set properties that no provider has, and its error queue must not
// change. The product looks up each function once. Therefore this test finds a wrong library
// context only in a process of its own, in which ctest(1) runs it.
TEST(Crypto, DependsOnNothingOfTheApplicationAndLeavesItsErrors) {
    EVP_set_default_properties(nullptr, "provider=none_such");
    ERR_clear_error();
    ERR_raise(ERR_LIB_USER, 17);
    Digest digest;
    EXPECT_TRUE(sha256({bytes_of("abc")}, digest));
    EXPECT_TRUE(hmac_sha256(bytes_of("key"), {bytes_of("text")}, digest));
    EXPECT_TRUE(hkdf_sha256(bytes_of("secret"), "label", digest));
    std::array<std::byte, 1> nothing;
    EXPECT_FALSE(hkdf_sha256(bytes_of("secret"), "label", std::span(nothing).first(0)));
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), 17);
    ERR_clear_error();
    EVP_set_default_properties(nullptr, "");
}

TEST(Secret, MovesAndLeavesNothingBehind) {
    static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
    const auto bytes = samples::count_up<secret_size>(1);
    auto one = Secret::copy_of(bytes);
    ASSERT_TRUE(one) << one.error().text;
    const std::byte* const page = one->bytes().data();
    const Secret moved = std::move(*one);
    EXPECT_EQ(moved.bytes().data(), page);
    EXPECT_NE(one->bytes().data(), page); // NOLINT(bugprone-use-after-move): that is the test
    EXPECT_TRUE(std::ranges::equal(moved.bytes(), bytes));
}

TEST(Secret, TwoRandomOnesDiffer) {
    SystemRandom random;
    auto one = Secret::make();
    auto other = Secret::make();
    ASSERT_TRUE(one && other && random.fill(one->bytes()) && random.fill(other->bytes()));
    EXPECT_FALSE(std::ranges::equal(one->bytes(), other->bytes()));
}

TEST(Secret, IsInNoCoreDump) {
    const auto secret = Secret::make();
    ASSERT_TRUE(secret);
    // The secret has a page of its own.
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_EQ(test::dumped({secret->bytes().data(), page}), "-");
}

} // namespace
} // namespace rpmem::transport
