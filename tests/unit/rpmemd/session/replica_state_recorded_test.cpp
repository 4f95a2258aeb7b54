// SPDX-License-Identifier: BSD-3-Clause
// Tests SET_REPLICA_STATE, and what a session reports of its pool. The recorder shows which writes
// of the record are durable, and makes syncs fail. The test fails if a state is not durable when
// the request succeeds, if a failed request changes the record, if a request that must be refused
// is granted, if CLOSE ends the state, if a client that cannot compare the pool may write to it, or
// if the first page of the part disappears before the record says that the pool is catching up,
// before its copy is durable, or is not durable again when the record says that it is in sync.
#include "rpmemd/registry/pool_files.hpp"
#include "rpmemd/session/request_refusal.hpp"
#include "tests/unit/rpmemd/session/session_recorded_fixture.hpp"

#include <ctime>

namespace rpmem::target {
namespace {

using wire::ReplicaState;

constexpr wire::Agreement comparing{.lane_frames = true, .compare = true};

class RecordedReplicaState : public RecordedSession {
protected:
    void SetUp() override {
        RecordedSession::SetUp();
        start(comparing);
    }
    [[nodiscard]] PoolRecord pool_record() const {
        return value_of(decode_attribute(record().value()));
    }
    // Expects that STATE is refused with STATUS and a text with WORDS.
    void expect_refusal(ReplicaState state, wire::Status status, std::string_view words) {
        const auto set = session_->set_replica_state(state);
        ASSERT_FALSE(set);
        EXPECT_EQ(status_of(set.error()), status);
        EXPECT_TRUE(test::contains(set.error().text, words));
    }
    // Returns the state that precedes the response to OPEN.
    [[nodiscard]] wire::PoolState reported() const {
        const wire::Bytes message = session_->report_on_pool();
        const auto header = std::span(message).first(wire::response_header_size);
        EXPECT_EQ(wire::unsolicited_type(header, comparing), wire::MessageType::pool_state);
        return value_of(
            wire::decode_pool_state(std::span(message).subspan(wire::response_header_size)));
    }
    // Returns the calls since the last one of this function that change a file or make it durable.
    [[nodiscard]] std::vector<std::string> changes() {
        std::vector<std::string> found;
        const auto events = Recorder::instance().events();
        for (const Event& event : std::span(events).subspan(std::exchange(seen_, events.size()))) {
            const std::string name = std::filesystem::path(event.path).filename();
            if (event.call == "pwrite" || event.call == "fdatasync" || event.call == "fsetxattr" ||
                event.call == "fsync")
                found.push_back(event.call + " " +
                                (name.starts_with("page-") ? "saved page" : name));
        }
        return found;
    }
    [[nodiscard]] std::string first_page() const {
        return read_file(part("part0")).substr(0, header_size);
    }
    // Closes a pool that is catching up.
    void leave_catching_up() {
        ASSERT_TRUE(opens());
        ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
        ASSERT_TRUE(succeeded(session_->close(false)));
    }

private:
    std::size_t seen_ = 0;
};

TEST_F(RecordedReplicaState, IsDurableWhenTheRequestSucceeds) {
    ASSERT_TRUE(opens());
    EXPECT_EQ(pool_record().catching_up_since, 0);
    static_cast<void>(writes());
    const std::int64_t before = std::time(nullptr);
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
    EXPECT_EQ(writes(), 1U);
    EXPECT_TRUE(last_record_is_durable());
    EXPECT_GE(pool_record().catching_up_since, before);
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::in_sync)));
    EXPECT_EQ(writes(), 1U);
    EXPECT_TRUE(last_record_is_durable());
    EXPECT_EQ(pool_record().catching_up_since, 0);
    EXPECT_EQ(pool_record().alone_since, 0);
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::may_go_alone)));
    EXPECT_EQ(writes(), 1U);
    EXPECT_TRUE(last_record_is_durable());
    EXPECT_EQ(pool_record().alone_since, pool_record().since);
}

