// SPDX-License-Identifier: BSD-3-Clause
// Tests digest frames from the library's FrameLane to the daemon's ServedLane, on a Unix socket
// pair, with and without TLS. Expected digests are computed by libxxhash from the bytes that the
// test has written. The test fails if a digest differs, if it misses bytes that were sent before
// it, if small credits block a lane, or if a call that gives up still writes to its memory.
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "rpmemd/lanes/served_lane.hpp"
#include "tests/unit/common/transport/tls/tls_ends.hpp"

#include <sys/mman.h>

#include <thread>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::target::lane_digests {
namespace {

using initiator::FrameLane;
using transport::FrameConnection;
using transport::SocketGroup;
using transport::Stream;
using wire::BlockDigest;
using wire::digest_block;

constexpr std::chrono::milliseconds test_timeout(20000);
constexpr std::size_t page = 4096;
// More than all frames in progress can cover. The last block has only one page.
constexpr std::size_t pool_size = 6 * wire::max_digest_range + 3 * digest_block + page;
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16 * 1024, .frames = 16, .reads = 4},
    .pool_size = pool_size,
    .digests = true};

struct Pool {
    Pool() : file(::memfd_create("pool", MFD_CLOEXEC)) {
        if (::ftruncate(file.get(), pool_size) != 0)
            throw std::runtime_error("no file in memory");
        void* const place =
            ::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        if (place == MAP_FAILED)
            throw std::runtime_error("the file cannot be mapped");
        begin = static_cast<std::byte*>(place);
        if (!medium.add(file.get(), "pool", begin, pool_size, false))
            throw std::runtime_error("no medium");
    }
    ~Pool() { ::munmap(begin, pool_size); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    UniqueFd file;
    std::byte* begin;
    Medium medium;
};

struct Streams {
    std::unique_ptr<Stream> initiator;
    std::unique_ptr<Stream> target;
};

Streams tcp_streams() {
    auto pair = test::value_of(make_socket_pair());
    return {std::make_unique<transport::SocketStream>(std::move(pair.ours)),
            std::make_unique<transport::SocketStream>(std::move(pair.theirs))};
}

Streams tls_streams() {
    auto ends = transport::tls_ends::joined();
    return {std::move(ends.initiator), std::move(ends.target)};
}

// The target's end, and a thread that serves it.
class Served {
public:
    Served(std::unique_ptr<Stream> stream, const wire::LaneTerms& own)
        : lane_(0, std::make_unique<FrameConnection>(std::move(stream), "lane 0"), own, pool_.begin,
                pool_.medium, counters_) {
        EXPECT_TRUE(group_.add(lane_.connection()));
        thread_ = std::thread([this] { run(); });
    }
    ~Served() { stop(); }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    void stop() {
        stop_.raise();
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] const RequestCounters& digests() const {
        return counters_.requests[static_cast<std::size_t>(RequestKind::digest)];
    }

private:
    void run() {
        while (lane_.serve()) {
            if (lane_.served_bytes() > 0)
                group_.progressed();
            else if (group_.wait(test_timeout, stop_.fd()) != transport::WaitResult::look)
                return;
        }
    }

    Pool pool_;
    Event stop_ = test::value_of(Event::make());
    SocketGroup group_{std::chrono::microseconds(0), std::size_t{16} * 1024};
    WorkerCounters counters_;
    ServedLane lane_;
    std::thread thread_;
};

// Both ends, and the memory of the initiator.
class Ends {
public:
    explicit Ends(Streams streams, const wire::LaneTerms& own = terms)
        : target(std::move(streams.target), own),
          lane(make_lane(std::move(streams.initiator), own)) {}

    void fill(std::size_t offset, std::size_t length, unsigned seed) {
        for (std::size_t i = offset; i < offset + length; ++i)
            memory[i] = static_cast<std::byte>(i * 13 + i / 255 + seed);
    }
    // Writes the whole memory to the target.
    [[nodiscard]] int write_all() { return lane.persist(0, pool_size, false); }
    [[nodiscard]] std::vector<BlockDigest> expected(std::size_t offset, std::size_t length) const {
        std::vector<BlockDigest> digests;
        for (const std::size_t end = offset + length; offset < end; offset += digest_block) {
            XXH128_canonical_t canonical;
            XXH128_canonicalFromHash(
                &canonical,
                XXH3_128bits(memory.data() + offset, std::min(digest_block, end - offset)));
            std::memcpy(digests.emplace_back().data(), canonical.digest, wire::digest_size);
        }
        return digests;
    }
    // Returns the digests of the target, or none if the call has failed.
    [[nodiscard]] std::vector<BlockDigest> received(std::size_t offset, std::size_t length) {
        std::vector<BlockDigest> digests(wire::digest_count(length));
        const int code = lane.digests(digests, offset, length);
        EXPECT_EQ(code, 0) << lane.violation();
        return code == 0 ? digests : std::vector<BlockDigest>();
    }

