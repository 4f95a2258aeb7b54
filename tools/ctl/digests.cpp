// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/digests.hpp"

#include "tools/ctl/reading.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <memory>

// Built for this processor by the compiler; without the library.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::ctl {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t most_chunks = 65536;
// A target chooses 16384 chunks, of 1 MiB or more. A hostile one that could choose larger chunks,
// or a pool that no process could map, would have this program hash zeros for years.
constexpr std::uint64_t least_chunks = 1024;
constexpr std::uint64_t usual_chunk = std::uint64_t{1} << 20;
constexpr std::uint64_t max_pool_size = std::uint64_t{1} << 47;

std::uint64_t max_chunk(std::uint64_t length) {
    return std::max(usual_chunk, std::bit_ceil(length / least_chunks + 1));
}
constexpr std::size_t digits = 32;

class Digest {
public:
    Digest() : state_(XXH3_createState()) {
        if (state_)
            XXH3_128bits_reset(state_.get());
    }
    void add(std::span<const std::byte> data) {
        if (state_)
            XXH3_128bits_update(state_.get(), data.data(), data.size());
    }
    [[nodiscard]] std::string text() const {
        if (!state_)
            throw std::bad_alloc();
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
        std::string hex;
        for (const unsigned char byte : canonical.digest)
            hex += fmt::format("{:02x}", byte);
        return hex;
    }

private:
    struct Free {
        void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> state_;
};

} // namespace

Range PoolDigests::range(std::size_t index) const {
    const std::uint64_t start = std::max(index * chunk, first);
    return {start, std::max(start, std::min((index + 1) * chunk, length))};
}

Result<PoolDigests> read_digests(const nlohmann::json& document) {
    PoolDigests read{number_of(document, "size").value_or(0),
                     number_of(document, "first").value_or(page + 1),
                     number_of(document, "length").value_or(0),
                     number_of(document, "chunk").value_or(0),
                     {}};
    for (const auto& digest : member(document, "digests"))
        read.digests.push_back(digest.is_string() ? digest.get<std::string>() : "");
    const bool sensible =
        text_of(document, "algorithm") == "xxh3-128" && read.size % page == 0 &&
        read.size <= max_pool_size && read.length <= read.size && read.length > 0 &&
        read.chunk > 0 && read.chunk % page == 0 && read.chunk <= max_chunk(read.length) &&
        (read.first == 0 || read.first == page) && read.digests.size() <= most_chunks &&
        read.digests.size() == (read.length - 1) / read.chunk + 1 &&
        std::ranges::all_of(read.digests, [](const auto& each) { return each.size() == digits; });
    if (!sensible)
        return fail(ErrorClass::link_lost, EPROTO,
                    "the target's digests are malformed, or of chunks larger than 1/{} of the pool",
                    least_chunks);
    return read;
}

Result<std::string> digest_of(const ImageFile& file, Range range) {
    Digest digest;
    std::vector<std::byte> buffer(std::min<std::uint64_t>(piece, range.size()));
    for (std::uint64_t at = range.begin; at < range.end;) {
        const auto part = std::span(buffer).first(std::min<std::uint64_t>(piece, range.end - at));
        RPMEM_TRY(file.read(at, part));
        digest.add(part);
        at += part.size();
    }
    return digest.text();
}

std::string digest_of_zeros(std::uint64_t size) {
    Digest digest;
    const std::vector<std::byte> zeros(std::min<std::uint64_t>(piece, size));
    for (std::uint64_t left = size; left > 0; left -= std::min<std::uint64_t>(piece, left))
        digest.add(std::span(zeros).first(std::min<std::uint64_t>(piece, left)));
    return digest.text();
}

} // namespace rpmem::ctl
