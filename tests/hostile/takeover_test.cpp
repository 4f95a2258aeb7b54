// SPDX-License-Identifier: BSD-3-Clause
// Tests how sessions of the real daemon resume a lost one, with plain sockets as lanes. The test
// fails if a later session does not end the earlier daemon and get its pool, if a byte of the
// earlier one arrives afterwards, if a session resumes a pool that another may have written, or if
// a peer timeout ends a session whose initiator sends heartbeats.
#include "tests/hostile/peer.hpp"

namespace rpmem::hostile {
namespace {

using wire::Status;
using wire::TakeoverKey;

constexpr TakeoverKey unknown_key{std::byte{1}};
constexpr std::uint64_t place = 8192;

class Takeover : public HostileTest {
protected:
    Takeover() { offer_ = wire::offer_value; }

    [[nodiscard]] char byte_at(std::uint64_t offset) const {
        return directory_.read_part("existing.set.0").at(offset);
    }
};

TEST_F(Takeover, EndsTheEarlierDaemonAndOpensItsPool) {
    Peer earlier(directory_);
    earlier.take_pool();
    RawLane lane = earlier.lane();
    ASSERT_TRUE(lane.persist(place, 64, std::byte{7}));
    const TakeoverKey key = earlier.control.takeover_key();
    // Later generations use the key of generation 0.
    for (const std::uint64_t generation : {1U, 2U, 5U}) {
        Peer later(directory_);
        later.take_pool(generation, key);
        EXPECT_TRUE(later.control.notices().empty());
        RawLane again = later.lane();
        EXPECT_TRUE(again.persist(place, 64, std::byte{8}));
        later.daemon.signal(SIGKILL);
        later.expect_killed();
    }
    earlier.expect_killed();
    Peer final_one(directory_);
    final_one.take_pool(6, key);
    final_one.expect_close();
    EXPECT_EQ(byte_at(place), 8);
}

// Bytes that the earlier daemon had not read must not reach the pool.
TEST_F(Takeover, NoByteOfTheEarlierSessionArrivesLater) {
    Peer earlier(directory_);
    earlier.take_pool();
    RawLane lane = earlier.lane();
    ASSERT_TRUE(lane.persist(place, 64, std::byte{7}));
    earlier.daemon.stop(); // otherwise a worker could read the next frame
    const wire::Bytes data(64, std::byte{9});
    ASSERT_TRUE(lane.send_frame({.type = wire::FrameType::write,
                                 .flags = wire::frame_flag::answer_wanted,
                                 .length = 64,
                                 .offset = place},
                                data));
    Peer later(directory_);
    later.take_pool(1, earlier.control.takeover_key());
    earlier.daemon.signal(SIGCONT);
    earlier.expect_killed();
    EXPECT_TRUE(lane.is_ended());
    EXPECT_EQ(byte_at(place), 7);
    later.expect_close();
    EXPECT_EQ(byte_at(place), 7);
}

TEST_F(Takeover, AnotherInitiatorIsToldWhoHasThePool) {
    Peer holder(directory_);
    holder.take_pool();
    for (const std::uint64_t generation : {0U, 1U}) {
        Peer other(directory_);
        ASSERT_EQ(other.control.log_in(generation, generation ? unknown_key : TakeoverKey{}),
                  Status::success);
        // A session that resumes has lost its pool to the holder. It must not try again.
        EXPECT_EQ(other.control.open(), generation ? Status::stale : Status::busy);
        other.expect_end("held by the session of user alice on host host-a (127.0.0.1), since 20");
    }
    // An initiator without LOGIN.
    Peer old(directory_, {}, {}, wire::all_capabilities & ~wire::capability_resume);
    EXPECT_EQ(old.control.open(), Status::busy);
    old.expect_end("alice");
    holder.expect_close();
}

TEST_F(Takeover, AGenerationThatIsOverIsNotTakenUp) {
    Peer holder(directory_);
    holder.take_pool(0);
    const TakeoverKey key = holder.control.takeover_key();
    Peer third(directory_);
    third.take_pool(3, key);
    Peer second(directory_);
    EXPECT_EQ(second.control.log_in(2, key), Status::busy);
    second.expect_end("a newer session (generation 3) exists");
    third.expect_close();
    Peer late(directory_);
    EXPECT_EQ(late.control.log_in(2, key), Status::success);
    EXPECT_EQ(late.control.open(), Status::stale);
    late.expect_end("its generation is 3, that of this session is 2");
}

TEST_F(Takeover, WhatAnotherHasOpenedSinceIsStale) {
    Peer earlier(directory_);
    earlier.take_pool();
    const TakeoverKey key = earlier.control.takeover_key();
    earlier.daemon.signal(SIGKILL);
    earlier.expect_killed();
    // An initiator with LOGIN and one without.
    for (const std::uint64_t unknown : {std::uint64_t{0}, wire::capability_resume}) {
        Peer other(directory_, {}, {}, wire::all_capabilities & ~unknown);
        if (unknown == 0) {
            EXPECT_EQ(other.control.log_in(), Status::success);
        }
        EXPECT_EQ(other.control.open(), Status::success);
        other.expect_close();
        Peer again(directory_);
        EXPECT_EQ(again.control.log_in(1, key), Status::success);
        EXPECT_EQ(again.control.open(), Status::stale);
        again.expect_end("has opened it for writing since; make it equal to its source");
    }
}

// Another initiator opens the pool and ends without CLOSE. If it has connected no lane and set no
// attributes, it cannot have written, and the earlier initiator may resume.
TEST_F(Takeover, WhoCouldNotWriteLeavesThePoolToTheEarlier) {
    const struct {
        const char* name;
        bool connects;
        bool sets_attributes;
        Status earlier;
    } cases[] = {{"nothing", false, false, Status::success},
                 {"a lane", true, false, Status::stale},
                 {"new attributes", false, true, Status::stale}};
    for (const auto& one : cases) {
        SCOPED_TRACE(one.name);
        Peer earlier(directory_);
        earlier.take_pool();
        const RawLane lane = earlier.lane();
        const TakeoverKey key = earlier.control.takeover_key();
        earlier.daemon.signal(SIGKILL);
        earlier.expect_killed();
        {
            Peer other(directory_);
            other.take_pool();
            std::optional<RawLane> reaches;
            if (one.connects)
                reaches.emplace(other.lane());
            if (one.sets_attributes) {
                EXPECT_EQ(
                    other.control.ask(encode(wire::SetAttributesRequest{test_attributes()})).status,
                    Status::success);
            }
            other.daemon.close_input();
            EXPECT_TRUE(other.daemon.wait().in_time);
        }
        Peer again(directory_);
        EXPECT_EQ(again.control.log_in(1, key), Status::success);
        EXPECT_EQ(again.control.open(), one.earlier);
    }
}

TEST_F(Takeover, WithAnUnknownKeyThereIsNothingToTakeUp) {
    Peer unknown(directory_);
    EXPECT_EQ(unknown.control.log_in(1, unknown_key), Status::success);
    EXPECT_EQ(unknown.control.open(), Status::stale);
    unknown.expect_end("no record of the earlier session");
}

// The headers differ afterwards, but the session itself has changed them.
TEST_F(Takeover, SetAttributesIsNoOtherPool) {
    Peer earlier(directory_);
    earlier.take_pool();
    rpmem_pool_attr attributes = test_attributes();
    attributes.major = 2;
    EXPECT_EQ(earlier.control.ask(encode(wire::SetAttributesRequest{attributes})).status,
              Status::success);
    Peer later(directory_);
    later.take_pool(1, earlier.control.takeover_key());
    later.expect_close();
}

TEST_F(Takeover, LoginComesOnceAndFirst) {
    const auto login = [](std::uint64_t generation, const TakeoverKey& key) {
        return encode(wire::LoginRequest{.generation = generation, .takeover = key});
    };
    constexpr std::uint64_t all = wire::all_capabilities;
    struct Rule {
        std::vector<wire::Bytes> before;
        wire::Bytes last;
        std::uint64_t capabilities;
    };
    wire::OpenRequest open = open_request();
    open.provider = wire::Provider::tcp;
    const wire::Bytes first = login(0, {});
    for (const Rule& rule :
         {Rule{{first}, first, all}, Rule{{first, encode(open)}, first, all},
          Rule{{}, first, all & ~wire::capability_resume}, Rule{{}, login(1, {}), all},
          Rule{{}, login(0, unknown_key), all}, Rule{{}, encode(open), all},
          Rule{{}, encode(create_request()), all}}) {
        Peer peer(directory_, {}, {}, rule.capabilities);
        for (const wire::Bytes& message : rule.before)
            ASSERT_EQ(peer.control.ask(message).status, Status::success);
        EXPECT_EQ(peer.control.ask(rule.last).status, Status::bad_protocol);
        peer.expect_end("LOGIN");
    }
    Peer peer(directory_, {}, {}, all & ~wire::capability_resume);
    EXPECT_TRUE(peer.control.beat());
    peer.expect_end("HEARTBEAT was sent, which is only allowed if");
}

TEST_F(Takeover, WithoutAStateDirectoryThereIsOneSession) {
    for (const bool has_files : {false, true}) {
        // No user can create a directory in /proc or below a file.
        const std::string state = has_files ? directory_.log_file() / "x" : "/proc/rpmemd";
        Peer first(directory_, {"--state-dir", state});
        first.take_pool();
        ASSERT_EQ(first.control.notices().size(), 1U);
        EXPECT_TRUE(test::contains(first.control.notices()[0], "state-dir cannot be used"));
        EXPECT_TRUE(first.lane().persist(place, 64, std::byte{7}));
        Peer second(directory_, {"--state-dir", state});
        EXPECT_EQ(second.control.log_in(1, first.control.takeover_key()),
                  has_files ? Status::no_access : Status::not_found);
        second.expect_end("cannot be resumed, because state-dir cannot be used");
        first.expect_close();
    }
}

// A later session that ends cleanly does not add what the lost one may not have written.
TEST_F(Takeover, AnOpenEndIsReportedUntilThePoolIsEqual) {
    Peer closed(directory_);
    closed.take_pool();
    EXPECT_TRUE(closed.control.notices().empty());
    closed.expect_close();
    for (const int number : {SIGKILL, SIGTERM}) {
        Peer first(directory_);
        first.take_pool();
        const RawLane lane = first.lane(); // without a lane nothing could be missing
        first.daemon.signal(number);
        first.daemon.wait();
        Peer second(directory_);
        second.take_pool();
        EXPECT_TRUE(second.control.notices().empty()) << "the initiator reports the state itself";
        const std::int64_t behind_since = second.control.pool_state()->behind_since;
        EXPECT_NE(behind_since, 0);
        const RawLane again = second.lane();
        second.expect_close();
        Peer third(directory_);
        third.take_pool();
        EXPECT_EQ(third.control.pool_state()->behind_since, behind_since);
        third.expect_close();
        // A session that only reads gets the text.
        Peer reader(directory_, {"--read-only"});
        reader.take_pool();
        ASSERT_EQ(reader.control.notices().size(), 1U);
        EXPECT_TRUE(test::contains(reader.control.notices()[0], "was not made equal since"));
        reader.expect_close();
    }
}

// The other writer uses hard links to the parts, another state-dir, both, or no state-dir.
TEST_F(Takeover, AnotherWriterIsNoticedByWhateverNameAndUser) {
    namespace fs = std::filesystem;
    const fs::path links = directory_.path() / "links";
    fs::create_directory(links);
    std::string lines = "PMEMPOOLSET\n";
    for (const char* const part : {"existing.set.0", "existing.set.1"}) {
        fs::create_hard_link(directory_.path() / "parts" / part, links / part);
        lines += fmt::format("{} {}\n", fs::file_size(links / part), (links / part).native());
    }
    std::ofstream(directory_.pool_sets() / "link.set") << lines;
    const std::string other_state = directory_.path() / "other-state";
    const std::vector<std::string> other_user = {"--state-dir", other_state};
    for (const auto& [set, more] :
         {std::pair("link.set", std::vector<std::string>()), std::pair("link.set", other_user),
          std::pair(existing_pool, other_user),
          std::pair(existing_pool, std::vector<std::string>{"--state-dir", "/proc/rpmemd"})}) {
        Peer earlier(directory_);
        earlier.take_pool();
        RawLane lane = earlier.lane();
        ASSERT_TRUE(lane.persist(place, 64, std::byte{7}));
        earlier.daemon.signal(SIGKILL);
        earlier.expect_killed();
        {
            Peer other(directory_, more);
            EXPECT_EQ(other.control.log_in(0, {}), Status::success);
            ASSERT_EQ(other.control.open(1, set), Status::success);
            RawLane writes = other.lane();
            EXPECT_TRUE(writes.persist(place, 64, std::byte{9}));
            other.expect_close();
        }
        Peer later(directory_);
        EXPECT_EQ(later.control.log_in(1, earlier.control.takeover_key()), Status::success);
        EXPECT_EQ(later.control.open(), Status::stale);
        later.expect_end("has opened it for writing since");
    }
}

// With heartbeats a peer-timeout of 1 s is raised to 4 s.
TEST_F(Takeover, ASilentInitiatorLosesThePoolAndABeatingOneDoesNot) {
    Peer silent(directory_, {"--peer-timeout", "1000"});
    silent.take_pool();
    const RawLane silent_lane = silent.lane();
    const auto began = std::chrono::steady_clock::now();
    silent.expect_end("no message from the initiator for 4000 ms (peer-timeout)");
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GT(took, std::chrono::milliseconds(3500));
    EXPECT_EQ(directory_.locked_part(), "");

    Peer beating(directory_, {"--peer-timeout", "1000"});
    beating.take_pool();
    const RawLane beating_lane = beating.lane();
    for (int second = 0; second < 6; ++second) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        EXPECT_TRUE(beating.control.beat());
    }
    beating.expect_close();
    EXPECT_GE(beating.control.heartbeats(), 4U);
}

// Messages that arrived while the daemon was stopped count.
TEST_F(Takeover, ADaemonThatWasStoppedReadsBeforeItJudges) {
    Peer peer(directory_, {"--peer-timeout", "1000"});
    peer.take_pool();
    const RawLane lane = peer.lane();
    peer.daemon.signal(SIGSTOP);
    for (int second = 0; second < 6; ++second) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        EXPECT_TRUE(peer.control.beat());
    }
    peer.daemon.signal(SIGCONT);
    peer.expect_close();
}

// The control loop waits for the medium. Heartbeats have a thread of their own.
TEST_F(Takeover, HeartbeatsComeWhileASyncIsSlow) {
    Peer peer(directory_, {},
              {"LD_PRELOAD=" RECORDER_PATH, "RPMEM_RECORDER_DELAY_MS=800",
               "RPMEM_RECORDER_LOG=" + (directory_.path() / "recording").string()});
    peer.take_pool();
    const unsigned before = peer.control.heartbeats();
    EXPECT_EQ(peer.control.ask(encode(wire::SetAttributesRequest{test_attributes()})).status,
              Status::success);
    EXPECT_GE(peer.control.heartbeats(), before + 1) << "two headers, 0.8 s each";
    peer.expect_close();
}

} // namespace
} // namespace rpmem::hostile
