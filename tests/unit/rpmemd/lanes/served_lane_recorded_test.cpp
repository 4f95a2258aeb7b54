// SPDX-License-Identifier: BSD-3-Clause
// Tests what is durable when a served lane of protocol 0.1 answers, on media of several kinds. The
// recorder keeps an image of what would survive a power failure. The test fails if an answer is
// sent before its range is durable, if a deep persist does not reach a device, if an error of the
// medium is answered, or if pages that a device has written are not marked as changed.
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/lanes/visit.hpp"

#include <sys/mman.h>

#include <csignal>

namespace rpmem::target {
namespace {

using test::Recorder;

constexpr std::size_t max_data = 8 * inline_size; // inline data of a message
// Delay of the medium. An answer that does not wait for the medium arrives earlier.
constexpr std::chrono::milliseconds slow(20);

const std::vector<Share> two_files{{pool_size / 2, false}, {pool_size / 2, false}};
const std::vector<Share> file_and_pmem{{pool_size / 2, false}, {pool_size / 2, true}};

struct Medium {
    const char* name;
    const std::vector<Share>& shares;
};
const Medium media[] = {{"one file", one_file},
                        {"pmem", one_pmem},
                        {"two files", two_files},
                        {"pmem and a file", pmem_and_file},
                        {"a file and pmem", file_and_pmem}};

// A lane to a pool, of which the recorder keeps an image.
class RecordedVisit : public Visit {
public:
    explicit RecordedVisit(const std::vector<Share>& shares) : Visit(max_data, shares) {
        Recorder::instance().reset();
        Recorder::instance().watch(pool.begin(), pool_size);
    }
    ~RecordedVisit() { Recorder::instance().reset(); }
    RecordedVisit(const RecordedVisit&) = delete;
    RecordedVisit& operator=(const RecordedVisit&) = delete;

    // Sends a message for RANGE. It carries the data, or the peer has written them directly before.
    void send_for(PersistMode mode, const Range& range) {
        const bool brings = mode == PersistMode::inline_data;
        if (!brings)
            write(range);
        send(message(mode, range.offset, range.size), message_header + (brings ? range.size : 0));
    }
    // Writes like the device of the peer.
    void write(const Range& range) { std::memset(pool.begin() + range.offset, 1, range.size); }
    [[nodiscard]] bool is_durable(const Range& range) const {
        return pool.begin()[range.offset] == std::byte{1} &&
               Recorder::instance().is_durable(range.offset, range.size);
    }
};

// The sizes are below and above the minimum of streamed copies. The offsets cut cache lines, pages
// and the border between two parts.
constexpr Range ranges[] = {{0, 8},
                            {130, 13},
                            {page - 3, 7},
                            {64, 1024},
                            {3 * page + 53, 1024},
                            {5, 3000},
                            {pool_size / 2 - 4, 8},
                            {pool_size / 2 - 600, 1500},
                            {pool_size - max_data, max_data}};

TEST(RecordedLane, WhatAnAnswerConfirmsIsDurableWhenItComes) {
    for (const Medium& medium : media)
        for (const PersistMode mode :
             {PersistMode::inline_data, PersistMode::persist_written, PersistMode::deep_persist}) {
            SCOPED_TRACE(medium.name);
            SCOPED_TRACE(static_cast<unsigned>(mode));
            RecordedVisit visit(medium.shares);
            Recorder::instance().delay(slow);
            for (const Range& range : ranges) {
                std::memset(visit.pool.begin(), 0, pool_size);
                visit.send_for(mode, range);
                ASSERT_TRUE(visit.is_answered());
                ASSERT_TRUE(visit.is_durable(range)) << range.size << " bytes at " << range.offset;
            }
        }
}

// A deep persist must pass the caches of the platform, for which flush and drain do not suffice.
TEST(RecordedLane, DeepPersistAsksTheDeviceOfEachPart) {
    for (const Medium& medium : media) {
        SCOPED_TRACE(medium.name);
        RecordedVisit visit(medium.shares);
        const Range range{pool_size / 2 - 100, 200};
        visit.send_for(PersistMode::persist_written, range);
        ASSERT_TRUE(visit.is_answered());
        EXPECT_EQ(Recorder::instance().count("pmem2_deep_flush"), 0U);
        visit.send_for(PersistMode::deep_persist, range);
        ASSERT_TRUE(visit.is_answered());
        std::size_t deep = 0;
        for (const auto& event : Recorder::instance().events())
            if (event.call == "pmem2_deep_flush") {
                EXPECT_GE(event.offset, range.offset);
                deep += event.length;
            }
        std::size_t wanted = 0;
        std::size_t begin = 0;
        for (const Share& share : medium.shares) {
            const std::size_t from = std::max(begin, range.offset);
            const std::size_t to = std::min(begin + share.size, range.offset + range.size);
            wanted += share.is_pmem && to > from ? to - from : 0;
            begin += share.size;
        }
        EXPECT_EQ(deep, wanted);
    }
}

struct Refusal {
    const char* call;
    const std::vector<Share>& shares;
    PersistMode mode;
    unsigned number = 1; // the number of the call that fails
};

// The range is in both halves of the pool, so the failure may be in the first part or the second.
TEST(RecordedLane, AnErrorOfTheMediumIsNoAnswer) {
    const Refusal refusals[] = {{"pmem_msync", one_file, PersistMode::inline_data},
                                {"pmem_msync", one_file, PersistMode::persist_written},
                                {"pmem_msync", one_file, PersistMode::deep_persist},
                                // The second part needs a second call.
                                {"pmem_msync", two_files, PersistMode::persist_written, 2},
                                {"pmem_msync", pmem_and_file, PersistMode::inline_data},
                                {"pmem_msync", pmem_and_file, PersistMode::persist_written},
                                {"pmem_msync", file_and_pmem, PersistMode::deep_persist},
                                {"pmem2_deep_flush", one_pmem, PersistMode::deep_persist},
                                {"pmem2_deep_flush", pmem_and_file, PersistMode::deep_persist}};
    for (const Refusal& refusal : refusals) {
        SCOPED_TRACE(refusal.call);
        SCOPED_TRACE(static_cast<unsigned>(refusal.mode));
        RecordedVisit visit(refusal.shares);
        Recorder::instance().fail({refusal.call, "", refusal.number, EIO});
        visit.send_for(refusal.mode, {pool_size / 2 - 100, 200});
        EXPECT_TRUE(test::contains(visit.failure(), strerror(EIO)));
        EXPECT_FALSE(visit.has_answer());
    }
}

// Simulates a kernel that only writes back pages to which the processor has stored. The pool is
// write-protected, and the fault of a store marks its page. A write by a device, here by pwrite(2),
// marks nothing.
class ChangedPages {
public:
    explicit ChangedPages(std::byte* pool) : pool_(pool) {
        instance = this;
        struct sigaction action {};
        action.sa_sigaction = [](int, siginfo_t* info, void*) { instance->note(info->si_addr); };
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGSEGV, &action, &before_);
        ::mprotect(pool_, pool_size, PROT_READ);
    }
    ~ChangedPages() {
        ::mprotect(pool_, pool_size, PROT_READ | PROT_WRITE);
        ::sigaction(SIGSEGV, &before_, nullptr);
    }
    ChangedPages(const ChangedPages&) = delete;
    ChangedPages& operator=(const ChangedPages&) = delete;

