// SPDX-License-Identifier: BSD-3-Clause
// A pool in a memory file, between two guards, for tests of lanes and of the medium. All bytes have
// the same value at first, so is_untouched_but() finds a write outside the expected range, in the
// pool or in the guards.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/durability/medium.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace rpmem::target {

inline constexpr std::size_t pool_size = std::size_t{64} * 1024;
inline constexpr std::size_t guard_size = pool_size;
inline constexpr auto untouched = std::byte{0x5a};

// A part of the pool. All parts are in the same file.
struct Share {
    std::size_t size;
    bool is_pmem;
};
inline const std::vector<Share> one_file{{pool_size, false}};
inline const std::vector<Share> one_pmem{{pool_size, true}};
inline const std::vector<Share> pmem_and_file{{pool_size / 2, true}, {pool_size / 2, false}};

struct Range {
    std::size_t offset;
    std::size_t size;
};
inline constexpr std::size_t page = 4096;
// Sizes around the limits of frames and pages, at aligned and unaligned offsets.
inline const std::vector<Range> sample_ranges = {{0, 8},
                                                 {130, 13},
                                                 {4093, 7},
                                                 {3 * 4096 + 53, 1024},
                                                 {5, 4096},
                                                 {7, 4097},
                                                 {pool_size / 2 - 600, 6001},
                                                 {1, pool_size - 1},
                                                 {0, pool_size},
                                                 {pool_size - 1, 1}};

// Pseudo-random numbers, the same in every run.
class Numbers {
public:
    std::size_t operator()(std::size_t below) {
        state_ = state_ * 1103515245 + 12345;
        return (state_ >> 8) % below;
    }

private:
    unsigned state_ = 7;
};

// The pool and its guards are one file, which is filled with `untouched`.
class GuardedPool {
public:
    explicit GuardedPool(const std::vector<Share>& shares = one_file)
        : file_(::memfd_create("pool", MFD_CLOEXEC)) {
        constexpr std::size_t size = pool_size + 2 * guard_size;
        if (file_.get() < 0 || ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
            throw std::runtime_error("no file in memory");
        void* const place =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        if (place == MAP_FAILED)
            throw std::runtime_error("the file cannot be mapped");
        all_ = {static_cast<std::byte*>(place), size};
        std::fill(all_.begin(), all_.end(), untouched);
        std::byte* next = begin();
        for (const Share& share : shares) {
            if (!medium_.add(file_.get(), "pool", next, share.size, share.is_pmem))
                throw std::runtime_error("no medium");
            next += share.size;
        }
    }
    ~GuardedPool() { ::munmap(all_.data(), all_.size()); }
    GuardedPool(const GuardedPool&) = delete;
    GuardedPool& operator=(const GuardedPool&) = delete;

    [[nodiscard]] std::byte* begin() const { return all_.data() + guard_size; }
    [[nodiscard]] const Medium& medium() const { return medium_; }
    [[nodiscard]] int fd() const { return file_.get(); }
    // Returns whether nothing was written outside the COUNT bytes at OFFSET of the pool.
    [[nodiscard]] bool is_untouched_but(std::size_t offset, std::size_t count) const {
        const auto is = [](std::byte byte) { return byte == untouched; };
        return std::all_of(all_.begin(), all_.begin() + std::ptrdiff_t(guard_size + offset), is) &&
               std::all_of(all_.begin() + std::ptrdiff_t(guard_size + offset + count), all_.end(),
                           is);
    }

private:
    UniqueFd file_;
    std::span<std::byte> all_;
    Medium medium_;
};

} // namespace rpmem::target
