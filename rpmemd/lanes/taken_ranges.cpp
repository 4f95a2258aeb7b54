#include "rpmemd/lanes/taken_ranges.hpp"

#include "rpmemd/lanes/streamed_copy.hpp"
#include "rpmemd/lanes/word_copy.hpp"

#include <algorithm>
#include <utility>

namespace rpmem::target {
namespace {

// Smaller pieces are in the cache when they are flushed, and may be wanted there.
constexpr std::size_t least_streamed_size = 1024;

} // namespace

std::string TakenRanges::copy(std::byte* address, std::span<const std::byte> data,
                              const Persister& persister) {
    if (data.size() < least_streamed_size || !streams_keep_words() ||
        persister.means() != FlushMeans::pmem_persist) {
        copy_words(address, data);
        return add(address, data.size(), persister);
    }
    stream_words(address, data);
    has_streams_ = true;
    return {};
}

std::string TakenRanges::add(std::byte* address, std::size_t size, const Persister& persister) {
    std::byte* const end = begin_ + size_;
    if (size_ > 0 && address <= end && address + size >= begin_) {
        std::byte* const new_end = std::max(end, address + size);
        begin_ = std::min(begin_, address);
        size_ = static_cast<std::size_t>(new_end - begin_);
        return {};
    }
    std::string problem = persist(persister);
    begin_ = address;
    size_ = size;
    return problem;
}

std::string TakenRanges::persist(const Persister& persister) {
    const std::size_t size = std::exchange(size_, 0);
    if (std::exchange(has_streams_, false))
        end_streams();
    return persister.persist(begin_, size) == 0 ? std::string() : persister.failure_text();
}

} // namespace rpmem::target