TEST_F(RecordedReplicaState, HidesTheFirstPageBetweenTheChangesOfTheRecord) {
    using Changes = std::vector<std::string>;
    ASSERT_TRUE(opens());
    const std::string before = first_page();
    static_cast<void>(changes());
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
    EXPECT_EQ(changes(), (Changes{"fsetxattr part0", "fsync part0", "pwrite saved page",
                                  "fdatasync saved page", "pwrite part0", "fdatasync part0",
                                  "pwrite saved page", "fdatasync saved page"}));
    EXPECT_EQ(first_page(), std::string(header_size, '\0'));
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
    EXPECT_EQ(changes(), (Changes{"fsetxattr part0", "fsync part0"})) << "it is hidden already";
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::in_sync)));
    EXPECT_EQ(changes(), (Changes{"pwrite part0", "fdatasync part0", "pwrite saved page",
                                  "fdatasync saved page", "fsetxattr part0", "fsync part0"}));
    EXPECT_EQ(first_page(), before);
}

TEST_F(RecordedReplicaState, IsNotInSyncWithoutItsFirstPage) {
    for (const auto& [call, path] :
         {std::pair("pwrite", "/part0"), {"fdatasync", "/part0"}, {"fdatasync", "/page-"}}) {
        start(comparing);
        ASSERT_TRUE(opens());
        const std::string before = first_page();
        ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
        Recorder::instance().fail({.call = call, .path = path, .number = 1, .code = EIO});
        EXPECT_TRUE(failed(session_->set_replica_state(ReplicaState::in_sync), EIO));
        EXPECT_NE(pool_record().catching_up_since, 0) << call << path;
        session_.reset();
        Recorder::instance().reset();
        start(comparing);
        ASSERT_TRUE(opens());
        ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::in_sync)));
        EXPECT_EQ(first_page(), before);
        session_.reset();
    }
}

TEST_F(RecordedReplicaState, WithoutARecordTheFirstPageIsShown) {
    const std::string before = first_page();
    leave_catching_up();
    ASSERT_NE(first_page(), before);
    ASSERT_EQ(::removexattr(part("part0").c_str(), pool_attribute_name), 0);
    start(comparing);
    ASSERT_TRUE(opens());
    EXPECT_EQ(first_page(), before);
}

TEST_F(RecordedReplicaState, OneThatIsNotDurableIsAnErrorAndIsTakenBack) {
    for (const ReplicaState state :
         {ReplicaState::catching_up, ReplicaState::in_sync, ReplicaState::may_go_alone}) {
        start(comparing);
        ASSERT_TRUE(opens());
        if (state == ReplicaState::in_sync) {
            ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
        }
        const auto before = record();
        Recorder::instance().fail({.call = "fsync", .path = "part0", .number = 0, .code = EIO});
        EXPECT_TRUE(failed(session_->set_replica_state(state), EIO, "the state of the replica"));
        EXPECT_EQ(record(), before);
        session_.reset();
        Recorder::instance().reset();
    }
}

// The attribute is refused with ENOTSUP, so the record is in state-dir.
TEST_F(RecordedReplicaState, OneThatIsNotDurableIsTakenBackInStateDirectory) {
    const auto record_in_file = [&] {
        const auto directory = value_of(StateDirectory::open(root / "state"));
        auto file = value_of(StateFile::open(directory, pool_file_names(directory).at(0)));
        return value_of(file.read<PoolRecord>()).value();
    };
    Recorder::instance().fail({.call = "fsetxattr", .path = "part0", .number = 0, .code = ENOTSUP});
    ASSERT_TRUE(opens());
    ASSERT_EQ(record(), std::nullopt);
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
    const PoolRecord before = record_in_file();
    EXPECT_NE(before.catching_up_since, 0);
    Recorder::instance().fail({.call = "fdatasync", .path = "/pool-", .number = 0, .code = EIO});
    EXPECT_TRUE(failed(session_->set_replica_state(ReplicaState::in_sync), EIO));
    EXPECT_EQ(record_in_file(), before);
}

