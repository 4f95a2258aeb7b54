// SPDX-License-Identifier: BSD-3-Clause
// Tests the lanes of the real daemon over tcp with peers that violate the protocol, never read,
// never send, or reset their connections. The test fails if a violation before the handshake ends
// more than its connection, if one after it does not end the session with an error, if genuine
// lanes stop meanwhile, or if such peers cost the daemon memory, processor time or descriptors.
#include "common/base/deadline.hpp"
#include "tests/hostile/raw_lane.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>

namespace rpmem::hostile {
namespace {

using wire::FrameHeader;
using wire::FrameType;
using Stage = RawLane::Stage;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pool_size = 2 * part_size - page; // without the header of the second part

class LaneMessages : public LaneSession {
protected:
    // Connects the lane again. The daemon refuses that until it has noticed the end of the last
    // connection.
    [[nodiscard]] RawLane again(std::uint32_t number, Stage stage) const {
        for (const Deadline deadline(test_timeout);;) {
            try {
                return {port(), proof_, number, stage};
            } catch (const std::exception&) {
                if (deadline.passed())
                    throw;
            }
        }
    }
};

// See proc_pid_stat(5).
std::chrono::milliseconds processor_time(pid_t process) {
    constexpr int fields_behind_name = 11; // they precede the two times
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(stat, line);
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string field;
    for (int i = 0; i < fields_behind_name; ++i)
        fields >> field;
    long user = 0;
    long system = 0;
    EXPECT_TRUE(fields >> user >> system) << line;
    return std::chrono::milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
}

// Returns the resident anonymous memory in KiB, see proc_pid_status(5). Returns 0 with
// ThreadSanitizer, which has memory of its own for all that is accessed.
std::size_t memory_of([[maybe_unused]] pid_t process) {
#ifndef __SANITIZE_THREAD__
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:"))
            return std::stoul(line.substr(8));
#endif
    return 0;
}

TEST_F(LaneMessages, OneByteAtATime) {
    RawLane slow(port(), proof_, 0, Stage::open, 1);
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(slow.persist(page + 100, 77, std::byte{7})) << i;
    expect_close();
}

TEST_F(LaneMessages, GarbageBeforeTheProof) {
    auto honest = lane(0);
    for (const std::string& garbage :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(95, 'R'), std::string(4000, '\0'),
          "RPMEMLN1" + std::string(88, '\xff'), std::string("RPMEMNO1"), std::string("RPMEMLN2")}) {
        RawLane stranger(port(), proof_, 1, Stage::connected);
        static_cast<void>(stranger.send(std::as_bytes(std::span(garbage))));
        if (garbage.size() > 8) {
            EXPECT_TRUE(stranger.is_ended()) << garbage.substr(0, 20);
        }
        ASSERT_TRUE(honest.persist(page, 64, std::byte{1}));
    }
    expect_close();
}

// The first message is valid.
TEST_F(LaneMessages, GarbageInThePlaceOfTheThirdMessage) {
    auto honest = lane(0);
    RawLane stranger(port(), proof_, 1, Stage::second);
    const wire::Bytes garbage(200, std::byte{0x5a});
    static_cast<void>(stranger.send(garbage));
    EXPECT_TRUE(stranger.is_ended());
    ASSERT_TRUE(honest.persist(page, 64, std::byte{1}));
    EXPECT_TRUE(lane(1).persist(2 * page, 64, std::byte{1})) << "the lane's number is free";
    expect_close();
}

TEST_F(LaneMessages, GarbageBehindTheProof) {
    auto bad = lane(1);
    const wire::Bytes garbage(100, std::byte{0x5a});
    ASSERT_TRUE(bad.send(garbage));
    const auto why = bad.receive_frame();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->type, FrameType::error);
    EXPECT_EQ(why->offset, wire::offset_of_error(wire::ErrorKind::protocol, EBADMSG));
    expect_end("received a header with checksum 0x5a5a5a5a5a5a5a5a, expected 0x");
    EXPECT_EQ(directory_.damage(), "");
}

