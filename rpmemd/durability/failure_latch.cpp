// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/durability/failure_latch.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rpmem::target {

void FailureLatch::set(const std::string& part, std::uint64_t offset, std::uint64_t length,
                       int code) {
    set({part, offset, length, code,
         fmt::format("the medium of part {} failed: it did not make {} bytes at offset {} durable "
                     "({}); look for errors of the device in the kernel's log, and restore the "
                     "pool from a replica",
                     part, length, offset, strerror(code))});
}

void FailureLatch::set_truncated(const std::string& part, std::uint64_t offset,
                                 std::uint64_t length) {
    set({part, offset, length, EIO,
         fmt::format("part {} was truncated while the pool was open: it ends at offset {}, and {} "
                     "bytes are missing; restore the pool from a replica",
                     part, offset, length)});
}

void FailureLatch::set_removed(const std::string& part) {
    set({part, 0, 0, EIO,
         fmt::format("part {} was removed or replaced while the pool was open: its file has no "
                     "name any more, and is gone when the session ends; restore the pool from a "
                     "replica",
                     part)});
}

void FailureLatch::set(MediumFailure failure) {
    const std::lock_guard lock(mutex_);
    if (failure_)
        return;
    failure_ = std::move(failure);
    code_.store(failure_->code, std::memory_order_release);
}

std::optional<MediumFailure> FailureLatch::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

} // namespace rpmem::target
