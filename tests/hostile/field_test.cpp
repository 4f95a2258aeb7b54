// SPDX-License-Identifier: BSD-3-Clause
// Tests the real daemon with requests in which one field is wrong: zero, the maximum, one off, or
// out of range. The test fails if the daemon hangs or crashes, accepts a wrong field, waits for
// more bytes after a wrong size, refuses with another status or a log without the field, or
// changes a part.
#include "tests/hostile/hostile_session.hpp"

namespace rpmem::hostile {
namespace {

using wire::MessageType;
using wire::Status;

constexpr std::uint64_t maximum_32 = 0xffffffff;

class Fields : public HostileTest {
protected:
    struct Case {
        const char* field;
        std::size_t offset;
        std::size_t size;
        std::uint64_t value;
    };

    // Sends only the header. The daemon must refuse it without waiting for the rest.
    void expect_bad_size(MessageType type, const wire::Bytes& message, std::uint64_t size) {
        SCOPED_TRACE(fmt::format("size {}", size));
        const auto header = with_field(message, 4, 8, size);
        const auto end =
            session(std::span(header).first(wire::request_header_size), Input::left_open);
        expect_refusal(end, type, Status::bad_protocol, 1, fmt::format("size field is {}", size));
    }

    void expect_malformed(MessageType type, const wire::Bytes& message, const Case& change,
                          const std::string& logged) {
        expect_refused(type, message, change, Status::bad_protocol, logged, 1);
    }

    void expect_refused(MessageType type, const wire::Bytes& message, const Case& change,
                        Status status, const std::string& logged, int ending = 0) {
        SCOPED_TRACE(fmt::format("{} = {}", change.field, change.value));
        const auto end = session(with_field(message, change.offset, change.size, change.value));
        expect_refusal(end, type, status, ending, logged);
    }

