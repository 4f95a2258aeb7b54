#include "tests/simulation/simulated_medium.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace rpmem::simulation {
namespace {

// The functions of libpmem know no object: this is the one that they work on.
SimulatedMedium* running = nullptr;

constexpr std::array<Time, 4> speeds{0, microsecond, 100 * microsecond, millisecond};
constexpr Time slow_sync = 2 * second; // less than the timeout of a call

} // namespace

PoolFile::PoolFile() : fd_(::memfd_create("pool", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(pool_size)) != 0)
        throw std::runtime_error("no file in memory");
    void* const place = ::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (place == MAP_FAILED)
        throw std::runtime_error("the file cannot be mapped");
    bytes_ = {static_cast<std::byte*>(place), pool_size};
}

PoolFile::~PoolFile() {
    ::munmap(bytes_.data(), bytes_.size());
    ::close(fd_);
}

SimulatedMedium::SimulatedMedium(World& world, const PoolFile& file, Kind kind, Planted planted)
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

SimulatedMedium::~SimulatedMedium() { running = nullptr; }

SimulatedMedium& SimulatedMedium::current() {
    if (!running)
        throw std::logic_error("libpmem is called where nothing is simulated");
    return *running;
}

void SimulatedMedium::take_time() {
    Time time = slowest_ > 0 ? world_.random().below(slowest_) : 0;
    if (std::exchange(slow_next_, false))
        time = slow_sync;
    if (time > 0)
        world_.sleep(time);
}

SimulatedMedium::Copy SimulatedMedium::begin_sync(const void* address, std::size_t size) {
    ++syncs_;
    Copy copy = copy_of(address, size);
    world_.note("syncs {} bytes at {}", size, copy.offset);
    take_time();
    return copy;
}

void SimulatedMedium::end_sync(const Copy& copy) {
    if (planted_ == Planted::b_before_a && put_off_.empty() && world_.random().chance(20)) {
        put_off_.push_back(copy);
        return;
    }
    put(copy);
    for (const Copy& late : std::exchange(put_off_, {}))
        put(late);
}

int SimulatedMedium::failed() {
    world_.note("a sync has failed");
    if (planted_ == Planted::hidden_error)
        return 0;
    has_failed_ = true;
    return EIO;
}

// Linux tells an error once, and not always the one whose pages it is about: see SyncRecord.
int SimulatedMedium::sync_file(const void* address, std::size_t size) {
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

int SimulatedMedium::sync_device(const void* address, std::size_t size) {
    const Copy copy = begin_sync(address, size);
    if (std::exchange(fails_next_, false))
        return failed();
    end_sync(copy);
    return 0;
}

void SimulatedMedium::persist(const void* address, std::size_t size) {
    end_sync(begin_sync(address, size));
}

void SimulatedMedium::flush(const void* address, std::size_t size) {
    flushed_.push_back(copy_of(address, size));
}

void SimulatedMedium::drain() {
    take_time();
    const Fiber* const fiber = world_.current();
    for (const Copy& copy : flushed_)
        if (copy.fiber == fiber)
            put(copy);
    std::erase_if(flushed_, [&](const Copy& copy) { return copy.fiber == fiber; });
}

SimulatedMedium::Copy SimulatedMedium::copy_of(const void* address, std::size_t size) const {
    const auto* const begin = static_cast<const std::byte*>(address);
    const auto offset = static_cast<std::size_t>(begin - pool_.data());
    return {world_.current(), offset, {begin, begin + size}};
}

void SimulatedMedium::put(const Copy& copy) {
    std::ranges::copy(copy.bytes, durable_.begin() + static_cast<std::ptrdiff_t>(copy.offset));
}

} // namespace rpmem::simulation
