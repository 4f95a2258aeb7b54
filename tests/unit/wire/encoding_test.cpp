// Messages made from values, compared with bytes written by hand from the protocol's description.
#include "common/wire/persist_message.hpp"
#include "tests/unit/wire/samples.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cerrno>

namespace rpmem::wire {
namespace {

using samples::hex;

constexpr const char* attributes_hex = "474f4c44454e5f31"
                                       "01020314"
                                       "11223344"
                                       "00000002"
                                       "55667788"
                                       "101112131415161718191a1b1c1d1e1f"
                                       "202122232425262728292a2b2c2d2e2f"
                                       "303132333435363738393a3b3c3d3e3f"
                                       "404142434445464748494a4b4c4d4e4f"
                                       "505152535455565758595a5b5c5d5e5f";
constexpr const char* common_hex = "0000"
                                   "0001"
                                   "0000000004000000"
                                   "00000004"
                                   "00000002"
                                   "0000000000002000";
constexpr const char* pool_set_hex = "00000009"
                                     "706f6f6c2e73657400";

// The three words that travel in host order are written for both kinds of host.
std::string host_word(const char* big, const char* little) {
    return std::endian::native == std::endian::big ? big : little;
}
std::string in_band_hex() {
    return "0000b10d"
           "00000001"
           "0102030405060708"
           "00007f1d26000000" +
           host_word("01020304", "04030201");
}

TEST(Encoding, Create) {
    EXPECT_EQ(hex(encode(samples::create_request())), std::string("00000001"
                                                                  "000000000000009d") +
                                                          common_hex + attributes_hex +
                                                          pool_set_hex);
}

TEST(Encoding, Open) {
    EXPECT_EQ(hex(encode(samples::open_request())), std::string("00000003"
                                                                "0000000000000035") +
                                                        common_hex + pool_set_hex);
}

TEST(Encoding, CloseHasItsFlagsInHostOrder) {
    EXPECT_EQ(hex(encode(CloseRequest{true})), "00000005"
                                               "0000000000000010" +
                                                   host_word("00000001", "01000000"));
    EXPECT_EQ(hex(encode(CloseRequest{false})), "00000005"
                                                "0000000000000010"
                                                "00000000");
}

TEST(Encoding, SetAttributes) {
    EXPECT_EQ(hex(encode(SetAttributesRequest{samples::attributes()})),
              std::string("00000007"
                          "0000000000000074") +
                  attributes_hex);
}

TEST(Encoding, CreateResponseHasItsLanesInHostOrder) {
    EXPECT_EQ(hex(encode(samples::create_response())), "00000000"
                                                       "00000002"
                                                       "000000000000002c" +
                                                           in_band_hex());
}

TEST(Encoding, OpenResponse) {
    EXPECT_EQ(hex(encode(samples::open_response())), "00000000"
                                                     "00000004"
                                                     "0000000000000094" +
                                                         in_band_hex() + attributes_hex);
}

TEST(Encoding, CloseAndSetAttributesResponse) {
    EXPECT_EQ(hex(encode(CloseResponse{Status::success})), "00000000"
                                                           "00000006"
                                                           "0000000000000010");
    EXPECT_EQ(hex(encode(SetAttributesResponse{Status::pool_configuration})), "0000000d"
                                                                              "00000008"
                                                                              "0000000000000010");
}

TEST(Encoding, InitialStatusIsInHostOrder) {
    EXPECT_EQ(hex(encode_initial_status(EINVAL)), host_word("00000016", "16000000"));
    EXPECT_EQ(hex(encode_initial_status(-1)), "ffffffff");
    EXPECT_EQ(decode_initial_status(encode_initial_status(EINVAL)), EINVAL);
    EXPECT_EQ(decode_initial_status(encode_initial_status(-1)), -1);
    for (const std::size_t size : {0U, 3U, 5U})
        EXPECT_FALSE(decode_initial_status(Bytes(size))) << size;
}

TEST(Encoding, ARefusalIsTheWholeResponseWithZeros) {
    for (std::uint32_t status = 1; status <= 13; ++status) {
        EXPECT_EQ(hex(encode_refusal(MessageType::create, Status{status})),
                  fmt::format("{:08x}"
                              "00000002"
                              "000000000000002c"
                              "{:056x}",
                              status, 0));
        EXPECT_EQ(hex(encode_refusal(MessageType::open, Status{status})),
                  fmt::format("{:08x}"
                              "00000004"
                              "0000000000000094"
                              "{:0264x}",
                              status, 0));
        EXPECT_EQ(hex(encode_refusal(MessageType::close, Status{status})),
                  fmt::format("{:08x}"
                              "00000006"
                              "0000000000000010",
                              status));
        EXPECT_EQ(hex(encode_refusal(MessageType::set_attributes, Status{status})),
                  fmt::format("{:08x}"
                              "00000008"
                              "0000000000000010",
                              status));
    }
}

// Every field comes back as it went.
TEST(Decoding, CreateKeepsEveryValue) {
    const auto request = samples::receive_request(encode(samples::create_request()));
    ASSERT_TRUE(request) << request.error().text;
    const auto& create = std::get<CreateRequest>(*request);
    EXPECT_EQ(create.pool_size, 67108864U);
    EXPECT_EQ(create.lanes, 4U);
    EXPECT_EQ(create.provider, Provider::sockets);
    EXPECT_EQ(create.inline_size, 8192U);
    EXPECT_EQ(create.pool_set, "pool.set");
    EXPECT_EQ(std::string_view(create.attributes.signature, 8), "GOLDEN_1");
    EXPECT_EQ(create.attributes.ro_compat_features, 0x55667788U);
    EXPECT_EQ(create.attributes.user_flags[15], 0x5f);
}

TEST(Decoding, ResponseKeepsEveryValue) {
    const auto bytes = encode(samples::open_response());
    const std::span<const std::byte> message(bytes);
    const auto header =
        decode_response_header(message.first(response_header_size), MessageType::open_response);
    ASSERT_TRUE(header) << header.error().text;
    const auto open = decode_response<OpenResponse>(*header, message.subspan(response_header_size));
    ASSERT_TRUE(open) << open.error().text;
    EXPECT_EQ(open->in_band.port, 0xb10dU);
    EXPECT_EQ(open->in_band.method, PersistMethod::general_purpose);
    EXPECT_EQ(open->in_band.rkey, 0x0102030405060708U);
    EXPECT_EQ(open->in_band.raddr, 0x7f1d26000000U);
    EXPECT_EQ(open->in_band.lanes, 0x01020304U);
    EXPECT_EQ(open->attributes.major, 0x01020314U);
    EXPECT_EQ(open->attributes.prev_uuid[0], 0x40);
}

TEST(Decoding, EveryErrorStatusOfEveryResponse) {
    const MessageType requests[] = {MessageType::create, MessageType::open, MessageType::close,
                                    MessageType::set_attributes};
    for (const MessageType request : requests) {
        for (const std::uint32_t status : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 11U, 12U, 13U,
                                           14U, 0xffffffffU}) { // the last two are not known
            const auto bytes = encode_refusal(request, Status{status});
            const auto again = samples::receive_response(response_to(request), bytes);
            ASSERT_TRUE(again) << again.error().text;
            EXPECT_EQ(hex(*again), hex(bytes));
        }
    }
}

TEST(Decoding, WhatTheDaemonJudgesIsKeptAsItCame) {
    CreateRequest request = samples::create_request();
    request.lanes = 0;
    request.provider = Provider{77};
    request.pool_size = 0;
    request.inline_size = UINT64_MAX;
    request.pool_set = "/absolute/../pool.set";
    const auto decoded = samples::receive_request(encode(request));
    ASSERT_TRUE(decoded) << decoded.error().text;
    const auto& create = std::get<CreateRequest>(*decoded);
    EXPECT_EQ(create.lanes, 0U);
    EXPECT_EQ(create.provider, Provider{77});
    EXPECT_EQ(create.pool_size, 0U);
    EXPECT_EQ(create.inline_size, UINT64_MAX);
    EXPECT_EQ(create.pool_set, "/absolute/../pool.set");
}

TEST(Decoding, LongestPoolSetName) {
    OpenRequest request = samples::open_request();
    request.pool_set.assign(max_pool_set_size - 1, 'x');
    ASSERT_TRUE(samples::receive_request(encode(request)));
    request.pool_set += 'x';
    EXPECT_FALSE(samples::receive_request(encode(request)));
    CreateRequest create = samples::create_request();
    create.pool_set.assign(max_pool_set_size - 1, 'x');
    EXPECT_EQ(encode(create).size(), max_message_size);
    ASSERT_TRUE(samples::receive_request(encode(create)));
    create.pool_set += 'x';
    EXPECT_FALSE(samples::receive_request(encode(create)));
}

TEST(PersistMessage, HasTheLayoutOfTheProtocol) {
    struct {
        PersistMessage message{0x01020304, 0x11121314, 0x2122232425262728, 0x3132333435363738};
    } sent;
    const auto bytes = std::as_bytes(std::span(&sent.message, 1));
    std::uint32_t words[6];
    std::memcpy(words, bytes.data(), sizeof(words));
    EXPECT_EQ(words[0], 0x01020304U);
    EXPECT_EQ(words[1], 0x11121314U);
    std::uint64_t longs[3];
    std::memcpy(longs, bytes.data(), sizeof(longs));
    EXPECT_EQ(longs[1], 0x2122232425262728U);
    EXPECT_EQ(longs[2], 0x3132333435363738U);
    EXPECT_EQ(static_cast<unsigned>(PersistMode::persist_written), 0U);
    EXPECT_EQ(static_cast<unsigned>(PersistMode::deep_persist), 1U);
    EXPECT_EQ(static_cast<unsigned>(PersistMode::inline_data), 2U);
    EXPECT_EQ(persist_mode_mask, 3U);
}

} // namespace
} // namespace rpmem::wire
