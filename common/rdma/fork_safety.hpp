// SPDX-License-Identifier: BSD-3-Clause
// Protects the memory of an RDMA device from the effects of fork(2). Without protection, the next
// write of the parent or the child copies the page, and the device may continue to use the copy of
// the other process.
#pragma once

#include "common/base/result.hpp"

namespace rpmem::rdma {

enum class ForkSafety {
    copied_by_kernel,   // fork(2) copies such pages for the child at once (Linux 5.12 and later)
    kept_from_children, // ibv_fork_init(3) has taken effect: the child does not have the memory
    unsafe,             // neither
};

// Returns a text for display.
const char* describe(ForkSafety safety);

// Returns the current state and does not change it. Fails with ELIBACC if libibverbs cannot be
// loaded.
Result<ForkSafety> fork_safety();

// Calls ibv_fork_init(3) if the kernel does not copy the pages. Call it before any memory is
// registered and before libfabric opens a device. Fails with ENOTSUP and advice if ibv_fork_init(3)
// fails, as when it is too late, or if FI_FORK_UNSAFE forbids it. Fails with ELIBACC like
// fork_safety().
Result<ForkSafety> make_fork_safe();

} // namespace rpmem::rdma