struct Row {
    FrameHeader header;
    const char* why;
};
class BadFrame : public LaneSession, public testing::WithParamInterface<Row> {};

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t max_length = std::numeric_limits<std::uint32_t>::max();
INSTANTIATE_TEST_SUITE_P(
    Rows, BadFrame,
    testing::Values(Row{{.type = FrameType::write, .length = max_length, .offset = 0}, "allowed"},
                    Row{{.type = FrameType::write, .length = 8, .offset = pool_size - 7}, "pool"},
                    Row{{.type = FrameType::write, .length = 8, .offset = most - 3}, "pool"},
                    Row{{.type = FrameType::persist, .length = 8, .offset = most - 3}, ""},
                    Row{{.type = FrameType::persist,
                         .flags = wire::frame_flag::deep,
                         .length = 64,
                         .offset = pool_size - 32},
                        "pool"},
                    Row{{.type = FrameType::read, .length = max_length, .offset = 0}, ""},
                    Row{{.type = FrameType::read, .length = 64, .offset = pool_size - 63}, "pool"},
                    Row{{.type = FrameType::ack, .number = 1}, "type"},
                    Row{{.type = FrameType::welcome, .length = 16}, "type"},
                    Row{{.type = FrameType{200}, .length = 16}, "type"},
                    Row{{.type = FrameType::write, .flags = 0x80, .length = 8}, "flag"},
                    Row{{.type = FrameType::digest, .length = 0}, "1 to 1048576"},
                    Row{{.type = FrameType::digest, .length = max_length}, "1 to 1048576"},
                    Row{{.type = FrameType::digest, .length = 64, .offset = page}, "65536"},
                    Row{{.type = FrameType::digest,
                         .length = 1 << 16,
                         .offset = pool_size / (1 << 16) * (1 << 16)},
                        "pool"},
                    Row{{.type = FrameType::digest, .length = 64, .offset = most - 65535}, "pool"},
                    Row{{.type = FrameType::digest, .flags = 2, .length = 64}, "flag"}));

TEST_P(BadFrame, EndsTheSession) {
    auto honest = lane(0);
    auto bad = lane(1);
    ASSERT_TRUE(bad.send_frame(GetParam().header));
    const auto why = bad.receive_frame();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->type, FrameType::error);
    EXPECT_TRUE(honest.is_ended());
    expect_end("lane 1");
    EXPECT_TRUE(test::contains(directory_.read_log(), GetParam().why));
    EXPECT_EQ(directory_.damage(), "");
}

class WithoutDigests : public LaneSession {
protected:
    WithoutDigests() : LaneSession({}, lanes, wire::all_capabilities & ~wire::capability_compare) {}
};

TEST_F(WithoutDigests, ADigestIsAnUnknownFrame) {
    auto bad = lane(1);
    ASSERT_TRUE(bad.send_frame({.type = FrameType::digest, .length = 64}));
    const auto why = bad.receive_frame();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->offset, wire::offset_of_error(wire::ErrorKind::protocol, EBADMSG));
    expect_end("sent a frame of type 4, which an initiator does not send");
}

// The session is confined, and hashing may need no further system call.
TEST_F(LaneMessages, DigestsOfAConfinedSession) {
    auto honest = lane(0);
    ASSERT_TRUE(honest.send_frame({.type = FrameType::digest, .length = 1 << 20, .offset = 0}));
    EXPECT_EQ(honest.receive_frame(), (FrameHeader{.type = FrameType::data,
                                                   .length = 256, // 16 blocks of 64 KiB
                                                   .offset = 0,
                                                   .number = 1}));
    expect_close();
}

