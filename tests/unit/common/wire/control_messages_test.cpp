// SPDX-License-Identifier: BSD-3-Clause
// Tests the control messages, the persist messages of protocol 0.1 and the status codes. Expected
// bytes are written by hand from rpmem-protocol(7), and those of a failed medium are in a file. The
// test fails if a field is encoded at another place, in another byte order or size, if a status has
// another number or errno value, or if a decoder changes or refuses a valid message.
#include "common/wire/hello.hpp"
#include "common/wire/persist_message.hpp"
#include "common/wire/status.hpp"
#include "common/wire/unsolicited.hpp"
#include "tests/unit/common/wire/samples.hpp"

#include <bit>
#include <set>

namespace rpmem::wire {
namespace {

using samples::hex;

const std::string attributes_hex = "474f4c44454e5f31"
                                   "01020314"
                                   "11223344"
                                   "00000002"
                                   "55667788"
                                   "101112131415161718191a1b1c1d1e1f"
                                   "202122232425262728292a2b2c2d2e2f"
                                   "303132333435363738393a3b3c3d3e3f"
                                   "404142434445464748494a4b4c4d4e4f"
                                   "505152535455565758595a5b5c5d5e5f";
const std::string common_hex = "00000001"
                               "0000000004000000"
                               "00000004"
                               "00000002"
                               "0000000000002000";
const std::string pool_set_hex = "00000009706f6f6c2e73657400";

// Returns BIG or LITTLE, depending on the byte order of this host. Three fields are sent in host
// order.
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

std::string zeros(std::size_t bytes) { return std::string(2 * bytes, '0'); }

TEST(Encoding, OfEveryMessage) {
    const struct {
        const char* name;
        Bytes bytes;
        std::string expected;
    } cases[] = {
        {"CREATE", encode(samples::create_request()),
         "00000001000000000000009d" + common_hex + attributes_hex + pool_set_hex},
        {"OPEN", encode(samples::open_request()),
         "000000030000000000000035" + common_hex + pool_set_hex},
        {"CLOSE that removes", encode(CloseRequest{true}),
         "000000050000000000000010" + host_word("00000001", "01000000")},
        {"CLOSE", encode(CloseRequest{false}), "00000005000000000000001000000000"},
        {"SET_ATTR", encode(SetAttributesRequest{samples::attributes()}),
         "000000070000000000000074" + attributes_hex},
        {"LOGIN", encode(samples::login_request()),
         "0000000b0000000000000094"
         "0102030405060708" +
             hex(samples::login_request().takeover) + "686f7374" + zeros(60) + "75736572" +
             zeros(28)},
        {"HEARTBEAT", encode(HeartbeatRequest{}), "0000000d000000000000000c"},
        {"LOGIN response", encode(LoginResponse{Status::stale}),
         "0000000f0000000c0000000000000010"},
        {"heartbeat of the target", encode_target_heartbeat(), "000000000000000e0000000000000010"},
        {"NOTICE", encode_notice("old"),
         "00000000000000100000000000000013"
         "6f6c64"},
        {"POOL_CLAIM", encode(samples::pool_claim()),
         "00000000000000120000000000000050"
         "0102030405060708090a0b0c0d0e0f10"
         "1112131415161718191a1b1c1d1e1f20" +
             zeros(31) + "ff"},
        {"POOL_STATE", encode(samples::pool_state()),
         "00000000000000140000000000000078"
         "1112131415161718191a1b1c1d1e1f20"
         "2122232425262728292a2b2c2d2e2f30"
         "3132333435363738393a3b3c3d3e3f40"
         "4142434445464748494a4b4c4d4e4f500001020304050607"
         "fe" +
             zeros(31)},
        {"SET_REPLICA_STATE to in sync", encode(SetReplicaStateRequest{ReplicaState::in_sync}),
         "00000015000000000000001000000001"},
        {"SET_REPLICA_STATE to catching up",
         encode(SetReplicaStateRequest{ReplicaState::catching_up}),
         "00000015000000000000001000000002"},
        {"SET_REPLICA_STATE response", encode(SetReplicaStateResponse{Status::bad_state}),
         "00000010000000160000000000000010"},
        {"CREATE response", encode(samples::create_response()),
         "0000000000000002000000000000002c" + in_band_hex()},
        {"OPEN response", encode(samples::open_response()),
         "00000000000000040000000000000094" + in_band_hex() + attributes_hex},
        {"CLOSE response", encode(CloseResponse{Status::success}),
         "00000000000000060000000000000010"},
        {"SET_ATTR response", encode(SetAttributesResponse{Status::pool_configuration}),
         "0000000d000000080000000000000010"}};
    for (const auto& one : cases)
        EXPECT_EQ(hex(one.bytes), one.expected) << one.name;
}

TEST(PoolClaim, IsReadAsItWasSent) {
    const Bytes message = encode(samples::pool_claim());
    const auto header = std::span(message).first(response_header_size);
    const auto body = std::span(message).subspan(response_header_size);
    EXPECT_EQ(unsolicited_type(header, samples::all_agreed), MessageType::pool_claim);
    EXPECT_EQ(decode_unsolicited_size(header), body.size());
    EXPECT_EQ(test::value_of(decode_pool_claim(body)), samples::pool_claim());
    EXPECT_TRUE(test::failed(decode_pool_claim(body.first(body.size() - 1)), EBADMSG));
    EXPECT_TRUE(test::failed(decode_pool_claim(message), EBADMSG));
    Bytes longer = message;
    longer[response_header_size - 1] = std::byte{81}; // the last byte of its size
    EXPECT_EQ(unsolicited_type(std::span(longer).first(response_header_size), samples::all_agreed),
              std::nullopt);
}

TEST(PoolState, IsReadAsItWasSent) {
    const Bytes message = encode(samples::pool_state());
    const auto header = std::span(message).first(response_header_size);
    const auto body = std::span(message).subspan(response_header_size);
    EXPECT_EQ(unsolicited_type(header, samples::all_agreed), MessageType::pool_state);
    EXPECT_EQ(decode_unsolicited_size(header), body.size());
    EXPECT_EQ(test::value_of(decode_pool_state(body)), samples::pool_state());
    EXPECT_TRUE(test::failed(decode_pool_state(body.first(body.size() - 1)), EBADMSG));
    EXPECT_TRUE(test::failed(decode_pool_state(message), EBADMSG));
    Bytes longer = message;
    longer[response_header_size - 1] = std::byte{97}; // the last byte of its size
    EXPECT_EQ(unsolicited_type(std::span(longer).first(response_header_size), samples::all_agreed),
              std::nullopt);
}

// The initiator compares these times, so a negative one would be before every other time.
TEST(PoolState, ATimeBeforeTheEpochIsMalformed) {
    for (const std::size_t offset : {32U, 40U, 48U}) {
        Bytes body = encode(samples::pool_state());
        body.erase(body.begin(), body.begin() + response_header_size);
        body.at(offset) = std::byte{0x80};
        EXPECT_TRUE(test::failed(decode_pool_state(body), EBADMSG, "its times are")) << offset;
    }
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
                  fmt::format("{:08x}00000002000000000000002c{:056x}", status, 0));
        EXPECT_EQ(hex(encode_refusal(MessageType::open, Status{status})),
                  fmt::format("{:08x}000000040000000000000094{:0264x}", status, 0));
        EXPECT_EQ(hex(encode_refusal(MessageType::close, Status{status})),
                  fmt::format("{:08x}000000060000000000000010", status));
        EXPECT_EQ(hex(encode_refusal(MessageType::set_attributes, Status{status})),
                  fmt::format("{:08x}000000080000000000000010", status));
        EXPECT_EQ(hex(encode_refusal(MessageType::set_replica_state, Status{status})),
                  fmt::format("{:08x}000000160000000000000010", status));
    }
}

