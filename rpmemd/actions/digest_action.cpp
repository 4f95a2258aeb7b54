// SPDX-License-Identifier: BSD-3-Clause
// digest: the digests of a pool, which rpmemctl verify, push and pull compare instead of its data.
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/pools/part_layout.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>

// Built for this processor by the compiler; without the library.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::target {
namespace {

using nlohmann::json;

constexpr std::uint64_t usual_chunk = std::uint64_t{1} << 20;
constexpr std::uint64_t usual_count = 16384; // of a large pool: the chunks grow
constexpr std::uint64_t most_chunks = 65536; // the document stays below 4 MiB

// In the order of its digits, most significant first.
std::string digest_of(const std::byte* data, std::size_t size) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    return hex_of(std::as_bytes(std::span(canonical.digest)));
}

Result<std::uint64_t> choose_chunk(std::uint64_t wanted, std::uint64_t length) {
    if (wanted == 0)
        return std::max(usual_chunk, std::bit_ceil((length + usual_count - 1) / usual_count));
    if (wanted % layout_page != 0)
        return invalid("--chunk {}: not a multiple of {}", wanted, layout_page);
    if ((length - 1) / wanted >= most_chunks)
        return invalid("--chunk {}: {} bytes would have more than {} chunks", wanted, length,
                       most_chunks);
    return wanted;
}

} // namespace

ActionResult digest_pool(ActionContext& context, const ActionRequest& request) {
    StoreOptions options = context.store;
    options.read_only = true;
    auto pool = open_pool(options, request.name, 0, context.log);
    if (!pool)
        return with_holder(context, request.name, std::move(pool).error());
    const std::uint64_t length = request.length == 0 ? pool->size() : request.length;
    if (length > pool->size())
        return fail(ErrorClass::caller_fault, EFBIG, "{} bytes are wanted, the pool has {}", length,
                    pool->size());
    RPMEM_ASSIGN(const auto chunk, choose_chunk(request.chunk, length));
    // The first page of a pool with headers is the target's own.
    const std::uint64_t first = pool->has_headers() ? header_size : 0;
    json digests = json::array();
    for (std::uint64_t begin = 0; begin < length; begin += chunk) {
        const std::uint64_t start = std::max(begin, first);
        const std::uint64_t end = std::max(start, std::min(begin + chunk, length));
        digests.push_back(digest_of(pool->address() + start, end - start));
    }
    return json{{"name", request.name}, {"algorithm", "xxh3-128"}, {"size", pool->size()},
                {"first", first},       {"length", length},        {"chunk", chunk},
                {"digests", digests}};
}

} // namespace rpmem::target