// Each answer needs memory of the daemon until it is sent, unlike the data of reads.
TEST_F(LaneMessages, DigestsThatAreNeverRead) {
    auto honest = lane(0);
    auto deaf = lane(1);
    const int small = 1;
    ::setsockopt(deaf.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    // The daemon may end while its kernel still waits for room here, and refuses no byte.
    const timeval patient{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(deaf.fd(), SOL_SOCKET, SO_SNDTIMEO, &patient, sizeof(patient));
    const std::size_t before = memory_of(daemon_.pid());
    const FrameHeader digest{.type = FrameType::digest, .length = 1 << 20, .offset = 0};
    for (std::uint32_t i = 0; i < deaf.credits().reads; ++i)
        ASSERT_TRUE(deaf.send_frame(digest));
    EXPECT_TRUE(honest.persist(pool_size - page, 64, std::byte{1}));
    EXPECT_LT(memory_of(daemon_.pid()), before + 8 * 1024) << "KiB";
    bool goes_on = true;
    for (int i = 0; i < 200'000 && goes_on; ++i)
        goes_on = deaf.send_frame(digest);
    EXPECT_FALSE(goes_on) << "the credits have no limit";
    expect_end("lane 1");
}

// The connections use up the descriptors of the daemon.
TEST_F(LaneMessages, StrangersWhoSayNothingAreEnded) {
    constexpr std::size_t kept = 64;
    constexpr std::chrono::seconds soon(8); // less than their timeout of 10 s
    constexpr std::chrono::seconds late(25);
    auto first = lane(0);
    constexpr rlimit fewer{90, 90}; // not enough for all connections
    ASSERT_EQ(::prlimit(daemon_.pid(), RLIMIT_NOFILE, &fewer, nullptr), 0);
    std::vector<UniqueFd> connections;
    for (std::size_t i = 0; i < kept + 26; ++i) {
        connections.push_back(connect_to(port()));
        if (i % 8 == 0) {
            EXPECT_EQ(::send(connections.back().get(), "R", 1, MSG_NOSIGNAL), 1);
        }
    }
    const auto left_after = [&](std::size_t wanted, std::chrono::seconds time) {
        for (const Deadline deadline(time); connections.size() > wanted && !deadline.passed();) {
            std::vector<pollfd> fds;
            for (const UniqueFd& each : connections)
                fds.push_back({each.get(), POLLIN, 0});
            ::poll(fds.data(), fds.size(), 100);
            std::size_t place = 0;
            std::erase_if(connections, [&](const UniqueFd&) { return fds[place++].revents != 0; });
        }
        return connections.size();
    };
    EXPECT_LE(left_after(kept, soon), kept);
    EXPECT_TRUE(lane(1).persist(page, 64, std::byte{1})) << "lanes come in all the while";
    EXPECT_EQ(left_after(0, late), 0U);
    // A loop over closed connections would show in the processor time.
    const auto busy = processor_time(daemon_.pid());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LT(processor_time(daemon_.pid()) - busy, std::chrono::milliseconds(500))
        << "the daemon goes on with those who have gone";
    EXPECT_TRUE(first.persist(page, 64, std::byte{2}));
    expect_close();
}

TEST_F(LaneMessages, AThousandConnectionsAtOnce) {
    auto honest = lane(0);
    std::vector<UniqueFd> connections;
    for (int i = 0; i < 1000; ++i) {
        connections.push_back(connect_to(port()));
        if (i % 100 == 0) {
            ASSERT_TRUE(honest.persist(page, 64, std::byte{1})) << i;
        }
    }
    EXPECT_TRUE(lane(1).persist(page, 64, std::byte{2}));
    expect_close();
}

TEST_F(LaneMessages, ResetsInEachState) {
    auto honest = lane(0);
    for (const Stage stage : {Stage::connected, Stage::half_first, Stage::first, Stage::second,
                              Stage::third, Stage::open}) {
        SCOPED_TRACE(static_cast<int>(stage));
        for (int i = 0; i < 20; ++i)
            again(1, stage).reset();
        ASSERT_TRUE(honest.persist(page, 64, std::byte{1}));
    }
    // Reset in the middle of a header, and of a payload.
    for (const std::size_t size : {wire::frame_header_size / 2, wire::frame_header_size + 100}) {
        auto cut = again(1, Stage::open);
        wire::Bytes frame(wire::frame_header_size + 200);
        const auto header =
            wire::encode({.type = FrameType::write, .length = 200, .offset = page, .number = 1});
        std::ranges::copy(header, frame.begin());
        ASSERT_TRUE(cut.send(std::span(frame).first(size)));
        cut.reset();
        ASSERT_TRUE(honest.persist(page, 64, std::byte{1}));
    }
    expect_close();
}

// The daemon does not queue acks without a limit. One that cannot be sent stays due, and a peer
// that continues without it violates the protocol.
TEST_F(LaneMessages, AcksThatAreNeverRead) {
    auto honest = lane(0);
    auto deaf = lane(1);
    const int small = 1;
    ::setsockopt(deaf.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    const timeval moment{.tv_sec = 0, .tv_usec = 200'000};
    ::setsockopt(deaf.fd(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
    const std::size_t before = memory_of(daemon_.pid());
    std::size_t peak = before;
    const wire::Bytes data(64, std::byte{3});
    bool goes_on = true;
    for (int i = 0; i < 1'000'000 && goes_on; ++i) {
        goes_on = deaf.send_frame({.type = FrameType::write,
                                   .flags = wire::frame_flag::answer_wanted,
                                   .length = 64,
                                   .offset = page},
                                  data);
        if (i == 100) {
            EXPECT_TRUE(honest.persist(2 * page, 64, std::byte{1}));
        }
        if (i % 1000 == 0)
            peak = std::max(peak, memory_of(daemon_.pid()));
    }
#ifdef __SANITIZE_ADDRESS__
    constexpr std::size_t room = std::size_t{64} * 1024; // it keeps freed memory for some time
#else
    constexpr std::size_t room = std::size_t{8} * 1024;
#endif
    EXPECT_LT(peak, before + room) << "KiB";
    expect_end("lane 1");
}

// The daemon sends the data of reads from the pool itself, so unread data need no memory.
TEST_F(LaneMessages, DataThatAreNeverRead) {
    auto honest = lane(0);
    auto deaf = lane(1);
    const std::size_t before = memory_of(daemon_.pid());
    const auto length = deaf.credits().bytes / deaf.credits().reads / 2;
    for (std::uint32_t i = 0; i < deaf.credits().reads; ++i)
        ASSERT_TRUE(deaf.send_frame({.type = FrameType::read, .length = length, .offset = 0}));
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(honest.persist(pool_size - page, 64, std::byte{1})) << i;
    EXPECT_LT(memory_of(daemon_.pid()), before + 8 * 1024) << "KiB";
    // More reads than the credits allow.
    for (int i = 0; i < 1000; ++i)
        static_cast<void>(
            deaf.send_frame({.type = FrameType::read, .length = length, .offset = 0}));
    expect_end("lane 1");
}

// The recorder delays each sync of the daemon, and writes a line to a file when it begins.
class SlowSyncs : public LaneSession {
protected:
    SlowSyncs()
        : SlowSyncs(std::filesystem::temp_directory_path() /
                    ("begins." + std::to_string(::getpid()))) {}
    ~SlowSyncs() override { std::filesystem::remove(begins_); }

    // Returns how many calls of FUNCTION have begun.
    [[nodiscard]] int count_begun(const std::string& function) const {
        std::ifstream lines(begins_);
        int count = 0;
        for (std::string line; std::getline(lines, line);)
            count += line == function ? 1 : 0;
        return count;
    }

private:
    explicit SlowSyncs(const std::filesystem::path& begins)
        : LaneSession({"LD_PRELOAD=" RECORDER_PATH, "RPMEM_RECORDER_LOG=/proc/self/fd/2",
                       "RPMEM_RECORDER_BEGINS=" + begins.native(), "RPMEM_RECORDER_DELAY_MS=900",
                       "ASAN_OPTIONS=verify_asan_link_order=0"}),
          begins_(begins) {}

    std::filesystem::path begins_;
};

// The pool must not be unmapped while a worker makes it durable.
TEST_F(SlowSyncs, AreAwaitedByClose) {
    std::array peers = {lane(0), lane(1)};
    const wire::Bytes data(8, std::byte{1});
    for (std::size_t i = 0; i < peers.size(); ++i)
        ASSERT_TRUE(peers[i].send_frame({.type = FrameType::write,
                                         .flags = wire::frame_flag::answer_wanted,
                                         .length = 8,
                                         .offset = (i + 1) * page},
                                        data));
    for (const Deadline deadline(std::chrono::seconds(20));
         count_begun("pmem_msync") < 2 && !deadline.passed();)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(daemon_.send(encode(wire::CloseRequest{})));
    const Ending ending = daemon_.wait();
    expect_status(ending, 0);
    // A line of the recorder ends with the errno value of the call.
    std::istringstream lines(ending.error_text);
    int syncs = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool is_sync = line.starts_with("pmem_msync ");
        syncs += is_sync ? 1 : 0;
        EXPECT_TRUE(!is_sync || line.ends_with(" 0")) << line;
    }
    EXPECT_EQ(syncs, 2) << ending.error_text;
}

} // namespace
} // namespace rpmem::hostile
