// SPDX-License-Identifier: BSD-3-Clause
// The digests of a pool's chunks: those that a target has computed, and the same of the local pool.
#pragma once

#include "tools/compare/pmemobj_layout.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rpmem::compare {

struct PoolDigests {
    std::uint64_t size = 0;   // of the pool
    std::uint64_t first = 0;  // bytes before it belong to the target: its header
    std::uint64_t length = 0; // of the pool, from its beginning, that have digests
    std::uint64_t chunk = 0;
    std::vector<std::string> digests{}; // in hexadecimal digits
    Ranges excluded{};                  // bytes that the digests leave out

    [[nodiscard]] Range range(std::size_t index) const;
    [[nodiscard]] std::uint64_t compared() const; // bytes under the digests
};

// EPROTO if DIGESTS, which another machine sent, contradict themselves.
[[nodiscard]] Result<> check(const PoolDigests& digests);

[[nodiscard]] Result<std::string> digest_of(const PoolBytes& pool, const Ranges& ranges);
[[nodiscard]] std::string digest_of_zeros(std::uint64_t size);

// Calls CALL(thread, index) for each index below COUNT in THREADS threads. The first failure ends
// all.
[[nodiscard]] Result<> in_threads(unsigned threads, std::size_t count,
                                  const std::function<Result<>(unsigned, std::size_t)>& call);

// The chunks of POOL whose digests are not those of the target. DONE is called with the bytes of
// each chunk, from any thread.
[[nodiscard]] Result<std::vector<std::size_t>>
differing_chunks(const PoolBytes& pool, const PoolDigests& target, unsigned threads,
                 const std::function<void(std::uint64_t)>& done);

} // namespace rpmem::compare
