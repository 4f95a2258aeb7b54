// SPDX-License-Identifier: BSD-3-Clause
// The simulated medium of the target's pool. The calls of the real Medium to libpmem arrive here,
// see medium_functions.cpp. They take simulated time, and then the bytes are durable or the call
// fails.
#pragma once

#include "rpmemd/durability/medium.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/world.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace rpmem::simulation {

// A file in memory, mapped once. Each simulation fills it again.
class PoolFile {
public:
    PoolFile() : fd_(::memfd_create("pool", MFD_CLOEXEC)) {
        if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(pool_size)) != 0)
            throw std::runtime_error("no file in memory");
        void* const place = ::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (place == MAP_FAILED)
            throw std::runtime_error("the file cannot be mapped");
        bytes_ = {static_cast<std::byte*>(place), pool_size};
    }
    ~PoolFile() {
        ::munmap(bytes_.data(), bytes_.size());
        ::close(fd_);
    }
    PoolFile(const PoolFile&) = delete;
    PoolFile& operator=(const PoolFile&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
    std::span<std::byte> bytes_;
};

inline constexpr std::array<Time, 4> speeds{0, microsecond, 100 * microsecond, millisecond};
inline constexpr Time slow_sync = 2 * second; // less than the timeout of a call

class SimulatedMedium {
public:
    SimulatedMedium(World& world, const PoolFile& file, Kind kind, Planted planted)
        : world_(world), pool_(file.bytes()), planted_(planted), durable_(pool_size),
          slowest_(world.random().one_of(speeds)) {
        const std::size_t pmem = kind == Kind::pmem   ? pool_size
                                 : kind == Kind::both ? pool_size / 2 - 4096
                                                      : 0;
        std::byte* const begin = pool_.data();
        const bool added = (pmem == 0 || medium_.add(file.fd(), "pmem", begin, pmem, true)) &&
                           (pmem == pool_size || medium_.add(file.fd(), "file", begin + pmem,
                                                             pool_size - pmem, false, pmem));
        if (!added)
            throw std::runtime_error("no medium");
        running = this;
    }
    ~SimulatedMedium() { running = nullptr; }
    SimulatedMedium(const SimulatedMedium&) = delete;
    SimulatedMedium& operator=(const SimulatedMedium&) = delete;

    // Returns the medium of the running simulation, because functions of libpmem have no argument
    // for it.
    static SimulatedMedium& current() {
        if (!running)
            throw std::logic_error("libpmem is called where nothing is simulated");
        return *running;
    }

    [[nodiscard]] const target::Medium& medium() const { return medium_; }
    [[nodiscard]] std::span<std::byte> durable() { return durable_; }
    [[nodiscard]] unsigned syncs() const { return syncs_; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }

    // fail_next() makes the next sync fail. slow_next() makes it take long.
    void fail_next() { fails_next_ = true; }
    void slow_next() { slow_next_ = true; }

    // The calls to libpmem. A sync makes the bytes durable that were there when it began. Returns 0
    // or an errno value. Linux reports an error only once, and not always to the sync of the lost
    // pages, see SyncTracker.
    int sync_file(const void* address, std::size_t size) {
        ++file_syncs_;
        const Copy copy = begin_sync(address, size);
        --file_syncs_;
        if (std::exchange(is_error_left_, false))
            return failed();
        if (std::exchange(fails_next_, false)) {
            is_error_left_ = file_syncs_ > 0 && world_.random().chance(50);
            return is_error_left_ ? 0 : failed();
        }
        end_sync(copy);
        return 0;
    }
    int sync_device(const void* address, std::size_t size) {
        const Copy copy = begin_sync(address, size);
        if (std::exchange(fails_next_, false))
            return failed();
        end_sync(copy);
        return 0;
    }
    void persist(const void* address, std::size_t size) { end_sync(begin_sync(address, size)); }
    // The bytes become durable with the next drain of the same fiber.
    void flush(const void* address, std::size_t size) {
        flushed_.push_back(copy_of(address, size));
    }
    void drain() {
        take_time();
        const Fiber* const fiber = world_.current();
        for (const Copy& copy : flushed_)
            if (copy.fiber == fiber)
                put(copy);
        std::erase_if(flushed_, [&](const Copy& copy) { return copy.fiber == fiber; });
    }
    World& world() { return world_; }

private:
    struct Copy {
        const Fiber* fiber;
        std::size_t offset;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] Copy copy_of(const void* address, std::size_t size) const {
        const auto* const begin = static_cast<const std::byte*>(address);
        const auto offset = static_cast<std::size_t>(begin - pool_.data());
        return {world_.current(), offset, {begin, begin + size}};
    }
    void put(const Copy& copy) {
        std::ranges::copy(copy.bytes, durable_.begin() + static_cast<std::ptrdiff_t>(copy.offset));
    }
    void take_time() {
        Time time = slowest_ > 0 ? world_.random().below(slowest_) : 0;
        if (std::exchange(slow_next_, false))
            time = slow_sync;
        if (time > 0)
            world_.sleep(time);
    }
    [[nodiscard]] Copy begin_sync(const void* address, std::size_t size) {
        ++syncs_;
        Copy copy = copy_of(address, size);
        world_.note("syncs {} bytes at {}", size, copy.offset);
        take_time();
        return copy;
    }
    void end_sync(const Copy& copy) {
        if (planted_ == Planted::b_before_a && put_off_.empty() && world_.random().chance(20)) {
            put_off_.push_back(copy);
            return;
        }
        put(copy);
        for (const Copy& late : std::exchange(put_off_, {}))
            put(late);
    }
    [[nodiscard]] int failed() {
        world_.note("a sync has failed");
        if (planted_ == Planted::hidden_error)
            return 0;
        has_failed_ = true;
        return EIO;
    }

    // The object for the functions of libpmem, see current().
    static inline SimulatedMedium* running = nullptr;

    World& world_;
    std::span<std::byte> pool_;
    Planted planted_;
    std::vector<std::byte> durable_;
    std::vector<Copy> flushed_;
    std::vector<Copy> put_off_; // copies that a planted fault has postponed
    target::Medium medium_;
    Time slowest_;
    unsigned syncs_ = 0;
    unsigned file_syncs_ = 0;    // number of running syncs
    bool is_error_left_ = false; // another running sync must report the error
    bool fails_next_ = false;
    bool slow_next_ = false;
    bool has_failed_ = false;
};

} // namespace rpmem::simulation
