// SPDX-License-Identifier: BSD-3-Clause
// The medium of a mapped pool, part by part, and the way ranges become durable there.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/durability/failure_latch.hpp"
#include "rpmemd/durability/fault_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct pmem2_map;
struct pmem2_source;

namespace rpmem::target {

class SyncTracker;

// The mappings belong to the caller and must outlive this. persist() and deep_persist() return 0 or
// a positive errno value, and may run in parallel. After a failure, every msync(2) and deep flush
// fails without a request to the medium: see rpmemd/durability/sync_tracker.hpp. persist() on
// persistent memory never fails; check failure_code().
class Medium {
public:
    Medium();
    ~Medium();
    Medium(Medium&&) noexcept;
    Medium& operator=(Medium&&) noexcept;

    // Adds a part: the file FD, mapped from OFFSET on at [ADDRESS, ADDRESS + SIZE), which follows
    // the parts that were added before. FD must stay open. PATH is for error texts. DEEP_FLUSH is
    // what open_deep_flush() returned for a Device DAX.
    Result<> add(int fd, const std::string& path, std::byte* address, std::size_t size,
                 bool is_pmem, std::uint64_t offset = 0,
                 std::optional<int> deep_flush = std::nullopt);

    [[nodiscard]] bool is_pmem() const { return all_pmem_; } // no part needs msync(2)
    [[nodiscard]] int persist(std::byte* address, std::size_t size) const;
    // Like persist(), but also flushes the buffers of the platform, if the device supports that and
    // this user may request it.
    [[nodiscard]] int deep_persist(std::byte* address, std::size_t size) const;

    // Returns how many of the SIZE bytes from ADDRESS on are zeros because they are in a hole of a
    // file, as far as that is known.
    [[nodiscard]] std::size_t hole_size(std::byte* address, std::size_t size) const;

    // Flushes all bytes of the parts that are persistent memory from the caches of the processors.
    void flush_pmem() const;

    // Returns the syncs of part number PART. Each further sync of the part must use them.
    [[nodiscard]] SyncTracker& syncs_of(std::size_t part) const { return *ranges_[part].syncs; }
    // The first failure, also one that look_at_files() found. failure_code() costs one load.
    [[nodiscard]] int failure_code() const { return latch_->code(); }
    [[nodiscard]] std::optional<MediumFailure> failure() const { return latch_->failure(); }
    [[nodiscard]] std::string failure_text() const;
    // Records a file that was truncated or has lost its last name as a failure. The kernel sends a
    // signal only to a thread that touches truncated memory. If a system call of libfabric copies
    // from it, the call fails without a signal, and only the connection ends. A file without a name
    // can never be opened again.
    void look_at_files() const;
    [[nodiscard]] std::vector<PartInMemory> parts() const;

private:
    struct DeleteSource {
        void operator()(pmem2_source* source) const;
    };
    struct DeleteMap {
        void operator()(pmem2_map* map) const;
    };
    struct Range {
        std::byte* begin;
        std::byte* end;
        std::uint64_t offset; // offset of BEGIN in the file
        int fd;
        std::string path;
        std::unique_ptr<SyncTracker> syncs;
        bool is_pmem;
        bool had_name; // files of O_TMPFILE and memfd_create(2) never have one
        bool has_reliable_holes;
        std::optional<int> deep_flush;
        std::unique_ptr<pmem2_source, DeleteSource> source; // this and map: only for files on pmem
        std::unique_ptr<pmem2_map, DeleteMap> map;
        [[nodiscard]] std::uint64_t offset_of(const std::byte* place) const {
            return offset + static_cast<std::uint64_t>(place - begin);
        }
    };
    // Calls PERSIST(range, address, size) for the share of each range until one fails.
    template <typename Persist>
    int for_each_share(std::byte* address, std::size_t size, Persist persist) const;

    std::unique_ptr<FailureLatch> latch_; // a pointer, because ranges_ refer to it
    std::vector<Range> ranges_;           // sorted by address
    bool all_pmem_ = true;
};

} // namespace rpmem::target
