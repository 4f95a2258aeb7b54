// SPDX-License-Identifier: BSD-3-Clause
// libibverbs, loaded when it is asked for first: nodes without RDMA do without it. Where
// libfabric's verbs provider is in use the process has it already, and this is the same one.
#pragma once

#include "common/base/result.hpp"

#include <infiniband/verbs.h>

namespace rpmem::rdma {

// By the names of libibverbs, without "ibv_".
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

// ELIBACC if it cannot be loaded. From any thread; good until the process ends.
Result<const VerbsFunctions*> verbs_library();

} // namespace rpmem::rdma
