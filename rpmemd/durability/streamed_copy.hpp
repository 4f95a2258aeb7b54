// SPDX-License-Identifier: BSD-3-Clause
// A copy to persistent memory, past the processor's caches if they are lost with the power: the
// data needs no flush afterwards.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::target {

// pmem_memcpy(3) promises stores of at least 8 bytes where address and length are multiples of 8.
// False: libpmem was told to leave copying to libc, which promises nothing (libpmem(7),
// PMEM_NO_GENERIC_MEMCPY).
[[nodiscard]] bool streams_keep_words();

// As copy_words(); the data is durable after the next end_streams(). Only if streams_keep_words().
void stream_words(std::byte* destination, std::span<const std::byte> data);

// Orders all that this thread has streamed before all that it does next.
void end_streams();

} // namespace rpmem::target