    [[nodiscard]] bool has(std::size_t offset) const { return changed_.at(offset / page); }

private:
    void note(void* address) {
        const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(address) - pool_);
        if (offset >= pool_size) { // a fault outside of the pool
            ::sigaction(SIGSEGV, &before_, nullptr);
            return;
        }
        changed_[offset / page] = true;
        ::mprotect(pool_ + offset / page * page, page, PROT_READ | PROT_WRITE);
    }

    std::byte* pool_;
    std::array<std::atomic<bool>, pool_size / page> changed_{};
    struct sigaction before_ {};
    static inline ChangedPages* instance = nullptr;
};

TEST(RecordedLane, PagesThatADeviceWroteAreMarkedBeforeTheyAreSynced) {
    for (const PersistMode mode : {PersistMode::persist_written, PersistMode::deep_persist}) {
        RecordedVisit visit(one_file);
        const ChangedPages changed(visit.pool.begin());
        std::array<std::atomic<bool>, pool_size / page> marked_in_time{};
        Recorder::instance().before_each([&](const test::Event& event) {
            if (event.call == "pmem_msync")
                for (std::size_t i = 0; i < marked_in_time.size(); ++i)
                    marked_in_time[i] = changed.has(i * page);
        });
        const Range range{2 * page - 8, page + 16}; // a page and 8 bytes of both neighbours
        const std::vector<std::byte> written(range.size, std::byte{1});
        ASSERT_EQ(::pwrite(visit.pool.fd(), written.data(), written.size(),
                           static_cast<off_t>(guard_size + range.offset)),
                  static_cast<ssize_t>(written.size()));
        visit.send(visit.message(mode, range.offset, range.size), message_header);
        ASSERT_TRUE(visit.is_answered());
        for (std::size_t i = 0; i < marked_in_time.size(); ++i)
            EXPECT_EQ(marked_in_time[i], i >= 1 && i <= 3) << i;
        EXPECT_TRUE(visit.is_durable(range));
    }
}

// While this object exists, libfabric has no room for the first COUNT answers. Both ends use the
// same table of functions.
class FullQueue {
public:
    FullQueue(fabric::Endpoint& end, int count)
        : table_(const_cast<fi_ops_msg*>(reinterpret_cast<fid_ep*>(end.id())->msg)),
          default_(table_->inject) {
        left = count;
        put([](fid_ep* endpoint, const void* bytes, std::size_t size, fi_addr_t peer) -> ssize_t {
            return left-- > 0 ? -FI_EAGAIN : real(endpoint, bytes, size, peer);
        });
    }
    ~FullQueue() { put(default_); }
    FullQueue(const FullQueue&) = delete;
    FullQueue& operator=(const FullQueue&) = delete;

    static inline std::atomic<int> left = 0;

private:
    using Inject = decltype(fi_ops_msg::inject);
    void put(Inject function) {
        real = default_;
        // The table may be in pages that the loader has made read-only.
        auto* const begin =
            reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(table_) / page * page);
        ::mprotect(begin, 2 * page, PROT_READ | PROT_WRITE);
        table_->inject = function;
    }

    fi_ops_msg* table_;
    Inject default_;
    static inline Inject real = nullptr;
};

TEST(RecordedLane, AnAnswerThatFindsNoRoomIsSentLater) {
    for (const std::vector<Share>& shares : {one_file, one_pmem}) {
        RecordedVisit visit(shares);
        const FullQueue full(visit.end(), 3);
        for (int round = 0; round < 2; ++round) {
            visit.send_for(PersistMode::inline_data, {64, 8});
            ASSERT_TRUE(visit.is_answered());
            EXPECT_LT(FullQueue::left, 0);
        }
    }
}

} // namespace
} // namespace rpmem::target
