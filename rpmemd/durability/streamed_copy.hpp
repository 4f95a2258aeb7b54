// SPDX-License-Identifier: BSD-3-Clause
// Copies to persistent memory past the processor caches, if libpmem supports that on this
// processor. The data needs end_streams(), but no flush.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::target {

// Returns whether pmem_memcpy(3) copies whole cache lines with stores of at least 8 bytes. It does
// unless PMEM_NO_GENERIC_MEMCPY makes libpmem(7) call memcpy(3) of libc, which guarantees nothing.
[[nodiscard]] bool streams_keep_words();

// Like copy_words(), but the data is durable after the next end_streams(). Requires
// streams_keep_words().
void stream_words(std::byte* destination, std::span<const std::byte> data);

// Orders all streamed stores of this thread before its later operations.
void end_streams();

} // namespace rpmem::target
