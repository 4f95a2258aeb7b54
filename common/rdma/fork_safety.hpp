// SPDX-License-Identifier: BSD-3-Clause
// What fork(2) does to memory that an RDMA device uses. Unless something is done about it, either
// process's next write moves its page away from beneath the device.
#pragma once

#include "common/base/result.hpp"

namespace rpmem::rdma {

enum class ForkSafety {
    copied_by_kernel,   // children get copies at once (Linux 5.12 and newer): nothing to do
    kept_from_children, // ibv_fork_init(3) is in force: children do not have the memory at all
    unsafe,             // neither
};

// For people.
const char* describe(ForkSafety safety);

// How it stands now, without changing it. ELIBACC if libibverbs cannot be loaded.
Result<ForkSafety> fork_safety();

// Has ibv_fork_init(3) do its work where the kernel does not. To be called before anything is
// registered, and before libfabric looks at the devices. ENOTSUP, with what to do, if it is too
// late or forbidden (FI_FORK_UNSAFE).
Result<ForkSafety> make_fork_safe();

} // namespace rpmem::rdma
