// SPDX-License-Identifier: BSD-3-Clause
// The action digest computes digests of a pool, which rpmemctl verify, push and pull compare
// instead of the data.
#include "common/base/hex.hpp"
#include "common/pools/part_layout.hpp"
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/caller.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/pools/reading.hpp"
#include "rpmemd/registry/registration.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

// Compiles the functions into this file, so that the library is not needed.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::target {
namespace {

using nlohmann::json;

constexpr std::uint64_t default_chunk = std::uint64_t{1} << 20;
// Maximum number of chunks if the client requests no chunk size. A larger pool gets larger chunks.
constexpr std::uint64_t default_count = 16384;
constexpr std::uint64_t max_chunks = 65536; // keeps the document below 4 MiB

constexpr std::uint64_t piece = std::uint64_t{4} << 20; // bytes between two check_who_waits()

class Digest {
public:
    Digest() : state_(XXH3_createState()) {
        if (!state_)
            throw std::bad_alloc();
        XXH3_128bits_reset(state_.get());
    }
    void add(std::span<const std::byte> data) {
        XXH3_128bits_update(state_.get(), data.data(), data.size());
    }
    // Returns hexadecimal digits, the most significant first.
    [[nodiscard]] std::string text() const {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
        return hex_of(std::as_bytes(std::span(canonical.digest)));
    }

private:
    struct Free {
        void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> state_;
};

Result<std::uint64_t> choose_chunk(std::uint64_t wanted, std::uint64_t length) {
    if (wanted == 0)
        return std::max(default_chunk, std::bit_ceil((length + default_count - 1) / default_count));
    if (wanted % layout_page != 0)
        return invalid("--chunk {}: not a multiple of {}", wanted, layout_page);
    if ((length - 1) / wanted >= max_chunks)
        return invalid("--chunk {}: {} bytes would have more than {} chunks", wanted, length,
                       max_chunks);
    return wanted;
}

// Computes the digests of ranges of an open pool. The ranges must be ascending.
class PoolDigester {
public:
    PoolDigester(const Pool& pool, std::vector<ExceptRange> except, const Caller& caller)
        : pool_(pool), reading_(pool), except_(std::move(except)), caller_(caller) {}

    Result<std::string> digest(std::uint64_t begin, std::uint64_t end) {
        const bool is_hole = reading_.is_hole(begin, end);
        Digest digest;
        std::uint64_t zeros = 0;
        while (next_ < except_.size() && except_[next_].end <= begin)
            ++next_;
        for (std::size_t i = next_; begin < end; ++i) {
            const std::uint64_t stop =
                i < except_.size() ? std::clamp(except_[i].begin, begin, end) : end;
            if (is_hole)
                zeros += stop - begin;
            else
                RPMEM_TRY(add(digest, begin, stop));
            begin = i < except_.size() ? std::clamp(except_[i].end, stop, end) : end;
        }
        RPMEM_TRY(check_who_waits());
        return is_hole ? digest_of_zeros(zeros) : digest.text();
    }

private:
    Result<> add(Digest& digest, std::uint64_t begin, std::uint64_t end) const {
        for (; begin < end; begin += std::min(piece, end - begin)) {
            digest.add({pool_.address() + begin, std::min(piece, end - begin)});
            RPMEM_TRY(check_who_waits());
        }
        return {};
    }

    [[nodiscard]] Result<> check_who_waits() const {
        if (caller_.is_gone())
            return fail(ErrorClass::link_lost, ECANCELED,
                        "reading the pool was interrupted: the client has disconnected");
        if (pool_.is_wanted())
            return fail(ErrorClass::target_refused, EBUSY,
                        "reading the pool was interrupted: a program wants to write to it; try "
                        "again when the program has ended");
        return {};
    }

    // Caches the digest, because most holes of a sparse pool are whole chunks.
    const std::string& digest_of_zeros(std::uint64_t size) {
        if (size == zeros_size_ && !zeros_digest_.empty())
            return zeros_digest_;
        const std::vector<std::byte> zeros(std::min(piece, size));
        Digest digest;
        for (std::uint64_t left = size; left > 0; left -= std::min(piece, left))
            digest.add(std::span(zeros).first(std::min(piece, left)));
        zeros_size_ = size;
        zeros_digest_ = digest.text();
        return zeros_digest_;
    }

    const Pool& pool_;
    PoolReading reading_;
    std::vector<ExceptRange> except_;
    const Caller& caller_;
    std::size_t next_ = 0; // index in except_ of the first range that is not before the position
    std::uint64_t zeros_size_ = 0;
    std::string zeros_digest_;
};

// Registers the action as a session that only reads, so that others see it and can evict it.
Result<Registration> register_reading(const ActionContext& context, const std::string& name,
                                      const Pool& pool) {
    Registration registration(context.state_dir, true, context.log);
    const char* const connection = std::getenv("SSH_CONNECTION");
    const std::string_view address = connection ? connection : "";
    RPMEM_TRY(registration.enter(
        {.initiator = {.host = "rpmemctl",
                       .user = {},
                       .address = printable(address.substr(0, address.find(' ')))}}));
    RPMEM_ASSIGN(auto parts, pool.identify_parts());
    RPMEM_TRY(registration.adopt(
        {.pool_set = (context.pool_options.poolset_dir / name).lexically_normal(),
         .parts = std::move(parts),
         .attribute = pool.attribute(),
         .headers = pool.lasting_headers(),
         .modified = pool.modified_before()},
        /*knows_states=*/true));
    return registration;
}

} // namespace

ActionResult digest_pool(ActionContext& context, const ActionRequest& request) {
    std::vector<ExceptRange> except;
    if (request.except) {
        RPMEM_ASSIGN(except, read_except(STDIN_FILENO));
    }
    const Caller caller(STDIN_FILENO, STDOUT_FILENO);
    PoolOptions options = context.pool_options;
    options.read_only = true;
    auto pool = open_pool(options, request.name, 0, context.log);
    if (!pool)
        return with_holder(context, request.name, std::move(pool).error());
    RPMEM_ASSIGN(const auto registration, register_reading(context, request.name, *pool));
    const std::uint64_t length = request.length == 0 ? pool->size() : request.length;
    if (length > pool->size())
        return fail(ErrorClass::caller_fault, EFBIG, "{} bytes were requested, the pool has {}",
                    length, pool->size());
    RPMEM_ASSIGN(const auto chunk, choose_chunk(request.chunk, length));
    // The first page of a pool with headers is the target's own header.
    const std::uint64_t first = pool->has_headers() ? header_size : 0;
    PoolDigester digester(*pool, std::move(except), caller);
    json digests = json::array();
    for (std::uint64_t begin = 0; begin < length; begin += chunk) {
        const std::uint64_t start = std::max(begin, first);
        const std::uint64_t end = std::max(start, std::min(begin + chunk, length));
        RPMEM_ASSIGN(auto digest, digester.digest(start, end));
        digests.push_back(std::move(digest));
    }
    json report{{"name", request.name}, {"algorithm", "xxh3-128"}, {"size", pool->size()},
                {"first", first},       {"length", length},        {"chunk", chunk},
                {"digests", digests}};
    // The shared lock has kept writers out, so this record also holds for the digests.
    const auto& record = registration.found_record();
    report.update(claim_members(record.value_or(PoolRecord{})));
    report["record_problem"] =
        record ? "" : "the record of the pool cannot be read; rpmemctl info shows why";
    return report;
}

} // namespace rpmem::target
