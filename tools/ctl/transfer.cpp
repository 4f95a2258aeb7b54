// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/transfer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace rpmem::ctl {
namespace {

constexpr std::uint64_t page = 4096;
// Of a header: whether the target's devices lost power while the pool was open, as it is now.
constexpr Range shutdown_state{4024, 4088};
constexpr std::uint64_t piece = std::uint64_t{1} << 20; // of one call of the library

// Of the call of the library that has just failed, in this thread.
Failure library_failure() {
    const int code = errno;
    return fail(ErrorClass::target_refused, code, "{}", ::rpmem_errormsg());
}

} // namespace

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

Result<std::vector<std::size_t>> differing_chunks(const ImageFile& file, const PoolDigests& pool,
                                                  unsigned threads) {
    Progress progress("comparing", pool.length);
    const std::string zeros = digest_of_zeros(pool.chunk);
    std::vector<char> differs(pool.digests.size());
    const auto compare = [&](unsigned /*thread*/, std::size_t i) -> Result<> {
        const Range range = pool.range(i);
        const bool hole = file.is_hole(range.begin, range.end);
        const auto digest =
            !hole ? digest_of(file, range)
                  : Result<std::string>(range.size() == pool.chunk ? zeros
                                                                   : digest_of_zeros(range.size()));
        RPMEM_TRY(digest);
        differs[i] = *digest != pool.digests[i];
        progress.add(range.size());
        return {};
    };
    RPMEM_TRY(in_threads(threads, differs.size(), compare));
    std::vector<std::size_t> chunks;
    for (std::size_t i = 0; i < differs.size(); ++i)
        if (differs[i] != 0)
            chunks.push_back(i);
    return chunks;
}

void PoolSession::Unmap::operator()(std::byte* memory) const { ::munmap(memory, size); }

Result<PoolSession> PoolSession::open(const std::string& target, const std::string& pool_set,
                                      std::uint64_t size, unsigned lanes) {
    const std::size_t length = (size + page - 1) / page * page;
    // Not the file itself: if that became shorter, the program would be killed where it looks.
    void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_NORESERVE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot map {} bytes", length);
    std::unique_ptr<std::byte, Unmap> mapped(static_cast<std::byte*>(memory), {length});
    RPMEMpool* const pool =
        ::rpmem_open(target.c_str(), pool_set.c_str(), memory, length, &lanes, nullptr);
    if (pool == nullptr)
        return library_failure();
    return PoolSession(std::move(mapped), pool, lanes);
}

PoolSession::~PoolSession() { pool_.reset(); } // before its memory

Result<> PoolSession::push(Range range, unsigned lane) const {
    return ::rpmem_persist(pool_.get(), range.begin, range.size(), lane, RPMEM_PERSIST_RELAXED) == 0
               ? Result<>()
               : library_failure();
}

Result<> PoolSession::push(const ImageFile& file, Range range, unsigned lane) const {
    const std::span memory(memory_.get() + range.begin, range.size());
    RPMEM_TRY(file.read(range.begin, memory));
    RPMEM_TRY(push(range, lane));
    // A large pool would not fit into memory. If the kernel keeps the pages, no harm is done.
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
                     const std::vector<std::size_t>& chunks, const ImageFile& file,
                     Progress& progress) {
    return in_threads(session.lanes(), chunks.size(),
                      [&](unsigned lane, std::size_t i) -> Result<> {
                          const Range range = pool.range(chunks[i]);
                          for (std::uint64_t at = range.begin; at < range.end; at += piece) {
                              const Range part{at, std::min(at + piece, range.end)};
                              RPMEM_TRY(session.push(file, part, lane));
                              progress.add(part.size());
                          }
                          return {};
                      });
}

Result<std::uint64_t> pull_chunks(const PoolSession& session, const PoolDigests& pool,
                                  const std::vector<std::size_t>& chunks, const ImageFile& file,
                                  Progress& progress) {
    const std::string zeros = digest_of_zeros(pool.chunk);
    std::atomic<std::uint64_t> moved{pool.first};
    std::vector<std::byte> header(pool.first);
    if (pool.first > 0) {
        RPMEM_TRY(session.read(0, header, 0));
        std::fill(header.begin() + shutdown_state.begin, header.begin() + shutdown_state.end,
                  std::byte{0});
        RPMEM_TRY(file.write(0, header));
    }
    const auto pull = [&](unsigned lane, std::size_t i) -> Result<> {
        const Range range = pool.range(chunks[i]);
        if (range.size() == pool.chunk && pool.digests[chunks[i]] == zeros) {
            RPMEM_TRY(file.clear(range.begin, range.end));
            progress.add(range.size());
            return {};
        }
        std::vector<std::byte> buffer(std::min(piece, range.size()));
        for (std::uint64_t at = range.begin; at < range.end; at += piece) {
            const auto part = std::span(buffer).first(std::min(piece, range.end - at));
            RPMEM_TRY(session.read(at, part, lane));
            RPMEM_TRY(file.write(at, part));
            progress.add(part.size());
            moved += part.size();
        }
        return {};
    };
    RPMEM_TRY(in_threads(session.lanes(), chunks.size(), pull));
    RPMEM_TRY(file.make_durable());
    return moved;
}

} // namespace rpmem::ctl
