// SPDX-License-Identifier: BSD-3-Clause
// Tests how a ServedLane answers digest frames over a stub connection: with the bytes of earlier
// frames only, with memory that stays until it is sent, with holes, and with a page of the pool
// that cannot be read. The test fails if a hole is read, if an answer changes while it waits for
// the network, if an answer is lost when the queue is full, or if an unreadable page ends the
// process without a report.
#include "common/wire/block_digest.hpp"
#include "rpmemd/durability/fault_handler.hpp"
#include "rpmemd/lanes/served_lane.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/stub_connection.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::target::digest_answers {
namespace {

using test::StubConnection;
using wire::BlockDigest;
using wire::digest_block;
using wire::FrameHeader;
using wire::FrameType;

constexpr std::size_t pool_size = 4 * digest_block;
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16 * 1024, .frames = 16, .reads = 4},
    .pool_size = pool_size,
    .digests = true};

using DigestList = std::vector<BlockDigest>;

// A lane, and a pool in a file that may end before the mapping does.
class ServedLaneDigests : public testing::Test {
protected:
    ServedLaneDigests() {
        if (::ftruncate(file_.get(), pool_size) != 0 || pool_ == MAP_FAILED ||
            !medium_.add(file_.get(), "pool", pool_, pool_size, false))
            throw std::runtime_error("no pool");
    }
    ~ServedLaneDigests() override { ::munmap(pool_, pool_size); }

    void request(std::uint64_t offset, std::uint64_t length) {
        connection_->deliver(
            {{.type = FrameType::digest, .length = length, .offset = offset, .number = ++number_}});
    }
    void write(std::uint64_t offset, std::byte value) {
        connection_->deliver(
            {{.type = FrameType::write, .length = 64, .offset = offset, .number = ++number_},
             std::vector<std::byte>(64, value)});
    }
    [[nodiscard]] DigestList expected(std::uint64_t offset, std::uint64_t length) const {
        DigestList digests(wire::digest_count(length));
        wire::digest_blocks({pool_ + offset, length}, digests);
        return digests;
    }
    // Returns the digests in answer INDEX, as they are in the lane's memory now.
    [[nodiscard]] DigestList answer(std::size_t index) const {
        const std::span<const std::byte> piece = connection_->pieces().at(index);
        DigestList digests(piece.size() / wire::digest_size);
        std::ranges::copy(piece, std::as_writable_bytes(std::span(digests)).begin());
        return digests;
    }
    [[nodiscard]] std::size_t answers() const { return connection_->posted().size(); }

    UniqueFd file_{::memfd_create("pool", MFD_CLOEXEC)};
    std::byte* pool_ = static_cast<std::byte*>(
        ::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    Medium medium_;
    WorkerCounters counters_;
    StubConnection* connection_ = new StubConnection; // owned by the lane
    ServedLane lane_{0,       std::unique_ptr<transport::LaneConnection>(connection_),
                     terms,   pool_,
                     medium_, counters_};
    std::uint64_t number_ = 0;
};

TEST_F(ServedLaneDigests, AreOfTheBytesOfEarlierFrames) {
    write(digest_block, std::byte{1});
    request(0, 2 * digest_block);
    ASSERT_TRUE(lane_.serve());
    ASSERT_EQ(answers(), 1U);
    EXPECT_EQ(pool_[digest_block + 63], std::byte{1});
    EXPECT_EQ(answer(0), expected(0, 2 * digest_block));
    EXPECT_EQ(
        connection_->posted()[0],
        (FrameHeader{
            .type = FrameType::data, .length = 2 * wire::digest_size, .offset = 0, .number = 2}));
}

// The network accepts nothing, so each answer waits in the memory of the lane. The pool changes
// meanwhile.
TEST_F(ServedLaneDigests, StayUntilTheyAreSent) {
    connection_->stall(true);
    std::vector<DigestList> all;
    for (std::size_t i = 0; i < wire::max_reads; ++i) {
        write(i % 4 * digest_block, static_cast<std::byte>(i + 1));
        request(i % 4 * digest_block, digest_block);
        ASSERT_TRUE(lane_.serve()) << lane_.error_text();
        all.push_back(expected(i % 4 * digest_block, digest_block));
    }
    std::size_t seen = 0;
    for (std::size_t i = 0; i < answers(); ++i)
        if (connection_->posted()[i].type == FrameType::data) {
            EXPECT_EQ(answer(i), all.at(seen++)) << seen;
        }
    EXPECT_EQ(seen, wire::max_reads);
    const std::size_t sent = answers();
    request(0, digest_block); // there is no memory for its answer
    ASSERT_TRUE(lane_.serve());
    EXPECT_EQ(answers(), sent);
    connection_->stall(false);
    ASSERT_TRUE(lane_.serve());
    ASSERT_EQ(answers(), sent + 1);
    EXPECT_EQ(answer(sent), expected(0, digest_block));
}

TEST_F(ServedLaneDigests, AreKeptWhileTheQueueIsFull) {
    connection_->stall(true, true);
    request(0, digest_block);
    request(digest_block, 2 * digest_block);
    ASSERT_TRUE(lane_.serve());
    ASSERT_TRUE(lane_.serve());
    EXPECT_EQ(answers(), 0U);
    connection_->stall(false);
    ASSERT_TRUE(lane_.serve());
    ASSERT_EQ(answers(), 2U);
    EXPECT_EQ(answer(0), expected(0, digest_block));
    EXPECT_EQ(answer(1), expected(digest_block, 2 * digest_block));
}

// A read of a hole would allocate its pages.
TEST_F(ServedLaneDigests, OfHolesAreThoseOfZeros) {
    struct stat status {};
    write(2 * digest_block + 77, std::byte{1});
    request(0, pool_size);
    request(0, digest_block);
    request(3 * digest_block, 4096);
    ASSERT_TRUE(lane_.serve());
    ASSERT_EQ(::fstat(file_.get(), &status), 0);
    EXPECT_LE(status.st_blocks * 512, std::int64_t{2} * digest_block) << "holes were read";
    ASSERT_EQ(answers(), 3U);
    EXPECT_EQ(answer(0), expected(0, pool_size));
    EXPECT_EQ(answer(1), expected(0, digest_block));
    EXPECT_EQ(answer(2), expected(3 * digest_block, 4096));
}

// A page beyond the end of the file raises SIGBUS, like one with a bad block.
TEST_F(ServedLaneDigests, OfAnUnreadablePageAreReported) {
    const UniqueFd error(::memfd_create("error", MFD_CLOEXEC));
    const pid_t child = ::fork();
    if (child == 0) {
        const FaultGuard guard({{"/pools/part1", pool_, pool_size, 0, file_.get()}},
                               {.error = error.get(), .log = {}, .log_prefix = "<3>"});
        if (::ftruncate(file_.get(), 2 * digest_block) != 0)
            ::_exit(41);
        request(0, pool_size);
        static_cast<void>(lane_.serve());
        ::_exit(42); // nothing was noticed
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), EXIT_FAILURE);
    std::string text(1000, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::pread(error.get(), text.data(), text.size(), 0), 0)));
    // XXH3 does not hash from the first byte on, so the page may be any of the missing ones.
    EXPECT_TRUE(test::contains(text, "part /pools/part1 cannot be read or written at offset "));
    EXPECT_TRUE(test::contains(text, "it was truncated"));
}

} // namespace
} // namespace rpmem::target::digest_answers
