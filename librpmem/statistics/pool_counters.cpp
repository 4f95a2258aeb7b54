// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/statistics/pool_counters.hpp"

#include "common/base/held_signals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace rpmem::initiator {
namespace {

// Returns an empty descriptor on failure.
UniqueFd make_file(std::size_t bytes) {
    const HeldSignals held_back; // a memfd beyond ulimit -f raises SIGXFSZ
    UniqueFd file(::memfd_create(counter_file_name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
        file.reset();
    return file;
}

// Makes the file read-only for processes that open it through /proc. Kernels before 5.1 do not
// support F_SEAL_FUTURE_WRITE.
void seal(int file) {
    static_cast<void>(::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    static_cast<void>(::fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
    static_cast<void>(::fcntl(file, F_ADD_SEALS, F_SEAL_SEAL));
}

} // namespace

Result<PoolCounters> PoolCounters::make(unsigned lanes) {
    PoolCounters counters;
    counters.bytes_ = lanes_begin + std::size_t{lanes} * sizeof(LaneCounters);
    counters.file_ = make_file(counters.bytes_);
    void* const memory =
        ::mmap(nullptr, counters.bytes_, PROT_READ | PROT_WRITE,
               counters.file_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, counters.file_.get(), 0);
    if (memory == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, ENOMEM,
                          "cannot map {} bytes for the statistics of a pool; does a limit "
                          "(ulimit -v) bound the memory?",
                          counters.bytes_);
    // A child made by fork(2) does not need it, and must not change the counters of its parent.
    static_cast<void>(::madvise(memory, counters.bytes_, MADV_DONTFORK));
    if (counters.file_)
        seal(counters.file_.get());
    counters.header_ = new (memory) PoolCounterHeader{
        .magic = counter_magic,
        .version = counter_version,
        .size = sizeof(PoolCounterHeader),
        .size_of_lane = sizeof(LaneCounters),
        .process = static_cast<std::uint32_t>(::getpid()),
        .facts = {},
    };
    counters.header_->facts.lane_count = lanes;
    // New memory contains zeros. Only counters of lanes in use are ever written.
    counters.lanes_ =
        reinterpret_cast<LaneCounters*>(static_cast<std::byte*>(memory) + lanes_begin);
    return counters;
}

PoolCounters::PoolCounters(PoolCounters&& other) noexcept { *this = std::move(other); }

PoolCounters& PoolCounters::operator=(PoolCounters&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(bytes_, other.bytes_);
    std::swap(header_, other.header_);
    std::swap(lanes_, other.lanes_);
    return *this;
}

PoolCounters::~PoolCounters() {
    if (header_)
        ::munmap(header_, bytes_);
}

} // namespace rpmem::initiator
