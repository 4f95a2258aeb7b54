// SPDX-License-Identifier: BSD-3-Clause
// Tests the decoders of control messages with truncated, changed and random messages. The test
// fails if a malformed message is decoded, if a field is changed on its way, or if a size in a
// message leads to an allocation of that size, which a replaced operator new records. A sanitizer
// also reports reads beyond the end of a message.
#include "common/wire/control_layout.hpp"
#include "tests/unit/common/wire/samples.hpp"

#include <new>
#include <random>

namespace {
std::size_t largest_allocation = 0; // in bytes, since a test has set it to 0
}

// If these were inlined, g++ 12 would see free() without its malloc(), and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
    largest_allocation = std::max(largest_allocation, size);
    if (void* memory = std::malloc(size)) // NOLINT(cppcoreguidelines-no-malloc)
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rpmem::wire {
namespace {

using samples::hex;

struct Field {
    const char* name;
    std::size_t offset;
    std::size_t size;
    bool any_value; // an error is not required, but an accepted value must be kept
};

struct Message {
    const char* name;
    Bytes bytes;
    std::vector<Field> fields;
    bool is_request;
    MessageType type;
};

std::vector<Field> joined(std::vector<Field> first, const std::vector<Field>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::vector<Field> attribute_fields(std::size_t offset) {
    return {{"signature", offset, 8, true},      {"major", offset + 8, 4, true},
            {"compat", offset + 12, 4, true},    {"incompat", offset + 16, 4, true},
            {"ro_compat", offset + 20, 4, true}, {"poolset_uuid", offset + 24, 8, true},
            {"uuid", offset + 40, 8, true},      {"next_uuid", offset + 56, 8, true},
            {"prev_uuid", offset + 72, 8, true}, {"user_flags", offset + 88, 8, true}};
}

std::vector<Field> common_fields() {
    return {{"type", 0, 4, false},           {"size", 4, 8, false},
            {"version major", 12, 2, false}, {"version minor", 14, 2, false},
            {"pool size", 16, 8, true},      {"lanes", 24, 4, true},
            {"provider", 28, 4, true},       {"inline size", 32, 8, true}};
}

std::vector<Field> response_fields() {
    return {{"status", 0, 4, true}, {"type", 4, 4, false}, {"size", 8, 8, false}};
}

std::vector<Field> in_band_fields() {
    return joined(response_fields(),
                  {{"port", 16, 4, true}, // any_value, because 1 to 65535 are valid
                   {"method", 20, 4, true},
                   {"rkey", 24, 8, true},
                   {"raddr", 32, 8, true},
                   {"lanes", 40, 4, true}});
}

std::vector<Message> all_messages() {
    return {
        {"CREATE", encode(samples::create_request()),
         joined(joined(common_fields(), attribute_fields(40)), {{"name size", 144, 4, false}}),
         true, MessageType::create},
        {"OPEN", encode(samples::open_request()),
         joined(common_fields(), {{"name size", 40, 4, false}}), true, MessageType::open},
        {"CLOSE",
         encode(CloseRequest{}),
         {{"type", 0, 4, false}, {"size", 4, 8, false}},
         true,
         MessageType::close},
        {"SET_ATTR", encode(SetAttributesRequest{samples::attributes()}),
         joined({{"type", 0, 4, false}, {"size", 4, 8, false}}, attribute_fields(12)), true,
         MessageType::set_attributes},
        {"CREATE response", encode(samples::create_response()), in_band_fields(), false,
         MessageType::create_response},
        {"OPEN response", encode(samples::open_response()),
         joined(in_band_fields(), attribute_fields(44)), false, MessageType::open_response},
        {"CLOSE response", encode(CloseResponse{}), response_fields(), false,
         MessageType::close_response},
        {"SET_ATTR response", encode(SetAttributesResponse{}), response_fields(), false,
         MessageType::set_attributes_response},
        {"MEDIUM_FAILURE",
         encode(samples::medium_failure()),
         {{"status", 0, 4, false},
          {"type", 4, 4, false},
          {"size", 8, 8, false},
          {"offset", 16, 8, true},
          {"length", 24, 8, true},
          {"errno", 32, 4, true}, // any_value, because 1 to 4095 are valid
          {"path size", 36, 4, false},
          {"text size", 40, 4, false}},
         false,
         MessageType::medium_failure},
        {"POOL_CLAIM",
         encode(samples::pool_claim()),
         {{"status", 0, 4, false},
          {"type", 4, 4, false},
          {"size", 8, 8, false},
          {"epoch", 32, 8, true},
          {"generation", 40, 8, true}},
         false,
         MessageType::pool_claim},
        {"POOL_STATE",
         encode(samples::pool_state()),
         {{"status", 0, 4, false},
          {"type", 4, 4, false},
          {"size", 8, 8, false},
          {"epoch", 32, 8, true},
          {"last epoch", 40, 8, true},
          {"behind since", 48, 8, true},
          {"catching up since", 56, 8, true}},
         false,
         MessageType::pool_state},
        {"SET_REPLICA_STATE",
         encode(SetReplicaStateRequest{ReplicaState::catching_up}),
         {{"type", 0, 4, false}, {"size", 4, 8, false}, {"state", 12, 4, true}},
         true,
         MessageType::set_replica_state},
        {"SET_REPLICA_STATE response", encode(SetReplicaStateResponse{}), response_fields(), false,
         MessageType::set_replica_state_response},
    };
}

// Decodes BYTES like a receiver, and encodes the result again.
Result<Bytes> receive(const Message& message, std::span<const std::byte> bytes) {
    if (message.is_request)
        return samples::receive_request(bytes).map(samples::encode_any);
    return samples::receive_response(message.type, bytes);
}

// The size is the last field of a header.
Field size_field(const Message& message) {
    return {"size", (message.is_request ? request_header_size : response_header_size) - 8, 8,
            false};
}

std::uint64_t get(const Bytes& bytes, const Field& field) {
    std::uint64_t value = 0;
    for (std::size_t index = 0; index < field.size; ++index)
        value = (value << 8) | std::to_integer<std::uint64_t>(bytes[field.offset + index]);
    return value;
}

Bytes with(Bytes bytes, const Field& field, std::uint64_t value) {
    for (std::size_t index = field.size; index > 0; --index, value >>= 8)
        bytes[field.offset + index - 1] = static_cast<std::byte>(value & 0xff);
    return bytes;
}

// Four times the largest message. No valid message needs as much in one allocation.
constexpr std::size_t allocation_limit = 4 * max_message_size;

void expect_error(const Result<Bytes>& result) {
    ASSERT_FALSE(result) << hex(*result);
    EXPECT_TRUE(result.error().code == EBADMSG || result.error().code == EPROTONOSUPPORT)
        << result.error().code;
    EXPECT_FALSE(result.error().text.empty());
}

TEST(Malformed, TheSamplesAreGood) {
    for (const Message& message : all_messages()) {
        const auto result = test::value_of(receive(message, message.bytes));
        EXPECT_EQ(hex(result), hex(message.bytes)) << message.name;
    }
}

// Each truncated message is tried with its original size field, and with the truncated size.
TEST(Malformed, EveryTruncationAndOneByteTooMany) {
    for (const Message& message : all_messages()) {
        const Field size = size_field(message);
        for (std::size_t length = 0; length < message.bytes.size(); ++length) {
            SCOPED_TRACE(fmt::format("{} of {} bytes", message.name, length));
            // An allocation of exactly this size lets a sanitizer detect a read beyond its end.
            const Bytes part(message.bytes.begin(),
                             message.bytes.begin() + static_cast<std::ptrdiff_t>(length));
            expect_error(receive(message, part));
            if (length >= size.offset + size.size)
                expect_error(receive(message, with(part, size, length)));
        }
        Bytes longer = message.bytes;
        longer.push_back(std::byte{0});
        expect_error(receive(message, longer));
    }
}

TEST(Malformed, EveryFieldZeroMaximalAndOffByOne) {
    for (const Message& message : all_messages()) {
        for (const Field& field : message.fields) {
            const std::uint64_t value = get(message.bytes, field);
            const std::uint64_t maximum = UINT64_MAX >> (64 - 8 * field.size);
            for (const std::uint64_t mutation : {std::uint64_t{0}, maximum, (value + 1) & maximum,
                                                 (value - 1) & maximum, maximum ^ (maximum >> 1)}) {
                if (mutation == value)
                    continue;
                SCOPED_TRACE(fmt::format("{}: {} = {}", message.name, field.name, mutation));
                const Bytes mutated = with(message.bytes, field, mutation);
                largest_allocation = 0;
                const auto result = receive(message, mutated);
                EXPECT_LE(largest_allocation, allocation_limit);
                if (!field.any_value) {
                    expect_error(result);
                } else if (result) {
                    EXPECT_EQ(hex(*result), hex(mutated));
                }
            }
        }
    }
}

TEST(Malformed, SizesFarOutOfRange) {
    for (const Message& message : all_messages()) {
        const Field size = size_field(message);
        const std::size_t header = size.offset + size.size;
        for (const std::uint64_t value :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{header - 1},
              std::uint64_t{header} - 8, std::uint64_t{1} << 32,
              (std::uint64_t{1} << 32) + message.bytes.size(), std::uint64_t{1} << 63, UINT64_MAX,
              UINT64_MAX - 11, std::uint64_t{max_message_size} + 1}) {
            SCOPED_TRACE(fmt::format("{}: size {}", message.name, value));
            largest_allocation = 0;
            expect_error(receive(message, with(message.bytes, size, value)));
            EXPECT_LE(largest_allocation, allocation_limit);
        }
    }
}

// The decoder of the body must be safe even if the caller has not checked the header.
TEST(Malformed, BodyWithAHeaderNobodyChecked) {
    const Bytes body(40);
    for (std::uint32_t type = 0; type <= 9; ++type) {
        for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{12}, UINT64_MAX}) {
            largest_allocation = 0;
            EXPECT_FALSE(decode_request({MessageType{type}, size}, body)) << type << ' ' << size;
            EXPECT_LE(largest_allocation, allocation_limit);
        }
        EXPECT_FALSE(decode_request({MessageType{type}, 52}, body)) << type;
        EXPECT_FALSE(decode_response<CreateResponse>({Status::success, MessageType{type}, 0}, body))
            << type;
        EXPECT_FALSE(decode_response<OpenResponse>({Status::success, MessageType{type}, 0}, body))
            << type;
        EXPECT_FALSE(decode_response<CloseResponse>({Status::success, MessageType{type}, 0}, body))
            << type;
        EXPECT_FALSE(
            decode_response<SetAttributesResponse>({Status::success, MessageType{type}, 0}, body))
            << type;
    }
}

