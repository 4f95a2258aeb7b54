// SPDX-License-Identifier: BSD-3-Clause
// Tests the bytes of the records of sessions and pools. The test fails if a record changes on its
// way, if a torn, damaged or malformed one is accepted or hides the one before it, if an unknown
// field or a later format is treated wrongly, or if a text of the peer keeps control characters.
#include "rpmemd/registry/records.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

namespace rpmem::target {
namespace {

template <typename Record>
std::string slot_of(const Record& record, std::uint64_t sequence) {
    const auto slot = value_of(encode_slot(record, sequence));
    return {slot.begin(), slot.end()};
}

// Returns a slot with TEXT and a valid checksum.
std::string sealed(const std::string& text) {
    transport::Digest digest;
    EXPECT_TRUE(transport::sha256({transport::bytes_of(text)}, digest));
    std::string slot;
    for (const std::byte byte : digest)
        slot += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    slot += " " + text + "\n";
    slot.resize(std::max(slot.size(), slot_size));
    return slot;
}

std::string text_of(const std::string& slot) {
    const auto begin = slot.find('{');
    return slot.substr(begin, slot.find('\n') - begin);
}

template <typename Record>
auto decode(const std::string& file) {
    return decode_file<Record>(file);
}

TEST(Records, AreReadAsTheyWereWritten) {
    const auto session = value_of(decode<SessionRecord>(slot_of(session_record(), 9)));
    ASSERT_TRUE(session);
    EXPECT_EQ(session->record, session_record());
    EXPECT_EQ(session->sequence, 9U);
    const auto pool = value_of(decode<PoolRecord>(slot_of(pool_record(), 9)));
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->record, pool_record());
}

TEST(Records, TheNewerOneCounts) {
    for (const auto& [first, second, slot] : {std::tuple(4U, 5U, 1U), std::tuple(6U, 5U, 0U)}) {
        const auto newest = value_of(decode<PoolRecord>(slot_of(pool_record(first), first) +
                                                        slot_of(pool_record(second), second)));
        ASSERT_TRUE(newest);
        EXPECT_EQ(newest->slot, slot);
        EXPECT_EQ(newest->record.generation, std::max(first, second));
    }
}

TEST(Records, NobodyHasWrittenToABlankFile) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, slot_size, state_file_size})
        EXPECT_FALSE(value_of(decode<PoolRecord>(std::string(size, '\0'))));
}

// A write that ends after any byte must leave the record before it.
TEST(Records, AHalfWrittenOneLeavesTheOther) {
    const std::string old = slot_of(pool_record(1), 1);
    const std::string newer = slot_of(pool_record(2), 2);
    for (const std::string& older : {slot_of(pool_record(0), 0), std::string(slot_size, '\0')})
        for (std::size_t end = 0; end <= newer.size(); ++end) {
            const std::string slot = newer.substr(0, end) + older.substr(end);
            const auto newest = value_of(decode<PoolRecord>(old + slot));
            ASSERT_TRUE(newest);
            ASSERT_EQ(newest->record.generation, slot == newer ? 2U : 1U) << end;
        }
}

// A changed byte or an early end must never give another record.
TEST(Records, DamageIsNoticed) {
    const std::string good = slot_of(session_record(), 1);
    const std::size_t length = good.find('\n') + 1;
    for (std::size_t place = 0; place < length; ++place) {
        std::string file = good;
        file[place] = static_cast<char>(file[place] ^ 1);
        EXPECT_TRUE(failed(decode<SessionRecord>(file), EBADMSG)) << place;
        if (place > 0) {
            EXPECT_TRUE(failed(decode<SessionRecord>(good.substr(0, place)), EBADMSG)) << place;
        }
    }
}

TEST(Records, WhatMakesNoSenseIsRefused) {
    const std::string good = text_of(slot_of(session_record(), 1));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto place = text.find(from);
        EXPECT_NE(place, std::string::npos) << from;
        return text.replace(place, from.size(), to);
    };
    ASSERT_TRUE(value_of(decode<SessionRecord>(sealed(good))));
    for (const std::string& text : {std::string(),
                                    std::string("{}"),
                                    std::string("null"),
                                    std::string("[1,2]"),
                                    std::string("{\"since\":"),
                                    std::string(3000, '['),
                                    with("1700000000", "-1"),
                                    with("1700000000", "1.5"),
                                    with("1700000000", "\"1700000000\""),
                                    with("1700000000", "99999999999999999999999"),
                                    with("2f706f6f6c73", "2f706f6f6c7"),
                                    with("2f706f6f6c73", "000000000000"),
                                    with("\"version\":2", "\"version\":1"),
                                    with("alice", "al\\u0007ice"),
                                    with("alice", "al\xffice"),
                                    with("alice", std::string(max_record_text + 1, 'a')),
                                    with("\"user\"", "\"nobody\""),
                                    with("0101", "01g1"),
                                    with("0101", "01"),
                                    with("\"since\":1700000000", "\"since\":18446744073709551615"),
                                    with("\"sequence\":1", "\"sequence\":18446744073709551615")})
        EXPECT_TRUE(failed(decode<SessionRecord>(sealed(text)), EBADMSG)) << text;
    EXPECT_TRUE(failed(decode<PoolRecord>(sealed(good)), EBADMSG)) << "a session is no pool";
}

// A later format may have contents that this version would lose, so it must not be overwritten.
TEST(Records, ALaterFormatIsRefusedByItsNumber) {
    std::string text = text_of(slot_of(pool_record(), 1));
    text.replace(text.find("\"version\":2"), 11, "\"version\":4");
    for (const std::string& file : {sealed(text), slot_of(pool_record(), 5) + sealed(text)})
        EXPECT_TRUE(failed(decode<PoolRecord>(file), ENOTSUP, "format 4"));
    EXPECT_TRUE(failed(decode_attribute(sealed(text)), ENOTSUP, "format 4"));
}

