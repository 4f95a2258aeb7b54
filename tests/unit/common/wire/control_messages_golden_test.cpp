// SPDX-License-Identifier: BSD-3-Clause
// Tests the control messages on recorded sessions of librpmem and rpmemd 1.12.1. Every message of
// every recording is decoded and encoded again. The test fails if a message of 1.12.1 cannot be
// decoded or is encoded to other bytes, if a message that 1.12.1 rejected is accepted, or if
// recordings are missing.
#include "common/wire/control_layout.hpp"
#include "tests/unit/common/wire/samples.hpp"

#include <map>

namespace rpmem::wire {
namespace {

using samples::hex;

constexpr const char* to_daemon = ".c2d.bin";
constexpr const char* to_client = ".d2c.bin";

// Captures of handwritten messages on which 1.12.1 closed the connection, and our error codes.
const std::map<std::string, int> malformed_captures = {
    {"rawobc-bad_major", EPROTONOSUPPORT}, {"rawobc-bad_minor", EPROTONOSUPPORT},
    {"rawobc-bad_type0", EBADMSG},         {"rawobc-bad_type9", EBADMSG},
    {"rawobc-resp_type2", EBADMSG},        {"rawobc-short_size", EBADMSG},
    {"rawobc-size_huge_hdr", EBADMSG},     {"rawobc-desc_embedded_nul", EBADMSG},
    {"rawobc-desc_empty", EBADMSG},        {"rawobc-desc_no_nul", EBADMSG},
    {"rawobc-desc_size_mismatch", EBADMSG}};

Bytes read_capture(const std::string& name) {
    return test::bytes_of_text(test::read_file(WIRE_DATA_DIR "/" + name));
}

std::vector<std::string> captures(const std::string& direction) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(WIRE_DATA_DIR))
        if (const auto name = entry.path().filename().string(); name.ends_with(direction))
            names.push_back(name.substr(0, name.size() - direction.size()));
    std::ranges::sort(names);
    return names;
}

// Decodes the first message of LEFT, and removes it from LEFT on success.
Result<Request> next_request(std::span<const std::byte>& left) {
    RPMEM_ASSIGN(auto header,
                 decode_request_header(left.first(std::min(left.size(), request_header_size))));
    const auto size = static_cast<std::size_t>(header.size);
    if (size > left.size())
        return fail(ErrorClass::bug, ENODATA, "the capture ends within a message");
    auto request =
        decode_request(header, left.subspan(request_header_size, size - request_header_size));
    if (request)
        left = left.subspan(size);
    return request;
}

std::vector<Request> requests_of(const std::string& name) {
    const Bytes bytes = read_capture(name + to_daemon);
    std::span<const std::byte> left(bytes);
    std::vector<Request> requests;
    while (!left.empty()) {
        auto request = next_request(left);
        if (!request)
            break;
        requests.push_back(std::move(*request));
    }
    return requests;
}

MessageType type_of(const Request& request) {
    constexpr MessageType types[] = {MessageType::create, MessageType::open, MessageType::close,
                                     MessageType::set_attributes};
    return types[request.index()];
}

TEST(Golden, EveryRequestIsDecodedAndEncodedToTheSameBytes) {
    int messages = 0;
    for (const std::string& name : captures(to_daemon)) {
        SCOPED_TRACE(name);
        const Bytes bytes = read_capture(name + to_daemon);
        const auto malformed = malformed_captures.find(name);
        std::span<const std::byte> left(bytes);
        while (!left.empty()) {
            const auto before = left;
            const auto request = next_request(left);
            if (malformed != malformed_captures.end()) {
                ASSERT_TRUE(test::failed(request, malformed->second));
                break;
            }
            ASSERT_TRUE(request) << request.error().text;
            ++messages;
            auto expected = hex(before.first(before.size() - left.size()));
            if (name == "rawobc-close_flag_be1" && type_of(*request) == MessageType::close) {
                EXPECT_EQ(expected.substr(24), "00000001"); // big-endian, thus an unknown flag
                expected.replace(24, 8, "00000000");
            }
            EXPECT_EQ(hex(samples::encode_any(*request)), expected);
        }
    }
    EXPECT_EQ(messages, 102);
}

// 1.12.1 sends an additional status word, which has no meaning, when it ends early. Nothing else
// may follow the last response.
TEST(Golden, EveryResponseIsDecodedAndEncodedToTheSameBytes) {
    int messages = 0;
    for (const std::string& name : captures(to_client)) {
        SCOPED_TRACE(name);
        const Bytes bytes = read_capture(name + to_client);
        std::span<const std::byte> left(bytes);
        ASSERT_GE(left.size(), initial_status_size);
        const auto status = test::value_of(decode_initial_status(left.first(initial_status_size)));
        EXPECT_EQ(hex(encode_initial_status(status)), hex(left.first(initial_status_size)));
        left = left.subspan(initial_status_size);
        for (const Request& request : requests_of(name)) {
            if (left.size() <= initial_status_size)
                break;
            const MessageType type = response_to(type_of(request));
            const auto size = layout::find_kind(type)->largest;
            ASSERT_GE(left.size(), size);
            const auto again = test::value_of(samples::receive_response(type, left.first(size)));
            EXPECT_EQ(hex(again), hex(left.first(size)));
            left = left.subspan(size);
            ++messages;
        }
        EXPECT_TRUE(left.empty() || left.size() == initial_status_size) << hex(left);
    }
    EXPECT_EQ(messages, 97);
}

TEST(Golden, StatusOfADaemonThatCannotStart) {
    EXPECT_EQ(decode_initial_status(read_capture("obc-status_bad_dir.d2c.bin")), EINVAL);
    EXPECT_EQ(decode_initial_status(read_capture("obc-status_bad_conf.d2c.bin")), ENOENT);
}

TEST(Golden, RemoveFlagOfClose) {
    const auto removes = [](const std::string& name) {
        return std::get<CloseRequest>(requests_of(name).at(1)).remove;
    };
    EXPECT_TRUE(removes("obc-create_ibc_fail"));
    EXPECT_TRUE(removes("rawobc-close_flag_le1"));
    EXPECT_FALSE(removes("rawobc-close_flag_be1"));
    EXPECT_FALSE(removes("obc-create_attr"));
}

} // namespace
} // namespace rpmem::wire
