// A copy to persistent memory, past the processor's caches where they are lost with the power: what
// is written needs no flush afterwards.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::target {

// As copy_words(); the data is durable after the next end_streams(). pmem_memcpy(3) makes stores of
// at least 8 bytes where address and length are multiples of 8, and says that it can stand for a
// series of 8-byte stores: no aligned word is torn.
void stream_words(std::byte* destination, std::span<const std::byte> data);

// Orders all that this thread has streamed before all that it does next.
void end_streams();

} // namespace rpmem::target