TEST(Records, ASessionHasNoFormat3) {
    std::string text = text_of(slot_of(session_record(), 1));
    text.replace(text.find("\"version\":2"), 11, "\"version\":3");
    EXPECT_TRUE(failed(decode<SessionRecord>(sealed(text)), ENOTSUP, "only up to 2"));
}

TEST(Records, ACatchUpWithoutAValidTimeIsRefused) {
    PoolRecord record = pool_record();
    record.catching_up_since = 1700000009;
    const std::string good = text_of(slot_of(record, 1));
    ASSERT_TRUE(value_of(decode<PoolRecord>(sealed(good))));
    for (const char* const time : {"-1", "1.5", "\"1700000009\"", "18446744073709551615"}) {
        std::string text = good;
        text.replace(text.find("1700000009"), 10, time);
        EXPECT_TRUE(failed(decode<PoolRecord>(sealed(text)), EBADMSG)) << text;
    }
}

// Versions that know only format 2 must not open a pool that is catching up or may lack calls, and
// may open all others.
TEST(Records, OnlyAPoolThatMayNotBeOpenedHasTheLaterFormat) {
    PoolRecord record = pool_record();
    EXPECT_TRUE(test::contains(value_of(encode_attribute(record)), "\"version\":2"));
    record.catching_up_since = 7;
    const std::string value = value_of(encode_attribute(record));
    EXPECT_TRUE(test::contains(value, "\"version\":3"));
    EXPECT_EQ(value_of(decode_attribute(value)), record);
    PoolRecord alone = record;
    alone.alone_since = 1700000009;
    EXPECT_EQ(value_of(decode_attribute(value_of(encode_attribute(alone)))), alone);
    alone.catching_up_since = 0;
    EXPECT_TRUE(test::contains(value_of(encode_attribute(alone)), "\"version\":3"));
    alone.catching_up_since = 1700000009;
    alone.accepted_epoch = alone.released_epoch = 0xffffffffffff;
    EXPECT_LT(value_of(encode_attribute(alone)).size(), 960U);
    PoolRecord accepted = pool_record();
    accepted.accepted_epoch = 3;
    EXPECT_TRUE(test::contains(value_of(encode_attribute(accepted)), "\"version\":3"));
    EXPECT_EQ(value_of(decode_attribute(value_of(encode_attribute(accepted)))), accepted);
    std::string text = text_of(value);
    text.replace(text.find("\"catching_up_since\":7"), 21, "\"catching_up_since\":0");
    EXPECT_TRUE(failed(decode_attribute(sealed(text)), EBADMSG)) << "nobody writes that";
    text.replace(text.find("\"catching_up_since\""), 19, "\"other\"");
    EXPECT_TRUE(failed(decode_attribute(sealed(text)), EBADMSG));
}

// An older version has not noted which claim has written last, so it may be any.
TEST(Records, WithoutItsFieldTheLastClaimHasWritten) {
    PoolRecord record = pool_record();
    record.epoch = 9;
    record.written_epoch = 4;
    std::string text = text_of(value_of(encode_attribute(record)));
    EXPECT_EQ(value_of(decode_attribute(sealed(text))).written_epoch, 4U);
    text.replace(text.find("\"written_epoch\""), 15, "\"unknown_field\"");
    EXPECT_EQ(value_of(decode_attribute(sealed(text))).written_epoch, 9U);
    EXPECT_EQ(value_of(decode<PoolRecord>(sealed(text)))->record.written_epoch, 9U);
}

// An older version has not noted it, and drops it.
TEST(Records, WithoutItsFieldTheTimeOfModificationIsUnknown) {
    std::string text = text_of(value_of(encode_attribute(pool_record())));
    text.replace(text.find("\"modified\""), 10, "\"replaced\"");
    EXPECT_EQ(value_of(decode_attribute(sealed(text))).modified, 0);
}

TEST(Records, AnAttributeIsReadAsItWasWritten) {
    PoolRecord record = pool_record();
    record.behind_since = 5;
    record.failure = "part a: Input/output error";
    const std::string value = value_of(encode_attribute(record));
    EXPECT_LT(value.size(), 960U) << "all attributes of a file on ext4 with blocks of 1 KiB";
    EXPECT_EQ(value_of(decode_attribute(value)), record);
    for (std::size_t length = 0; length < value.size(); ++length)
        EXPECT_TRUE(failed(decode_attribute(value.substr(0, length)), EBADMSG)) << length;
    record.epoch = std::numeric_limits<std::uint64_t>::max();
    EXPECT_TRUE(failed(decode_attribute(value_of(encode_attribute(record))), EBADMSG))
        << "there is no next epoch";
}

TEST(Records, FieldsOfLaterVersionsArePassedOver) {
    std::string text = text_of(slot_of(pool_record(), 1));
    text.insert(1, "\"colour\":[{\"a\":1}],");
    EXPECT_TRUE(value_of(decode<PoolRecord>(sealed(text))));
}

// The peer provides the names.
TEST(Records, LongAndStrangeTextsAreCutAndMadeHarmless) {
    SessionRecord record = session_record();
    record.pool_set = std::string(5000, '\xff');
    record.initiator.host = "a\nb\"}";
    const auto read = value_of(decode<SessionRecord>(slot_of(record, 1)));
    ASSERT_TRUE(read);
    EXPECT_LE(read->record.pool_set.size(), max_record_text);
    EXPECT_EQ(read->record.initiator.host, "a\\x0ab\"}");
}

} // namespace
} // namespace rpmem::target
