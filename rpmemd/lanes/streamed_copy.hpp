// A copy past the CPU's caches, for persistent memory: what is written needs no flush afterwards.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::target {

// Whether large pieces are better streamed than copied and flushed: this processor can, and its
// caches are lost with the power (no eADR; PMEM_NO_FLUSH, see libpmem(7), has the last word).
[[nodiscard]] bool streaming_pays();

// As copy_words(); the data is durable after the next end_streams(). Only if streaming_pays().
void stream_words(std::byte* destination, std::span<const std::byte> data);

// Orders all that this thread has streamed before all that it does next.
void end_streams();

} // namespace rpmem::target
