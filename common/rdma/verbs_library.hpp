// SPDX-License-Identifier: BSD-3-Clause
// Loads libibverbs at its first use, so that machines without RDMA do not need it. If libfabric has
// loaded its verbs provider, this is the same library.
#pragma once

#include "common/base/result.hpp"

#include <infiniband/verbs.h>

namespace rpmem::rdma {

// The functions of libibverbs, without the prefix "ibv_".
struct VerbsFunctions {
    decltype(&::ibv_get_device_list) get_device_list;
    decltype(&::ibv_free_device_list) free_device_list;
    decltype(&::ibv_get_device_name) get_device_name;
    decltype(&::ibv_open_device) open_device;
    decltype(&::ibv_close_device) close_device;
    decltype(&::ibv_alloc_pd) alloc_pd;
    decltype(&::ibv_dealloc_pd) dealloc_pd;
    decltype(&::ibv_reg_mr) reg_mr;
    decltype(&::ibv_dereg_mr) dereg_mr;
    decltype(&::ibv_fork_init) fork_init;
    decltype(&::ibv_is_fork_initialized) is_fork_initialized;
};

// Fails with ELIBACC if libibverbs cannot be loaded. Thread-safe. The result is valid until the
// process ends.
Result<const VerbsFunctions*> verbs_library();

} // namespace rpmem::rdma
