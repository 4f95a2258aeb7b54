// What the daemon says of a failed medium. Bytes that are wrong are in malformed_test.cpp.
#include "common/wire/hello.hpp"
#include "common/wire/medium_failure.hpp"
#include "tests/unit/wire/samples.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rpmem::wire {
namespace {

using samples::hex;

// The bytes that the first release with this message sends: later ones must still understand them.
TEST(MediumFailure, GoldenBytes) {
    std::ifstream file(std::filesystem::path(WIRE_DATA_DIR) / "medium_failure.bin",
                       std::ios::binary);
    const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    const auto golden = std::as_bytes(std::span(content));
    EXPECT_EQ(hex(encode(samples::medium_failure())), hex(golden));
    EXPECT_TRUE(announces_medium_failure(golden.first(response_header_size)));
    EXPECT_EQ(decode_medium_failure_size(golden.first(response_header_size)), golden.size());
    const auto failure = decode_medium_failure(golden);
    ASSERT_TRUE(failure) << failure.error().text;
    EXPECT_EQ(failure->part, "/pools/part0");
    EXPECT_EQ(failure->offset, 0x0102030405060000U);
    EXPECT_EQ(failure->length, 4096U);
    EXPECT_EQ(failure->code, EIO);
    EXPECT_EQ(failure->text, "msync: Input/output error");
}

TEST(MediumFailure, LongPathsAndTextsAreCut) {
    MediumFailure failure = samples::medium_failure();
    failure.part = std::string(most_part_bytes, 'p');
    failure.text = std::string(most_medium_failure_text, 't');
    const Bytes longest = encode(failure);
    EXPECT_TRUE(decode_medium_failure(longest));
    failure.part += 'x';
    failure.text += 'x';
    EXPECT_EQ(hex(encode(failure)), hex(longest));
}

TEST(MediumFailure, PathAndTextMayBeEmpty) {
    MediumFailure failure = samples::medium_failure();
    failure.part.clear();
    failure.text.clear();
    const auto back = decode_medium_failure(encode(failure));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(back->part + back->text, "");
}

TEST(MediumFailure, NoResponseAnnouncesIt) {
    for (const MessageType request :
         {MessageType::create, MessageType::open, MessageType::close, MessageType::set_attributes})
        for (std::uint32_t status = 0; status <= 15; ++status) {
            const Bytes response = encode_refusal(request, Status{status});
            EXPECT_FALSE(announces_medium_failure(
                std::span<const std::byte>(response).first(response_header_size)));
        }
    EXPECT_FALSE(announces_medium_failure({}));
}

} // namespace
} // namespace rpmem::wire
