// SPDX-License-Identifier: BSD-3-Clause
// Moving what differs between a pool here and one on the target: over the public interface of the
// library, with a thread for each lane.
#pragma once

#include "tools/compare/digests.hpp"
#include "tools/compare/local_pool.hpp"
#include "tools/ctl/progress.hpp"

#include <librpmem.h>

#include <memory>
#include <string>
#include <vector>

namespace rpmem::ctl {

using compare::LocalPool;
using compare::PoolDigests;
using compare::Range;

// A session that has the pool. One thread uses a lane at a time.
class PoolSession {
public:
    // The pool's local memory has SIZE bytes, and takes no more room than what is being pushed.
    [[nodiscard]] static Result<PoolSession> open(const std::string& target,
                                                  const std::string& pool_set, std::uint64_t size,
                                                  unsigned lanes);
    PoolSession(PoolSession&&) noexcept = default;
    PoolSession& operator=(PoolSession&&) = delete;
    ~PoolSession();

    [[nodiscard]] unsigned lanes() const { return lanes_; }
    // RANGE of the local memory is durable on the target on return.
    [[nodiscard]] Result<> push(Range range, unsigned lane) const;
    // The same of LOCAL. RANGE begins a page.
    [[nodiscard]] Result<> push(const LocalPool& local, Range range, unsigned lane) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer,
                                unsigned lane) const;
    // Reports what the end of the session has to say.
    [[nodiscard]] Result<> close();

private:
    struct Unmap {
        std::size_t size;
        void operator()(std::byte* memory) const;
    };
    PoolSession(std::unique_ptr<std::byte, Unmap> memory, RPMEMpool* pool, unsigned lanes)
        : memory_(std::move(memory)), pool_(pool), lanes_(lanes) {}

    std::unique_ptr<std::byte, Unmap> memory_;
    struct Close {
        void operator()(RPMEMpool* pool) const { static_cast<void>(::rpmem_close(pool)); }
    };
    std::unique_ptr<RPMEMpool, Close> pool_;
    unsigned lanes_;
};

// Moves CHUNKS of POOL from LOCAL to the target.
[[nodiscard]] Result<> push_chunks(const PoolSession& session, const PoolDigests& pool,
                                   const std::vector<std::size_t>& chunks, const LocalPool& local,
                                   Progress& progress);
// From the target to LOCAL. The header moves only to an image; a pool set keeps its own. Returns
// the bytes that moved.
[[nodiscard]] Result<std::uint64_t> pull_chunks(const PoolSession& session, const PoolDigests& pool,
                                                const std::vector<std::size_t>& chunks,
                                                const LocalPool& local, Progress& progress);

} // namespace rpmem::ctl
