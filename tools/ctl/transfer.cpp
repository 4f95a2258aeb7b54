// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/transfer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace rpmem::ctl {
namespace {

using compare::page;
// The shutdown state in a header. It describes the devices of the target, so an image gets zeros.
constexpr Range shutdown_state{4024, 4088};
constexpr std::uint64_t piece = std::uint64_t{1} << 20; // maximum bytes of a call of the library

// Returns the error of the library call that has just failed in this thread.
Failure library_failure() {
    const int code = errno;
    return fail(ErrorClass::target_refused, code, "{}", ::rpmem_errormsg());
}

} // namespace

void PoolSession::Unmap::operator()(std::byte* memory) const { ::munmap(memory, size); }

Result<PoolSession> PoolSession::open(const std::string& target, const std::string& pool_set,
                                      std::uint64_t size, unsigned lanes) {
    const std::size_t length = (size + page - 1) / page * page;
    // The memory does not map the file, because an access would raise SIGBUS if the file became
    // shorter.
    void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_NORESERVE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot map {} bytes", length);
    std::unique_ptr<std::byte, Unmap> mapped(static_cast<std::byte*>(memory), {length});
    // The caller has compared, and decides what is sent. If the target is away, rpmemctl must fail.
    // The library reads both variables at its first use.
    for (const auto& [name, value] : {std::pair("RPMEM_EQUALIZE", "no"), {"RPMEM_ON_LOSS", "fail"}})
        if (::setenv(name, value, 1) != 0)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot set {}", name);
    RPMEMpool* const pool =
        ::rpmem_open(target.c_str(), pool_set.c_str(), memory, length, &lanes, nullptr);
    if (pool == nullptr)
        return library_failure();
    return PoolSession(std::move(mapped), pool, lanes);
}

PoolSession::~PoolSession() { pool_.reset(); } // before the memory is unmapped

Result<> PoolSession::push(Range range, unsigned lane) const {
    return ::rpmem_persist(pool_.get(), range.begin, range.size(), lane, RPMEM_PERSIST_RELAXED) == 0
               ? Result<>()
               : library_failure();
}

Result<> PoolSession::push(const LocalPool& local, Range range, unsigned lane) const {
    const std::span memory(memory_.get() + range.begin, range.size());
    RPMEM_TRY(local.read(range.begin, memory));
    RPMEM_TRY(push(range, lane));
    // Frees the pages, because a large pool would not fit into memory. A failure is harmless.
    static_cast<void>(::madvise(memory.data(), memory.size(), MADV_DONTNEED));
    return {};
}

Result<> PoolSession::read(std::uint64_t offset, std::span<std::byte> buffer, unsigned lane) const {
    return ::rpmem_read(pool_.get(), buffer.data(), offset, buffer.size(), lane) == 0
               ? Result<>()
               : library_failure();
}

Result<> PoolSession::close() {
    return ::rpmem_close(pool_.release()) == 0 ? Result<>() : library_failure();
}

Result<> push_chunks(const PoolSession& session, const PoolDigests& pool,
                     const std::vector<std::size_t>& chunks, const LocalPool& local,
                     Progress& progress) {
    const auto moved = compare::in_threads(
        session.lanes(), chunks.size(), [&](unsigned lane, std::size_t i) -> Result<> {
            Range range = pool.range(chunks[i]);
            range.begin = std::max(range.begin, page);
            for (std::uint64_t at = range.begin; at < range.end; at += piece) {
                const Range part{at, std::min(at + piece, range.end)};
                RPMEM_TRY(session.push(local, part, lane));
                progress.add(part.size());
            }
            return {};
        });
    RPMEM_TRY(moved);
    const bool has_first = std::ranges::any_of(
        chunks, [&](std::size_t chunk) { return pool.range(chunk).begin < page; });
    if (!has_first)
        return {};
    // The first page of a pool without headers makes it whole for other programs of the target.
    RPMEM_TRY(session.push(local, {0, page}, 0));
    progress.add(page);
    return {};
}

Result<std::uint64_t> pull_chunks(const PoolSession& session, const PoolDigests& pool,
                                  const std::vector<std::size_t>& chunks, const LocalPool& local,
                                  Progress& progress) {
    const std::string zeros = compare::digest_of_zeros(pool.chunk);
    std::atomic<std::uint64_t> moved{0};
    if (pool.first > 0 && !local.is_pool_set()) {
        std::vector<std::byte> header(pool.first);
        RPMEM_TRY(session.read(0, header, 0));
        std::fill(header.begin() + shutdown_state.begin, header.begin() + shutdown_state.end,
                  std::byte{0});
        RPMEM_TRY(local.write(0, header));
        moved += header.size();
    }
    const auto pull = [&](unsigned lane, std::size_t i) -> Result<> {
        const Range range = pool.range(chunks[i]);
        if (range.size() == pool.chunk && pool.digests[chunks[i]] == zeros) {
            RPMEM_TRY(local.clear(range));
            progress.add(range.size());
            return {};
        }
        std::vector<std::byte> buffer(std::min(piece, range.size()));
        for (std::uint64_t at = range.begin; at < range.end; at += piece) {
            const auto part = std::span(buffer).first(std::min(piece, range.end - at));
            RPMEM_TRY(session.read(at, part, lane));
            RPMEM_TRY(local.write(at, part));
            progress.add(part.size());
            moved += part.size();
        }
        return {};
    };
    RPMEM_TRY(compare::in_threads(session.lanes(), chunks.size(), pull));
    return moved;
}

} // namespace rpmem::ctl
