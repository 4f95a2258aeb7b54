// SPDX-License-Identifier: BSD-3-Clause
// Devices that page memory in when they need it (on-demand paging, ODP) instead of having it
// pinned.
#pragma once

#include "common/base/result.hpp"

#include <infiniband/verbs.h>

#include <cstddef>
#include <string>
#include <vector>

namespace rpmem::rdma {

struct PagingDevice {
    std::string name;    // mlx5_0
    bool can_page;       // all that the lanes of a pool do
    std::string why_not; // empty if it can
};

// Every device of this node. ELIBACC if libibverbs cannot be loaded.
Result<std::vector<PagingDevice>> paging_devices();

// The same for one; of devices that are not there, that they are not.
PagingDevice paging_device(const std::string& name);

// Why memory cannot be pinned, as far as that can be told without pinning it all; empty if it can:
// the limit, or what DEVICE (that can_page) says to the first page.
std::string why_not_pinned(const PagingDevice& device, void* address, std::size_t size);

// The abilities of a device, put into words.
PagingDevice judge_paging(std::string name, const ibv_odp_caps& capabilities);

} // namespace rpmem::rdma
