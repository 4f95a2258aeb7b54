// SPDX-License-Identifier: BSD-3-Clause
// Tests how marked blocks are copied and sent over a stub connection. The test fails if a store is
// lost that was marked while its block was copied, if a block that is not durable loses its mark or
// its copy, if the target waits for each copy, if the header of the pool is sent, if the first page
// of a pool without headers is sent before all other bytes are durable, or if unreadable memory is
// not reported.
#include "common/base/unique_fd.hpp"
#include "librpmem/replica/block_sender.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/stub_connection.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace rpmem::initiator::block_sender {
namespace {

constexpr std::size_t block = wire::digest_block;
constexpr std::size_t blocks = 40;
constexpr std::size_t header = 4096;
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 4 * 1024 * 1024, .payload = 512 * 1024, .frames = 64, .reads = 4},
    .pool_size = blocks * block};

struct SenderTest : testing::Test {
    test::StubConnection* connection = new test::StubConnection; // owned by the lane
    FrameLane lane{std::unique_ptr<transport::LaneConnection>(connection),
                   std::make_unique<test::StubGroup>(),
                   terms,
                   nullptr,
                   {-1, [] { return true; }},
                   std::chrono::milliseconds(500)};
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(blocks * block / 8);
    std::span<std::byte> memory = std::as_writable_bytes(std::span(words));
    BlockMap map{blocks * block};
    BlockSender sender{memory, header};
    std::size_t next = 0;
    std::size_t sent = 0; // and durable

    // Sends the next blocks, and waits until they are durable.
    int send_next(BlockSender& with) {
        BlockPass pass(with, lane, map);
        const int code = pass.send_next(next, sent);
        return code != 0 ? code : pass.finish(sent);
    }
};

TEST_F(SenderTest, SendsMarkedBlocksTogetherWithoutTheHeader) {
    connection->acknowledge_all();
    map.mark(0, 2 * block);
    map.mark(5 * block, 1);
    ASSERT_EQ(send_next(sender), 0);
    EXPECT_EQ(next, 6U);
    EXPECT_EQ(sent, 3U);
    EXPECT_EQ(map.count(), 0U);
    const auto& posted = connection->posted();
    EXPECT_EQ(posted.at(0).offset, header);
    std::size_t bytes = 0;
    for (const wire::FrameHeader& frame : posted)
        bytes += frame.type == wire::FrameType::write ? frame.length : 0;
    EXPECT_EQ(bytes, 3 * block - header);
    const auto asks = [](const wire::FrameHeader& frame) {
        return frame.type != wire::FrameType::write;
    };
    EXPECT_EQ(std::ranges::count_if(posted, asks), 1) << "one round trip for all";
}

TEST_F(SenderTest, SendsTheFirstPageOfAPoolWithoutHeadersAlone) {
    connection->acknowledge_all();
    BlockSender whole{memory, 0};
    map.mark(0, block);
    ASSERT_EQ(send_next(whole), 0);
    const std::size_t before = connection->posted().size();
    EXPECT_EQ(connection->posted().at(0).offset, BlockSender::first_page);
    ASSERT_EQ(whole.send_first_page(lane), 0);
    ASSERT_GT(connection->posted().size(), before);
    EXPECT_EQ(connection->posted().at(before).offset, 0U);
    EXPECT_EQ(connection->posted().at(before).length, BlockSender::first_page);
    const std::size_t after = connection->posted().size();
    ASSERT_EQ(sender.send_first_page(lane), 0);
    EXPECT_EQ(connection->posted().size(), after) << "the target keeps the header";
}

TEST_F(SenderTest, SendsOneMebibyteAtMost) {
    connection->acknowledge_all();
    map.mark(3 * block, 30 * block);
    ASSERT_EQ(send_next(sender), 0);
    EXPECT_EQ(next, 3 + BlockSender::max_together);
    EXPECT_EQ(sent, BlockSender::max_together);
    EXPECT_EQ(map.count(), 30 - BlockSender::max_together);
}

// Otherwise the target has nothing to do while the next blocks are copied. Blocks are not durable
// before a later call or finish() has waited for them, so their copies stay.
TEST_F(SenderTest, BlocksAreSentWhileTheFormerOnesBecomeDurable) {
    connection->acknowledge_all();
    std::size_t calls = 0;
    BlockPass pass(sender, lane, map);
    for (; calls < 2 * BlockSender::max_under_way; ++calls) {
        std::ranges::fill(memory, std::byte(calls));
        map.mark(block, block);
        next = 1;
        ASSERT_EQ(pass.send_next(next, sent), 0);
        const std::size_t under_way = std::min(calls + 1, BlockSender::max_under_way - 1);
        ASSERT_EQ(sent, calls + 1 - under_way);
        for (std::size_t i = 0; i < under_way; ++i) {
            const std::size_t batch = (calls - i) % BlockSender::max_under_way;
            EXPECT_EQ(sender.copies()[batch * BlockSender::max_together * block],
                      std::byte(calls - i))
                << "a copy that is under way was overwritten";
        }
    }
    ASSERT_EQ(pass.finish(sent), 0);
    EXPECT_EQ(sent, calls);
    EXPECT_EQ(map.count(), 0U);
}

