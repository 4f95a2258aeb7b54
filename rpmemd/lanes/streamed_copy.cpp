#include "lanes/streamed_copy.hpp"

#include "base/cache_line.hpp"
#include "lanes/word_copy.hpp"

#include <libpmem.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace rpmem::target {
namespace {

#ifdef __x86_64__
// MOVNTI is one 8-byte store: an aligned word is never torn. Wider ones make no such promise.
void stream_lines(std::byte* destination, const std::byte* source, std::size_t size) {
    auto* words = reinterpret_cast<long long*>(destination);
    for (std::size_t i = 0; i < size; i += sizeof(long long)) {
        long long word;
        std::memcpy(&word, source + i, sizeof(word));
        _mm_stream_si64(words++, word);
    }
}
#else
void stream_lines(std::byte* destination, const std::byte* source, std::size_t size) {
    copy_words(destination, {source, size});
    pmem_flush(destination, size);
}
#endif

void copy_and_flush(std::byte* destination, std::span<const std::byte> data) {
    if (data.empty())
        return;
    copy_words(destination, data);
    pmem_flush(destination, data.size());
}

#ifdef __x86_64__
bool caches_are_durable() {
    const char* const wish = std::getenv("PMEM_NO_FLUSH");
    if (wish && (std::strcmp(wish, "0") == 0 || std::strcmp(wish, "1") == 0))
        return *wish == '1';
    return pmem_has_auto_flush() == 1;
}
#endif

} // namespace

bool streaming_pays() {
#ifdef __x86_64__
    static const bool pays = !caches_are_durable();
    return pays;
#else
    return false;
#endif
}

void stream_words(std::byte* destination, std::span<const std::byte> data) {
    const std::size_t misfit = reinterpret_cast<std::uintptr_t>(destination) % cache_line;
    const std::size_t head = std::min((cache_line - misfit) % cache_line, data.size());
    const std::size_t lines = (data.size() - head) / cache_line * cache_line;
    copy_and_flush(destination, data.first(head));
    stream_lines(destination + head, data.data() + head, lines);
    copy_and_flush(destination + head + lines, data.subspan(head + lines));
}

void end_streams() { pmem_drain(); }

} // namespace rpmem::target