TEST_F(RecordedReplicaState, InSyncAlsoEndsThatThePoolMayBeBehind) {
    ASSERT_TRUE(opens());
    ASSERT_TRUE(session_->set_attributes(golden_attributes(2, 0x80))); // not restored
    start(comparing);
    ASSERT_TRUE(opens());
    EXPECT_NE(pool_record().behind_since, 0);
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
    EXPECT_NE(pool_record().behind_since, 0);
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::in_sync)));
    EXPECT_EQ(pool_record().behind_since, 0);
}

TEST_F(RecordedReplicaState, CloseDoesNotEndIt) {
    leave_catching_up();
    EXPECT_TRUE(pool_record().closed);
    EXPECT_NE(pool_record().catching_up_since, 0);
}

TEST_F(RecordedReplicaState, WhatIsRefusedChangesNothing) {
    expect_refusal(ReplicaState::in_sync, wire::Status::bad_state, "before a pool was open");
    ASSERT_TRUE(opens());
    ASSERT_TRUE(succeeded(session_->set_replica_state(ReplicaState::catching_up)));
    const auto before = record();
    for (const std::uint32_t state : {0U, 4U, 0xffffffffU})
        expect_refusal(ReplicaState{state}, wire::Status::bad_state,
                       fmt::format("state {} of the replica", state));
    EXPECT_EQ(record(), before);
    ASSERT_TRUE(succeeded(session_->close(false)));
    configuration_.read_only = true;
    start(comparing);
    ASSERT_TRUE(succeeded(open(wire::Provider::tcp)));
    const auto closed = record();
    for (const ReplicaState state : {ReplicaState::in_sync, ReplicaState::catching_up})
        expect_refusal(state, wire::Status::no_access, "read-only");
    EXPECT_EQ(record(), closed);
    EXPECT_TRUE(session_->report_on_pool().empty()) << "a reader gets no state";
}

TEST_F(RecordedReplicaState, NeedsTheCapability) {
    start();
    ASSERT_TRUE(opens());
    const auto before = record();
    expect_refusal(ReplicaState::catching_up, wire::Status::bad_protocol, "did not agree");
    EXPECT_EQ(record(), before);
    EXPECT_TRUE(session_->report_on_pool().empty());
}

TEST_F(RecordedReplicaState, IsReportedWithTheClaim) {
    leave_catching_up();
    const PoolRecord left = pool_record();
    start(comparing);
    ASSERT_TRUE(opens());
    wire::PoolState state = reported();
    EXPECT_LT(state.unchanged_for, 60000U) << "the part was written by this test";
    state.unchanged_for = 0;
    EXPECT_EQ(state, (wire::PoolState{.id = left.id,
                                      .epoch = left.epoch + 1,
                                      .last_epoch = left.written_epoch,
                                      .behind_since = 0,
                                      .catching_up_since = left.catching_up_since,
                                      .parts = left.parts}));
    ASSERT_TRUE(session_->set_attributes(golden_attributes(2, 0x80))); // not restored
    start(comparing);
    ASSERT_TRUE(opens());
    EXPECT_EQ(reported().behind_since, pool_record().behind_since);
    EXPECT_NE(reported().behind_since, 0) << "the session before was not closed";
}

// A client of protocol 0.1 knows no status of ESTALE.
TEST_F(RecordedReplicaState, WhoCannotCompareMayNotWrite) {
    leave_catching_up();
    const auto before = record();
    configuration_.sockets = true;
    const std::tuple<wire::Agreement, wire::Provider, wire::Status> clients[] = {
        {{.lane_frames = true}, wire::Provider::tcp, wire::Status::stale},
        {{}, wire::Provider::sockets, wire::Status::pool_configuration}};
    for (const auto& [agreement, provider, status] : clients) {
        start(agreement);
        const auto opened = open(provider);
        ASSERT_FALSE(opened);
        EXPECT_EQ(status_of(opened.error()), status);
        EXPECT_TRUE(test::contains(opened.error().text, "it is catching up with user"));
        EXPECT_EQ(record(), before);
    }
    configuration_.read_only = true;
    start();
    ASSERT_TRUE(succeeded(open(wire::Provider::tcp)));
    const auto notices = session_->take_notices();
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_TRUE(test::contains(notices[0], "it is catching up with user"));
}

} // namespace
} // namespace rpmem::target
