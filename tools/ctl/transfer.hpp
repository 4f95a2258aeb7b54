// SPDX-License-Identifier: BSD-3-Clause
// Copies chunks between a local pool and one on the target. It uses the public interface of the
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

// A session with an open pool. One thread at a time uses a lane.
class PoolSession {
public:
    // Opens the pool with local memory of SIZE bytes, rounded up to pages. Only the ranges that are
    // being pushed use RAM.
    [[nodiscard]] static Result<PoolSession> open(const std::string& target,
                                                  const std::string& pool_set, std::uint64_t size,
                                                  unsigned lanes);
    PoolSession(PoolSession&&) noexcept = default;
    PoolSession& operator=(PoolSession&&) = delete;
    ~PoolSession();

    [[nodiscard]] unsigned lanes() const { return lanes_; }
    // Makes RANGE of the local memory durable on the target.
    [[nodiscard]] Result<> push(Range range, unsigned lane) const;
    // Makes RANGE of LOCAL durable on the target. RANGE begins at a page.
    [[nodiscard]] Result<> push(const LocalPool& local, Range range, unsigned lane) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer,
                                unsigned lane) const;
    // Closes the pool, and returns the error of rpmem_close(). The destructor would drop it.
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

// Copies CHUNKS of POOL from LOCAL to the target.
[[nodiscard]] Result<> push_chunks(const PoolSession& session, const PoolDigests& pool,
                                   const std::vector<std::size_t>& chunks, const LocalPool& local,
                                   Progress& progress);
// Copies CHUNKS of POOL from the target to LOCAL. If LOCAL is an image (one file), its header is
// overwritten, too. A local pool set keeps its header. Returns the number of bytes that were read
// from the target.
[[nodiscard]] Result<std::uint64_t> pull_chunks(const PoolSession& session, const PoolDigests& pool,
                                                const std::vector<std::size_t>& chunks,
                                                const LocalPool& local, Progress& progress);

} // namespace rpmem::ctl
