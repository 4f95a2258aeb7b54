// SPDX-License-Identifier: BSD-3-Clause
// Tests when a session writes the record of its pool, which is an attribute of the first part. The
// recorder examines each write and makes syncs fail. The test fails if a record is written while
// another session could open the pool, is not synced, states a clean close after a failure, or is
// not restored after a failed open, or if a pool on persistent memory is not flushed.
#include "rpmemd/pools/files/part_file.hpp"
#include "tests/unit/rpmemd/session/session_recorded_fixture.hpp"

namespace rpmem::target {
namespace {

TEST_F(RecordedSession, OpensAndClosesWhileThePartsAreLocked) {
    ASSERT_TRUE(opens());
    EXPECT_EQ(writes(), 1U);
    ASSERT_TRUE(session_->set_attributes(golden_attributes(2, 0x80)));
    EXPECT_EQ(writes(), 2U) << "before the headers change, and after it";
    ASSERT_TRUE(session_->close(false));
    EXPECT_EQ(writes(), 1U);
}

// The session must not continue before a record is durable, or a power failure could undo it.
TEST_F(RecordedSession, EachRecordIsSyncedAsSoonAsItIsWritten) {
    ASSERT_TRUE(opens());
    ASSERT_TRUE(session_->set_attributes(golden_attributes(2, 0x80)));
    ASSERT_TRUE(session_->close(false));
    const auto events = Recorder::instance().events();
    std::size_t written = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const bool is_of_session =
            events[i].call == "pwrite" && events[i].path.find("/state/") != std::string::npos;
        if (!is_of_session && events[i].call != "fsetxattr")
            continue;
        ++written;
        ASSERT_LT(i + 1, events.size());
        // fdatasync(2) need not make attributes durable.
        EXPECT_TRUE(events[i + 1].call == "fsync" ||
                    (is_of_session && events[i + 1].call == "fdatasync"))
            << events[i + 1].call << " follows a write to " << events[i].path;
        EXPECT_EQ(events[i + 1].path, events[i].path);
    }
    EXPECT_GE(written, 4U);
}

TEST_F(RecordedSession, RemovesWhileThePartsAreLocked) {
    ASSERT_TRUE(opens());
    EXPECT_EQ(writes(), 1U);
    ASSERT_TRUE(session_->close(true));
    EXPECT_EQ(writes(), 1U);
}

TEST_F(RecordedSession, GivesBackWhileThePartsAreLocked) {
    ASSERT_TRUE(opens());
    EXPECT_EQ(writes(), 1U);
    session_.reset(); // no lane has connected
    EXPECT_EQ(writes(), 2U) << "what was there before, and how the parts are left";
}

// The session claims the pool before it finds that it cannot serve it. If the earlier record was
// not restored, the next session would report that the pool may be behind.
TEST_F(RecordedSession, APoolThatCannotBeServedIsGivenBack) {
    ASSERT_TRUE(opens());
    ASSERT_TRUE(session_->close(false));
    const auto closed = record();
    ASSERT_NE(closed, std::nullopt);
    configuration_.persist_apm = true;
    configuration_.persist_general = false; // the appliance method does not exist over tcp
    start();
    static_cast<void>(writes());
    EXPECT_FALSE(opens());
    EXPECT_EQ(writes(), 2U) << "the claim, and what was there before";
    PoolRecord expected = value_of(decode_attribute(*closed));
    expected.released_epoch = 2;
    EXPECT_EQ(value_of(decode_attribute(record().value())), expected);
}

// With the appliance method no processor flushes. On a disk, acknowledged data would only be in the
// page cache.
TEST_F(RecordedSession, OnlyPersistentMemoryHasTheApplianceMethod) {
    configuration_.persist_apm = true;
    configuration_.sockets = true;
    start();
    const auto opened = open(wire::Provider::sockets);
    ASSERT_TRUE(succeeded(opened));
    EXPECT_NE(opened->rkey, 0U) << "the peer has direct access";
    EXPECT_EQ(opened->method, test::pmem_is_forced() ? wire::PersistMethod::appliance
                                                     : wire::PersistMethod::general_purpose);
}

// The pool may lack acknowledged data, so its record must not state a clean close.
TEST_F(RecordedSession, ACloseThatFailsDoesNotCloseTheRecord) {
    ASSERT_TRUE(opens());
    EXPECT_EQ(writes(), 1U);
    Recorder::instance().fail({.call = "fdatasync", .path = "part0", .number = 0, .code = EIO});
    EXPECT_FALSE(session_->close(false));
    EXPECT_EQ(writes(), 1U);
    const PoolRecord left = value_of(decode_attribute(record().value()));
    EXPECT_FALSE(left.closed);
    EXPECT_TRUE(test::contains(left.failure, "part0")) << left.failure;
}

// The initiator of a lost session does not get the failure, so the record must report it to the
// next one.
TEST_F(RecordedSession, AMediumThatFailsIsWrittenDown) {
    ASSERT_TRUE(opens());
    EXPECT_EQ(writes(), 1U);
    Recorder::instance().fail({.call = "fdatasync", .path = "part1", .number = 0, .code = EIO});
    session_.reset(); // no lane has connected
    EXPECT_EQ(writes(), 2U) << "what was there before, and the failure";
    const PoolRecord left = value_of(decode_attribute(record().value()));
    EXPECT_TRUE(test::contains(left.failure, "part1")) << left.failure;
    EXPECT_TRUE(last_record_is_durable());
    start();
    Recorder::instance().reset();
    ASSERT_TRUE(opens());
    const auto notices = session_->take_notices();
    EXPECT_TRUE(std::ranges::any_of(notices, [](const std::string& text) {
        return test::contains(text, "its medium has failed before");
    }));
    EXPECT_EQ(value_of(decode_attribute(record().value())).failure, left.failure);
}

// If the claim remained, the next session would assume that this one has written to the pool.
TEST_F(RecordedSession, AClaimThatIsNotDurableIsTakenBack) {
    Recorder::instance().fail({.call = "fsync", .path = "part0", .number = 0, .code = EIO});
    EXPECT_FALSE(opens());
    EXPECT_EQ(writes(), 1U);
    EXPECT_EQ(record(), std::nullopt);
}

TEST_F(RecordedSession, AClaimThatIsNotDurableGivesWayToTheEarlierOne) {
    ASSERT_TRUE(opens());
    ASSERT_TRUE(session_->close(false));
    const auto closed = record();
    ASSERT_NE(closed, std::nullopt);
    EXPECT_EQ(writes(), 2U);
    start();
    Recorder::instance().fail({.call = "fsync", .path = "part0", .number = 0, .code = EIO});
    EXPECT_FALSE(opens());
    EXPECT_EQ(writes(), 2U) << "the claim, and what was there before";
    EXPECT_EQ(record(), closed);
}

// CTest runs these tests with PMEM_IS_PMEM_FORCE=1 as Pmem.IsFlushedByClose.
class PmemRecordedSession : public RecordedSession {
protected:
    void SetUp() override {
        RecordedSession::SetUp();
        if (!test::pmem_is_forced())
            GTEST_SKIP() << "this needs PMEM_IS_PMEM_FORCE=1 in the environment";
    }
    static constexpr std::size_t both_parts = 2 * (std::size_t{2} << 20) - header_size;
    [[nodiscard]] static std::size_t flushed_bytes() {
        std::size_t flushed = 0;
        for (const Event& event : Recorder::instance().events())
            flushed += event.call == "pmem_persist" ? event.length : 0;
        return flushed;
    }
};

// The peer may have written data without waiting for them, and the pool is marked as closed.
TEST_F(PmemRecordedSession, ASessionThatWasCutOffFlushesThePool) {
    ASSERT_TRUE(opens());
    Recorder::instance().reset();
    session_.reset();
    EXPECT_GE(flushed_bytes(), both_parts);
}

// Without resumable sessions, an initiator may send CLOSE before all its writes are acknowledged.
TEST_F(PmemRecordedSession, ACloseThatMayComeEarlyFlushesThePool) {
    ASSERT_TRUE(opens());
    Recorder::instance().reset();
    ASSERT_TRUE(session_->close(false));
    EXPECT_GE(flushed_bytes(), both_parts);
}

TEST_F(RecordedSession, TheEarlierClaimIsDurableAgain) {
    ASSERT_TRUE(opens());
    ASSERT_TRUE(session_->close(false));
    start();
    Recorder::instance().fail({.call = "fsync", .path = "part0", .number = 1, .code = EIO});
    EXPECT_FALSE(opens());
    EXPECT_TRUE(last_record_is_durable());
}

TEST_F(RecordedSession, ARecordLargerThanTheLimitIsNotRead) {
    const std::string value(max_pool_attribute_size + 1, 'x');
    ASSERT_EQ(::setxattr(part("part0").c_str(), pool_attribute_name, value.data(), value.size(), 0),
              0);
    const auto file = value_of(PartFile::open(part("part0")));
    EXPECT_TRUE(failed(PoolAttribute(file).read(), ERANGE));
}

} // namespace
} // namespace rpmem::target