TEST(Malformed, TypesThatAreNotRequests) {
    for (const std::uint32_t type : {0U, 2U, 4U, 6U, 8U, 9U, 0x01000000U, 0xffffffffU}) {
        const Bytes bytes = with(encode(CloseRequest{}), {"type", 0, 4, false}, type);
        const auto header = std::span<const std::byte>(bytes).first(request_header_size);
        EXPECT_TRUE(test::failed(decode_request_header(header), EBADMSG, std::to_string(type)))
            << type;
        EXPECT_EQ(request_type(header), std::nullopt) << type;
    }
}

TEST(Malformed, TypeOfARequestThatIsOtherwiseWrong) {
    const Bytes bytes = with(encode(samples::create_request()), {"size", 4, 8, false}, UINT64_MAX);
    const std::span<const std::byte> message(bytes);
    EXPECT_EQ(request_type(message.first(request_header_size)), MessageType::create);
    EXPECT_EQ(request_type(message.first(4)), MessageType::create);
    EXPECT_EQ(request_type(message.first(3)), std::nullopt);
    EXPECT_EQ(request_type({}), std::nullopt);
}

TEST(Malformed, ResponseOfAnotherType) {
    const auto bytes = encode(CloseResponse{});
    EXPECT_TRUE(
        test::failed(decode_response_header(bytes, MessageType::set_attributes_response), EBADMSG));
    EXPECT_FALSE(decode_response_header(bytes, MessageType::close)); // not the type of a response
}