TEST(Decoding, EveryErrorStatusOfEveryResponse) {
    const MessageType requests[] = {MessageType::create, MessageType::open, MessageType::close,
                                    MessageType::set_attributes, MessageType::set_replica_state};
    for (const MessageType request : requests) {
        for (const std::uint32_t status : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 11U, 12U, 13U,
                                           14U, 0xffffffffU}) { // the last one is unknown
            const auto bytes = encode_refusal(request, Status{status});
            const auto again =
                test::value_of(samples::receive_response(response_to(request), bytes));
            EXPECT_EQ(hex(again), hex(bytes));
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
    const auto decoded = test::value_of(samples::receive_request(encode(request)));
    const auto& create = std::get<CreateRequest>(decoded);
    EXPECT_EQ(create.lanes, 0U);
    EXPECT_EQ(create.provider, Provider{77});
    EXPECT_EQ(create.pool_size, 0U);
    EXPECT_EQ(create.inline_size, UINT64_MAX);
    EXPECT_EQ(create.pool_set, "/absolute/../pool.set");
}

TEST(Decoding, AnUnknownStateOfTheReplicaIsKeptAsItCame) {
    for (const std::uint32_t raw : {0U, 3U, 0xffffffffU}) {
        const auto decoded = test::value_of(
            samples::receive_request(encode(SetReplicaStateRequest{ReplicaState{raw}})));
        EXPECT_EQ(std::get<SetReplicaStateRequest>(decoded).replica_state, ReplicaState{raw});
    }
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

// Persist messages are sent in host order. The expected bytes are those of a little-endian host.
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

TEST_F(PersistMessages, GoldenBytesOfEveryMode) {
    const std::string rest = "04030201"          // lane
                             "1817161514131211"  // address
                             "2827262524232221"; // size
    EXPECT_EQ(bytes_of(message(PersistMode::persist_written)), "00000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::deep_persist)), "01000000" + rest);
    EXPECT_EQ(bytes_of(message(PersistMode::inline_data)), "02000000" + rest);
}

TEST_F(PersistMessages, GoldenBytesOfResponses) {
    EXPECT_EQ(bytes_of(PersistResponse{0, 0x01020304}), "0000000004030201");
    EXPECT_EQ(bytes_of(PersistResponse{2, 0x01020304}), "0200000004030201");
}

TEST(Status, EveryStatusHasTheErrnoOfTheProtocol) {
    constexpr int expected[] = {0,         EPROTONOSUPPORT, EINVAL, EFBIG,  EINVAL,      EINVAL,
                                EREMOTEIO, ECONNABORTED,    EBUSY,  EEXIST, EMEDIUMTYPE, ENOENT,
                                EACCES,    EINVAL,          EIO,    ESTALE, EINVAL};
    for (std::uint32_t raw = 0; raw < std::size(expected); ++raw)
        EXPECT_EQ(errno_of(Status{raw}), expected[raw]) << "status " << raw;
}

TEST(Status, TheNamesHaveTheNumbersOfTheProtocol) {
    using enum Status;
    const auto numbers = [](auto... statuses) {
        return std::vector{static_cast<int>(statuses)...};
    };
    EXPECT_EQ(numbers(success, bad_protocol, bad_name, bad_size, bad_lanes, bad_provider, fatal,
                      fatal_connection, busy, exists, provider_not_supported, not_found, no_access,
                      pool_configuration, medium_failed, stale, bad_state),
              (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
}

TEST(Status, EveryStatusHasWordsOfItsOwn) {
    std::set<std::string> texts;
    for (std::uint32_t raw = 0; raw <= 17; ++raw) // 17 is unknown
        texts.insert(describe(Status{raw}));
    EXPECT_EQ(texts.size(), 18U);
    EXPECT_EQ(texts.count(""), 0U);
}

TEST(Status, AnUnknownStatusIsAFailureOfTheTarget) {
    EXPECT_EQ(errno_of(Status{17}), EREMOTEIO);
    EXPECT_EQ(errno_of(Status{0xffffffff}), EREMOTEIO);
    EXPECT_TRUE(test::contains(describe(Status{17}), "status 17,"));
    EXPECT_TRUE(test::contains(describe(Status{0xffffffff}), "status 4294967295,"));
}

// The bytes of the first version of this message, which every later version must still decode.
TEST(MediumFailure, GoldenBytes) {
    const std::string content = test::read_file(WIRE_DATA_DIR "/medium_failure.bin");
    const auto golden = std::as_bytes(std::span(content));
    EXPECT_EQ(hex(encode(samples::medium_failure())), hex(golden));
    const auto header = golden.first(response_header_size);
    const auto body = golden.subspan(response_header_size);
    EXPECT_EQ(unsolicited_type(header, samples::all_agreed), MessageType::medium_failure);
    EXPECT_EQ(decode_unsolicited_size(header), body.size());
    const auto failure = test::value_of(decode_medium_failure(body));
    EXPECT_EQ(failure.part, "/pools/part0");
    EXPECT_EQ(failure.offset, 0x0102030405060000U);
    EXPECT_EQ(failure.length, 4096U);
    EXPECT_EQ(failure.code, EIO);
    EXPECT_EQ(failure.text, "msync: Input/output error");
}

TEST(MediumFailure, LongPathsAndTextsAreCut) {
    MediumFailure failure = samples::medium_failure();
    failure.part = std::string(max_part_bytes, 'p');
    failure.text = std::string(max_medium_failure_text, 't');
    const Bytes longest = encode(failure);
    EXPECT_EQ(hex(test::value_of(samples::receive_unsolicited(longest))), hex(longest));
    failure.part += 'x';
    failure.text += 'x';
    EXPECT_EQ(hex(encode(failure)), hex(longest));
}

TEST(MediumFailure, PathAndTextMayBeEmpty) {
    MediumFailure failure = samples::medium_failure();
    failure.part.clear();
    failure.text.clear();
    const Bytes message = encode(failure);
    EXPECT_EQ(hex(test::value_of(samples::receive_unsolicited(message))), hex(message));
}

TEST(Unsolicited, NoResponseIs) {
    for (const MessageType request : {MessageType::create, MessageType::open, MessageType::close,
                                      MessageType::set_attributes, MessageType::set_replica_state})
        for (std::uint32_t status = 0; status <= 16; ++status) {
            const Bytes response = encode_refusal(request, Status{status});
            EXPECT_EQ(unsolicited_type(std::span(response).first(response_header_size),
                                       samples::all_agreed),
                      std::nullopt);
        }
    EXPECT_EQ(unsolicited_type({}, samples::all_agreed), std::nullopt);
}

TEST(Unsolicited, EachNeedsItsOwnAgreement) {
    const struct {
        Bytes message;
        bool Agreement::*agreed;
    } cases[] = {{encode(samples::medium_failure()), &Agreement::medium_failure},
                 {encode_target_heartbeat(), &Agreement::resume},
                 {encode_notice("old"), &Agreement::resume},
                 {encode(samples::pool_claim()), &Agreement::pool_claim},
                 {encode(samples::pool_state()), &Agreement::compare}};
    for (const auto& one : cases) {
        const auto header = std::span(one.message).first(response_header_size);
        Agreement agreement = samples::all_agreed;
        EXPECT_TRUE(unsolicited_type(header, agreement));
        agreement.*one.agreed = false;
        EXPECT_EQ(unsolicited_type(header, agreement), std::nullopt) << hex(header);
    }
}

} // namespace
} // namespace rpmem::wire