    std::vector<std::byte> memory = std::vector<std::byte>(pool_size);
    Event watch = test::value_of(Event::make());
    Served target;
    FrameLane lane;

private:
    FrameLane make_lane(std::unique_ptr<Stream> stream, const wire::LaneTerms& own) {
        auto connection =
            std::make_unique<FrameConnection>(std::move(stream), "lane 0 to the target");
        auto group = std::make_unique<SocketGroup>(std::chrono::microseconds(0), 8192);
        EXPECT_TRUE(group->add(*connection));
        return {std::move(connection),
                std::move(group),
                own,
                memory.data(),
                {watch.fd(), [] { return true; }},
                test_timeout};
    }
};

struct Way {
    const char* name;
    Streams (*streams)();
};
class Digests : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(, Digests,
                         testing::Values(Way{"Tcp", tcp_streams}, Way{"Tls", tls_streams}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(Digests, AreThoseOfTheTargetsBytes) {
    Ends ends(GetParam().streams());
    ends.fill(0, pool_size, 1);
    ASSERT_EQ(ends.write_all(), 0) << ends.lane.violation();
    constexpr std::size_t mebibyte = wire::max_digest_range;
    std::uint64_t bytes = 0;
    for (const auto& [offset, length] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 1},
             {0, digest_block},
             {3 * digest_block, 2 * digest_block + 1},
             {0, mebibyte},
             {digest_block, mebibyte + digest_block},
             {pool_size / digest_block * digest_block, page},
             {0, pool_size}}) {
        EXPECT_EQ(ends.received(offset, length), ends.expected(offset, length)) << length;
        bytes += length;
    }
    EXPECT_EQ(ends.received(0, 0).size(), 0U);
    EXPECT_FALSE(ends.lane.has_unacknowledged());
    ends.target.stop();
    EXPECT_EQ(ends.target.digests().requests.value(), 5 + 2 + 7U);
    EXPECT_EQ(ends.target.digests().bytes.value(), bytes);
}

// The target stores the bytes of each earlier frame before it computes the digests.
TEST_P(Digests, CoverWhatWasFlushedBefore) {
    Ends ends(GetParam().streams());
    for (unsigned round = 1; round < 40; ++round) {
        const std::size_t offset = round % 7 * digest_block;
        ends.fill(offset, 2 * digest_block, round);
        ASSERT_EQ(ends.lane.flush(offset, 2 * digest_block, false), 0);
        EXPECT_EQ(ends.received(offset, 2 * digest_block), ends.expected(offset, 2 * digest_block));
    }
    EXPECT_EQ(ends.lane.drain(), 0);
}

TEST_P(Digests, AndReadsAreAnsweredInOrder) {
    Ends ends(GetParam().streams());
    ends.fill(0, pool_size, 3);
    ASSERT_EQ(ends.write_all(), 0);
    for (std::size_t i = 0; i < 20; ++i) {
        std::vector<std::byte> bytes(40000);
        ASSERT_EQ(ends.lane.read(bytes.data(), i * 1000, bytes.size()), 0);
        EXPECT_EQ(std::memcmp(bytes.data(), ends.memory.data() + i * 1000, bytes.size()), 0);
        EXPECT_EQ(ends.received(0, pool_size), ends.expected(0, pool_size));
    }
}

// A target may serve one frame, and one read, at a time. A payload of 8 bytes is less than a
// digest.
TEST_P(Digests, NeedNoMoreThanTheSmallestCredits) {
    wire::LaneTerms least = terms;
    least.credits = {.bytes = 64 * 1024, .payload = 8, .frames = 1, .reads = 1};
    Ends ends(GetParam().streams(), least);
    ends.fill(0, 300, 1);
    ASSERT_EQ(ends.lane.persist(0, 300, false), 0) << ends.lane.violation();
    EXPECT_EQ(ends.received(0, pool_size), ends.expected(0, pool_size));
    ends.fill(0, 300, 2);
    ASSERT_EQ(ends.lane.flush(0, 300, false), 0);
    EXPECT_EQ(ends.received(0, digest_block), ends.expected(0, digest_block));
}

TEST_P(Digests, OfAnOldTargetAreNotAskedFor) {
    wire::LaneTerms old = terms;
    old.digests = false;
    Ends ends(GetParam().streams(), old);
    std::array<BlockDigest, 1> digests{};
    EXPECT_EQ(ends.lane.digests(digests, 0, page), ENOTSUP);
    EXPECT_EQ(ends.lane.persist(0, 64, false), 0) << "the target has noticed nothing";
}

TEST_P(Digests, MustBeginAtABlockAndFitTheRange) {
    Ends ends(GetParam().streams());
    std::array<BlockDigest, 2> digests{};
    EXPECT_EQ(ends.lane.digests(digests, page, 2 * digest_block), EINVAL);
    EXPECT_EQ(ends.lane.digests(digests, 0, digest_block), EINVAL);
    EXPECT_EQ(ends.lane.digests(digests, 0, 2 * digest_block + 1), EINVAL);
    EXPECT_EQ(ends.lane.digests(digests, 0, 2 * digest_block), 0) << "the lane is still usable";
}

// The memory belongs to the caller again after a failed call, so the lane must be unusable.
TEST_P(Digests, ThatAreGivenUpLeaveTheirMemoryAlone) {
    Ends ends(GetParam().streams());
    ends.target.stop(); // there is no answer
    ends.watch.raise();
    BlockDigest filled;
    filled.fill(std::byte{0x77});
    std::vector<BlockDigest> digests(wire::digest_count(pool_size), filled);
    EXPECT_EQ(ends.lane.digests(digests, 0, pool_size), ECONNRESET);
    EXPECT_EQ(digests, std::vector<BlockDigest>(digests.size(), filled));
    EXPECT_EQ(ends.lane.failure(), "lane 0 to the target: was abandoned by this end");
    EXPECT_NE(ends.lane.persist(0, 8, false), 0);
}

} // namespace
} // namespace rpmem::target::lane_digests