TEST(Malformed, PoolSetNames) {
    OpenRequest request = samples::open_request();
    for (const std::string& name : {std::string(), std::string(1, '\0'), std::string("a\0b", 3),
                                    std::string("pool.set\0", 9)}) {
        request.pool_set = name;
        expect_error(samples::receive_request(encode(request)).map(samples::encode_any));
    }
    Bytes no_nul = encode(samples::open_request());
    no_nul.back() = std::byte{'x'};
    expect_error(samples::receive_request(no_nul).map(samples::encode_any));
}

TEST(Malformed, InBandAttributesOfASuccess) {
    const auto refused = [](std::uint32_t port, std::uint32_t method, std::uint32_t lanes) {
        InBandAttributes in_band = samples::in_band();
        in_band.port = port;
        in_band.method = PersistMethod{method};
        in_band.lanes = lanes;
        const auto bytes = encode(CreateResponse{Status::success, in_band});
        return !samples::receive_response(MessageType::create_response, bytes);
    };
    EXPECT_FALSE(refused(1, 1, 1));
    for (const std::uint32_t port : {0U, 65536U, UINT32_MAX})
        EXPECT_TRUE(refused(port, 1, 1)) << port;
    for (const std::uint32_t method : {0U, 4U, UINT32_MAX})
        EXPECT_TRUE(refused(1, method, 1)) << method;
    EXPECT_TRUE(refused(1, 1, 0));
}

TEST(Malformed, VersionMismatchSaysWhatIsKnown) {
    for (const Field& field : {Field{"major", 12, 2, false}, Field{"minor", 14, 2, false}}) {
        const auto result =
            samples::receive_request(with(encode(samples::open_request()), field, 7));
        ASSERT_TRUE(test::failed(result, EPROTONOSUPPORT, "7"));
        EXPECT_TRUE(test::contains(result.error().text, "0.1"));
    }
}

TEST(Malformed, RandomBytesAndRandomChanges) {
    std::mt19937_64 random(20240229);
    const auto messages = all_messages();
    for (int round = 0; round < 20000; ++round) {
        const Message& message = messages[random() % messages.size()];
        Bytes bytes = message.bytes;
        for (auto changes = random() % 4 + 1; changes > 0; --changes)
            bytes[random() % bytes.size()] = static_cast<std::byte>(random() & 0xff);
        if (round % 4 == 0)
            std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random() & 0xff); });
        largest_allocation = 0;
        const auto result = receive(message, bytes);
        ASSERT_LE(largest_allocation, allocation_limit) << hex(bytes);
        if (result && message.type != MessageType::close) { // CLOSE drops unknown flags
            ASSERT_EQ(hex(*result), hex(bytes)) << message.name;
        }
    }
}

} // namespace
} // namespace rpmem::wire