    // The fields that CREATE and OPEN share.
    void check_common(MessageType type, const wire::Bytes& message);
};

TEST_F(Fields, TypesThatAreNotRequests) {
    const auto message = encode(create_request());
    for (const std::uint64_t type :
         {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{4}, std::uint64_t{6}, std::uint64_t{8},
          std::uint64_t{9}, std::uint64_t{20}, std::uint64_t{22}, std::uint64_t{0x01000000},
          maximum_32}) {
        SCOPED_TRACE(type);
        const auto end = session(with_field(message, 0, 4, type), Input::left_open);
        expect_hang_up(end, fmt::format("type field is {}", type));
    }
}

TEST_F(Fields, SizesThatNoMessageHas) {
    const std::pair<MessageType, wire::Bytes> messages[] = {
        {MessageType::create, encode(create_request())},
        {MessageType::open, encode(open_request())},
        {MessageType::close, encode(wire::CloseRequest{})},
        {MessageType::set_attributes, encode(wire::SetAttributesRequest{test_attributes()})},
        {MessageType::set_replica_state,
         encode(wire::SetReplicaStateRequest{wire::ReplicaState::in_sync})}};
    for (const auto& [type, message] : messages)
        for (const std::uint64_t size :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{11}, std::uint64_t{12},
              std::uint64_t{wire::max_message_size} + 1, std::uint64_t{65536},
              std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + message.size(),
              std::uint64_t{1} << 63, UINT64_MAX - 11, UINT64_MAX})
            expect_bad_size(type, message, size);
    // These messages have a fixed size.
    for (const std::uint64_t size : {15U, 17U})
        expect_bad_size(MessageType::close, messages[2].second, size);
    for (const std::uint64_t size : {115U, 117U})
        expect_bad_size(MessageType::set_attributes, messages[3].second, size);
    for (const std::uint64_t size : {15U, 17U})
        expect_bad_size(MessageType::set_replica_state, messages[4].second, size);
}

TEST_F(Fields, SizeOneOff) {
    for (const auto& [type, message] : {std::pair(MessageType::create, encode(create_request())),
                                        std::pair(MessageType::open, encode(open_request()))}) {
        expect_malformed(type, message, {"size", 4, 8, message.size() - 1}, "pool set name");
        expect_malformed(type, message, {"size", 4, 8, message.size() + 1}, "announced");
        // A message that is one byte longer, with its size field.
        auto longer = with_field(message, 4, 8, message.size() + 1);
        longer.push_back(std::byte{});
        expect_refusal(session(longer), type, Status::bad_protocol, 1, "pool set name");
    }
}

void Fields::check_common(MessageType type, const wire::Bytes& message) {
    for (const std::uint64_t version : {1U, 2U, 0xffffU})
        expect_malformed(type, message, {"major", 12, 2, version},
                         fmt::format("version {}.1", version));
    for (const std::uint64_t version : {0U, 2U, 0xffffU})
        expect_malformed(type, message, {"minor", 14, 2, version},
                         fmt::format("version 0.{}", version));
    for (const std::uint64_t size :
         {UINT64_MAX, UINT64_MAX - 4095, 2 * part_size, std::uint64_t{1} << 63})
        expect_refused(type, message, {"pool size", 16, 8, size}, Status::bad_size, "");
    expect_refused(type, message, {"lanes", 24, 4, 0}, Status::bad_lanes, "lanes");
    for (const std::uint64_t provider : {std::uint64_t{0}, std::uint64_t{3}, maximum_32})
        expect_refused(type, message, {"provider", 28, 4, provider}, Status::bad_provider,
                       fmt::format("provider {} was requested", provider));
    for (const std::uint64_t size : {UINT64_MAX, std::uint64_t{1} << 32, std::uint64_t{524289}})
        expect_refused(type, message, {"inline size", 32, 8, size}, Status::bad_protocol,
                       "inline data");
}

TEST_F(Fields, OfCreate) { check_common(MessageType::create, encode(create_request())); }
TEST_F(Fields, OfOpen) { check_common(MessageType::open, encode(open_request())); }

TEST_F(Fields, ValuesThatAreOddButGranted) {
    auto create = create_request();
    create.pool_size = 0;
    expect_granted(session(encode(create), Input::closed_after_first_answer), MessageType::create);
    create = create_request();
    create.inline_size = 0;
    expect_granted(session(encode(create), Input::closed_after_first_answer), MessageType::create);
    auto open = open_request();
    open.lanes = UINT32_MAX; // the response states how many lanes were granted
    expect_granted(session(encode(open)), MessageType::open);
}

TEST_F(Fields, VerbsOrARefusal) {
    auto open = open_request();
    open.provider = wire::Provider::verbs;
    const auto end = session(encode(open));
    ASSERT_EQ(end.responses.size(), 1U);
    const bool granted = end.responses[0].status == Status::success;
    EXPECT_EQ(end.ending.status, granted ? 1 : 0) << end.log;
}

TEST_F(Fields, SizeOfThePoolSetName) {
    for (const auto& [type, message, offset] :
         {std::tuple(MessageType::create, encode(create_request()), std::size_t{144}),
          std::tuple(MessageType::open, encode(open_request()), std::size_t{40})}) {
        const auto good = field_of(message, offset, 4);
        for (const std::uint64_t size :
             {std::uint64_t{0}, good - 1, good + 1, maximum_32, std::uint64_t{0x80000000}})
            expect_malformed(type, message, {"name size", offset, 4, size},
                             fmt::format("pool set name is {}", size));
    }
}

// Any value may be granted or refused. The created pool is removed, because no lane connected.
TEST_F(Fields, AttributesOfCreate) {
    const auto message = encode(create_request());
    // Signature, version, the features, and the first word of each further attribute.
    for (const std::size_t offset : {40U, 48U, 52U, 56U, 60U, 64U, 80U, 96U, 112U, 128U}) {
        const auto good = field_of(message, offset, 4);
        for (const std::uint64_t value :
             {std::uint64_t{0}, maximum_32, (good + 1) & maximum_32, (good - 1) & maximum_32}) {
            SCOPED_TRACE(fmt::format("offset {} = {}", offset, value));
            const auto end =
                session(with_field(message, offset, 4, value), Input::closed_after_first_answer);
            ASSERT_EQ(end.responses.size(), 1U) << end.log;
            const bool granted = end.responses[0].status == Status::success;
            EXPECT_EQ(end.ending.status, granted ? 1 : 0) << end.log;
            EXPECT_TRUE(granted || end.responses[0].status == Status::pool_configuration)
                << end.log;
        }
    }
}

TEST_F(Fields, NoAttributesForAPoolWithHeaders) {
    auto create = create_request();
    create.attributes = {};
    expect_refusal(session(encode(create)), MessageType::create, Status::pool_configuration, 0,
                   absent_pool);
}

// The daemon ignores unknown bits.
TEST_F(Fields, FlagsOfClose) {
    for (const std::uint32_t flags : {0U, 2U, 0x80000000U, 0xfffffffeU}) {
        auto close = encode(wire::CloseRequest{});
        std::memcpy(close.data() + 12, &flags, sizeof(flags)); // host order
        const auto end = session(joined({encode(open_request()), close}));
        ASSERT_EQ(end.responses.size(), 2U) << end.log;
        EXPECT_EQ(end.responses[1].status, Status::success);
        EXPECT_EQ(end.ending.status, 0);
    }
}

} // namespace
} // namespace rpmem::hostile