TEST_F(SenderTest, APassThatEndsEarlyMarksWhatItHasSent) {
    connection->acknowledge_all();
    map.mark(block, 3 * block);
    {
        BlockPass pass(sender, lane, map);
        ASSERT_EQ(pass.send_next(next, sent), 0);
        EXPECT_EQ(map.count(), 0U);
    }
    EXPECT_EQ(map.count(), 3U);
    EXPECT_TRUE(connection->ended()) << "the lane could still read the copies";
}

// Otherwise libfabric sends them in pieces of 224 bytes.
TEST_F(SenderTest, APassLendsTheCopiesToTheLane) {
    {
        const BlockPass pass(sender, lane, map);
        EXPECT_EQ(connection->lent().data(), sender.copies());
        EXPECT_EQ(connection->lent().size(), BlockSender::places * block);
    }
    EXPECT_TRUE(connection->lent().empty()) << "they may be released now";
}

TEST_F(SenderTest, WhatIsNotDurableIsMarkedAgain) {
    map.mark(block, 3 * block);
    map.mark(9 * block, 1);
    EXPECT_EQ(send_next(sender), ETIMEDOUT);
    EXPECT_EQ(sent, 0U);
    EXPECT_EQ(map.count(), 4U);
    EXPECT_EQ(map.next(0), 1U);
    EXPECT_EQ(map.next(4), 9U);
}

TEST_F(SenderTest, WithoutMemoryTheBlocksAreMarkedAgain) {
    connection->run_out_of_memory();
    map.mark(block, 3 * block);
    EXPECT_THROW(static_cast<void>(send_next(sender)), std::bad_alloc);
    EXPECT_EQ(map.count(), 3U);
}

TEST_F(SenderTest, UnreadableMemoryIsReportedWithItsOffset) {
    void* const pages =
        ::mmap(nullptr, 2 * block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    BlockSender other({static_cast<std::byte*>(pages), 2 * block}, 0);
    ASSERT_EQ(::mprotect(static_cast<std::byte*>(pages) + block, 4096, PROT_NONE), 0);
    connection->acknowledge_all();
    map.mark(0, 2 * block);
    EXPECT_EQ(send_next(other), 0);
    ASSERT_TRUE(other.failure());
    EXPECT_EQ(other.failure()->code, EFAULT);
    EXPECT_TRUE(test::contains(other.failure()->text, "the byte at offset 65536 of the pool"));
    EXPECT_EQ(map.count(), 2U);
    ::munmap(pages, 2 * block);
}

// Another process truncates the file between the probe and the copy, or in any other moment.
TEST_F(SenderTest, AFileThatIsTruncatedMeanwhileRaisesNoSignal) {
    const UniqueFd file(::memfd_create("pool", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(file.get(), 2 * block), 0);
    void* const pages =
        ::mmap(nullptr, 2 * block, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    ASSERT_NE(pages, MAP_FAILED);
    BlockSender other({static_cast<std::byte*>(pages), 2 * block}, 0);
    std::atomic<bool> is_over = false;
    std::thread truncating([&] {
        while (!is_over)
            EXPECT_EQ(::ftruncate(file.get(), block + 4096) + ::ftruncate(file.get(), 2 * block),
                      0);
    });
    std::size_t failures = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
        other.clear_failure();
        EXPECT_FALSE(other.copy(0, 0).empty());
        if (!other.copy(1, 0).empty())
            continue;
        ++failures;
        EXPECT_EQ(other.failure()->code, EFAULT);
        EXPECT_TRUE(test::contains(other.failure()->text, "the byte at offset "));
    }
    is_over = true;
    truncating.join();
    EXPECT_GT(failures, 0U);
    ::munmap(pages, 2 * block);
    EXPECT_TRUE(other.copy(0, 0).empty()) << "it is unmapped";
}

// The program stores and marks at any moment of a copy, also after the word was copied.
TEST_F(SenderTest, AStoreDuringTheCopyIsSentLater) {
    connection->acknowledge_all();
    constexpr std::uint64_t stores = 1500;
    constexpr std::size_t at = 2;
    std::atomic<std::uint64_t> newest = 0; // the newest number that was sent
    std::atomic<bool> is_over = false;
    std::thread catch_up([&] {
        while (!is_over)
            if (next = 0; map.next(0) < blocks && send_next(sender) == 0) {
                std::uint64_t word = 0;
                std::memcpy(&word, sender.copies() + sizeof(word), sizeof(word));
                newest = word;
            }
    });
    std::mt19937 random(1);
    for (std::uint64_t number = 1; number <= stores; ++number) {
        map.mark(at * block, 1);
        const auto now = std::chrono::steady_clock::now();
        const auto moment = now + std::chrono::nanoseconds(random() % 300'000);
        while (std::chrono::steady_clock::now() < moment)
            ;
        std::atomic_ref(words[at * block / 8 + 1]).store(number);
        map.mark(at * block, 1);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (newest != number && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
        ASSERT_EQ(newest, number) << (is_over = true, catch_up.join(), "a store was lost");
    }
    is_over = true;
    catch_up.join();
}

} // namespace
} // namespace rpmem::initiator::block_sender
