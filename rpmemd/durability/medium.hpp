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

class OverlappingSyncs;

// The mappings are the caller's; they must outlive this. The calls that make ranges durable return
// 0 or a positive errno value, and may run in parallel. Once one has failed, all others fail, too,
// and ask nothing of the medium any more: see rpmemd/durability/overlapping_syncs.hpp.
class Medium {
public:
    Medium();
    ~Medium();
    Medium(Medium&&) noexcept;
    Medium& operator=(Medium&&) noexcept;

    // The file FD is mapped at [ADDRESS, ADDRESS + SIZE), right after those added before, from
    // OFFSET on; it must stay open. PATH is for messages. DEEP_FLUSH: of a Device DAX, what
    // open_deep_flush() returned for it.
    Result<> add(int fd, const std::string& path, std::byte* address, std::size_t size,
                 bool is_pmem, std::uint64_t offset = 0,
                 std::optional<int> deep_flush = std::nullopt);

    [[nodiscard]] bool is_pmem() const { return all_pmem_; } // no part needs msync(2)
    [[nodiscard]] int persist(std::byte* address, std::size_t size) const;
    // Past the caches of the platform, as far as software can ask for it. If the device offers
    // nothing deeper than persist(), or not to this user, that is all.
    [[nodiscard]] int deep_persist(std::byte* address, std::size_t size) const;

    // For others that sync the file of the part that was added as number PART: its headers.
    [[nodiscard]] OverlappingSyncs& syncs_of(std::size_t part) const {
        return *ranges_[part].syncs;
    }
    // Of the first call that failed, whoever made it. The code alone costs one load.
    [[nodiscard]] int failure_code() const { return latch_->code(); }
    [[nodiscard]] std::optional<MediumFailure> failure() const { return latch_->failure(); }
    [[nodiscard]] std::string failure_text() const;
    // A file that is shorter than its mapping is a failure, too. The kernel tells a thread that
    // touches the memory; one that lets the kernel copy from it, as libfabric does, sees only that
    // a connection ends. So is a file that has lost its last name: nobody can open it again.
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
        std::uint64_t offset; // of BEGIN in the file
        int fd;
        std::string path;
        std::unique_ptr<OverlappingSyncs> syncs;
        bool is_pmem;
        bool had_name; // when it was added: O_TMPFILE and memfd_create(2) make files without one
        std::optional<int> deep_flush;
        std::unique_ptr<pmem2_source, DeleteSource> source; // these two only for files on pmem
        std::unique_ptr<pmem2_map, DeleteMap> map;
        [[nodiscard]] std::uint64_t offset_of(const std::byte* place) const {
            return offset + static_cast<std::uint64_t>(place - begin);
        }
    };
    // Calls PERSIST(range, address, size) for the share of each range until one fails.
    template <typename Persist>
    int for_each_share(std::byte* address, std::size_t size, Persist persist) const;

    std::unique_ptr<FailureLatch> latch_; // the records of syncs refer to it
    std::vector<Range> ranges_;           // by address
    bool all_pmem_ = true;
};

} // namespace rpmem::target
