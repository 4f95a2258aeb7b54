// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/durability/streamed_copy.hpp"

#include "common/base/cache_line.hpp"
#include "rpmemd/durability/word_copy.hpp"

#include <libpmem.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace rpmem::target {
namespace {

void copy_and_flush(std::byte* destination, std::span<const std::byte> data) {
    if (data.empty())
        return;
    copy_words(destination, data);
    pmem_flush(destination, data.size());
}

} // namespace

bool streams_keep_words() {
    static const bool kept = std::getenv("PMEM_NO_GENERIC_MEMCPY") == nullptr;
    return kept;
}

// Leaves only whole cache lines to libpmem, because libpmem 1.12.1 copies a single word with two
// stores.
void stream_words(std::byte* destination, std::span<const std::byte> data) {
    const std::size_t misfit = reinterpret_cast<std::uintptr_t>(destination) % cache_line;
    const std::size_t head = std::min((cache_line - misfit) % cache_line, data.size());
    const std::size_t lines = (data.size() - head) / cache_line * cache_line;
    copy_and_flush(destination, data.first(head));
    if (lines > 0)
        pmem_memcpy(destination + head, data.data() + head, lines, PMEM_F_MEM_NODRAIN);
    copy_and_flush(destination + head + lines, data.subspan(head + lines));
}

void end_streams() { pmem_drain(); }

} // namespace rpmem::target
