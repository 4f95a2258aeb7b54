// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/durability/dirty_ranges.hpp"

#include "common/base/probes.hpp"
#include "rpmemd/durability/streamed_copy.hpp"
#include "rpmemd/durability/word_copy.hpp"

#include <algorithm>
#include <utility>

namespace rpmem::target {
namespace {

// Smaller pieces are copied through the cache, because they may be read again soon.
constexpr std::size_t min_streamed_size = 1024;

} // namespace

std::string DirtyRanges::copy(std::byte* address, std::span<const std::byte> data) {
    if (data.size() < min_streamed_size || !streams_keep_words() || !medium_.is_pmem()) {
        copy_words(address, data);
        return add(address, data.size());
    }
    stream_words(address, data);
    has_streams_ = true;
    return {};
}

std::string DirtyRanges::add(std::byte* address, std::size_t size) {
    std::byte* const end = begin_ + size_;
    if (size_ > 0 && address <= end && address + size >= begin_) {
        std::byte* const new_end = std::max(end, address + size);
        begin_ = std::min(begin_, address);
        size_ = static_cast<std::size_t>(new_end - begin_);
        return {};
    }
    std::string problem = persist();
    begin_ = address;
    size_ = size;
    return problem;
}

std::string DirtyRanges::persist() {
    const std::size_t size = std::exchange(size_, 0);
    if (std::exchange(has_streams_, false))
        end_streams();
    return size == 0 ? std::string() : by(MediumCall::persist, begin_, size);
}

std::string DirtyRanges::deep_persist(std::byte* address, std::size_t size) {
    std::string problem = persist();
    return problem.empty() ? by(MediumCall::deep_persist, address, size) : problem;
}

std::string DirtyRanges::by(MediumCall call, std::byte* address, std::size_t size) {
    const std::uint64_t began = statistics::ticks();
    const int code = call == MediumCall::persist ? medium_.persist(address, size)
                                                 : medium_.deep_persist(address, size);
    if (code != 0)
        return medium_.failure_text();
    counters_.of(call).count(size, began);
    RPMEM_PROBE(rpmemd, durable, address - pool_, size);
    return {};
}

} // namespace rpmem::target
