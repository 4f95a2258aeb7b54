// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/digests.hpp"

#include "common/base/hex.hpp"
#include "tools/compare/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

// The header contains the whole algorithm, so that the library is not needed at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::compare {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20; // bytes that are hashed at once
constexpr std::uint64_t max_chunks = 65536;
// Limits on the answer of a hostile target, which could otherwise make this program hash zeros for
// years. A chunk has at most 1 / min_chunks of the pool, rounded up to a power of two, or
// default_chunk if that is more. A pool is at most as large as a process could map. rpmemd chooses
// up to 16384 chunks of at least 1 MiB.
constexpr std::uint64_t min_chunks = 1024;
constexpr std::uint64_t default_chunk = std::uint64_t{1} << 20;
constexpr std::uint64_t max_pool_size = std::uint64_t{1} << 47;
constexpr std::size_t digest_digits = 32;

std::uint64_t max_chunk(std::uint64_t length) {
    return std::max(default_chunk, std::bit_ceil(length / min_chunks + 1));
}

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
        return hex(canonical.digest);
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

std::uint64_t PoolDigests::compared() const {
    return length <= first ? 0 : bytes_of(without({first, length}, excluded));
}

Result<> check(const PoolDigests& read) {
    const bool consistent =
        read.size % page == 0 && read.size <= max_pool_size && read.length <= read.size &&
        read.length > 0 && read.chunk > 0 && read.chunk % page == 0 &&
        read.chunk <= max_chunk(read.length) && (read.first == 0 || read.first == header_length) &&
        read.digests.size() <= max_chunks &&
        read.digests.size() == (read.length - 1) / read.chunk + 1 &&
        std::ranges::all_of(read.digests,
                            [](const auto& each) { return each.size() == digest_digits; });
    if (!consistent)
        return fail(
            ErrorClass::link_lost, EPROTO,
            "the target's digests are malformed: {} digests of chunks of {} bytes for bytes "
            "{} to {} of {}; chunks may have at most {} bytes (1/{} of the pool, rounded up)",
            read.digests.size(), read.chunk, read.first, read.length, read.size,
            read.length > 0 ? max_chunk(read.length) : 0, min_chunks);
    return {};
}

Result<std::string> digest_of(const PoolBytes& pool, const Ranges& ranges) {
    Digest digest;
    std::vector<std::byte> buffer(std::min<std::uint64_t>(piece, bytes_of(ranges)));
    for (const Range& range : ranges)
        for (std::uint64_t at = range.begin; at < range.end;) {
            const auto part =
                std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), range.end - at));
            RPMEM_TRY(pool.read(at, part));
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

Result<> in_threads(unsigned threads, std::size_t count,
                    const std::function<Result<>(unsigned, std::size_t)>& call) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Result<> outcome;
    const auto work = [&](unsigned thread) {
        for (std::size_t index = next++; index < count; index = next++) {
            Result<> done;
            try {
                done = call(thread, index);
            } catch (const std::exception& exception) {
                done = fail(ErrorClass::resource_limit, ENOMEM, "{}", exception.what());
            }
            if (done)
                continue;
            next = count;
            const std::lock_guard lock(mutex);
            if (outcome)
                outcome = std::move(done);
        }
    };
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads && thread < count; ++thread)
        others.emplace_back(work, thread);
    work(0);
    others.clear(); // joins
    return outcome;
}

Result<std::vector<std::size_t>> differing_chunks(const PoolBytes& pool, const PoolDigests& target,
                                                  unsigned threads,
                                                  const std::function<void(std::uint64_t)>& done) {
    const std::string zeros = digest_of_zeros(target.chunk);
    std::vector<char> differs(target.digests.size());
    const auto compare = [&](unsigned /*thread*/, std::size_t i) -> Result<> {
        const Range range = target.range(i);
        const Ranges ranges = without(range, target.excluded);
        const std::uint64_t bytes = bytes_of(ranges);
        const auto digest =
            !pool.is_hole(range)
                ? digest_of(pool, ranges)
                : Result<std::string>(bytes == target.chunk ? zeros : digest_of_zeros(bytes));
        RPMEM_TRY(digest);
        differs[i] = *digest != target.digests[i];
        done(range.size());
        return {};
    };
    RPMEM_TRY(in_threads(threads, differs.size(), compare));
    std::vector<std::size_t> chunks;
    for (std::size_t i = 0; i < differs.size(); ++i)
        if (differs[i] != 0)
            chunks.push_back(i);
    return chunks;
}

} // namespace rpmem::compare
