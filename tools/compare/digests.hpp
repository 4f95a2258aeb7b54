// SPDX-License-Identifier: BSD-3-Clause
// Digests of the chunks of a pool. The target computes those of its pool, and this program computes
// those of the local pool.
#pragma once

#include "tools/compare/pmemobj_layout.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rpmem::compare {

struct PoolDigests {
    std::uint64_t size = 0;             // size of the pool
    std::uint64_t first = 0;            // the digests begin here: after the header, if there is one
    std::uint64_t length = 0;           // the digests end here
    std::uint64_t chunk = 0;            // bytes of a chunk
    std::vector<std::string> digests{}; // 32 hexadecimal digits each
    Ranges excluded{};                  // bytes that the digests leave out

    // Returns the range of chunk INDEX, with the excluded bytes in it.
    [[nodiscard]] Range range(std::size_t index) const;
    // Returns the number of bytes that have digests.
    [[nodiscard]] std::uint64_t compared() const;
};

// Fails with EPROTO if DIGESTS, which another machine sent, are inconsistent, or their chunks are
// so large that this program could be made to hash for years.
[[nodiscard]] Result<> check(const PoolDigests& digests);

[[nodiscard]] Result<std::string> digest_of(const PoolBytes& pool, const Ranges& ranges);
[[nodiscard]] std::string digest_of_zeros(std::uint64_t size);

// Calls CALL(thread, index) for each index below COUNT, in at most THREADS threads. After a failure
// no further index is called, and the first failure is returned.
[[nodiscard]] Result<> in_threads(unsigned threads, std::size_t count,
                                  const std::function<Result<>(unsigned, std::size_t)>& call);

// Returns the indices of the chunks of POOL whose digests differ from those of the target. Calls
// DONE with the size of each compared chunk, from any thread.
[[nodiscard]] Result<std::vector<std::size_t>>
differing_chunks(const PoolBytes& pool, const PoolDigests& target, unsigned threads,
                 const std::function<void(std::uint64_t)>& done);

} // namespace rpmem::compare
