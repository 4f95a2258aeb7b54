#include "lanes/streamed_copy.hpp"

#include "lanes/word_copy.hpp"

#include <libpmem.h>

#include <algorithm>
#include <cstdint>

namespace rpmem::target {
namespace {

void copy_and_flush(std::byte* destination, std::span<const std::byte> data) {
    if (data.empty())
        return;
    copy_words(destination, data);
    pmem_flush(destination, data.size());
}

} // namespace

void stream_words(std::byte* destination, std::span<const std::byte> data) {
    constexpr std::size_t word_size = sizeof(std::uint64_t);
    const std::size_t misfit = reinterpret_cast<std::uintptr_t>(destination) % word_size;
    const std::size_t head = std::min((word_size - misfit) % word_size, data.size());
    const std::size_t words = (data.size() - head) / word_size * word_size;
    copy_and_flush(destination, data.first(head));
    if (words > 0)
        pmem_memcpy(destination + head, data.data() + head, words, PMEM_F_MEM_NODRAIN);
    copy_and_flush(destination + head + words, data.subspan(head + words));
}

void end_streams() { pmem_drain(); }

} // namespace rpmem::target
