// SPDX-License-Identifier: BSD-3-Clause
// On-demand paging (ODP): devices that page memory in when they access it, so that it need not be
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
    bool can_page;       // ODP supports every operation of a lane
    std::string why_not; // empty if can_page
};

// Returns all devices of this machine. Fails with ELIBACC if libibverbs cannot be loaded.
Result<std::vector<PagingDevice>> paging_devices();

// Returns the device NAME. If it does not exist, why_not states that.
PagingDevice paging_device(const std::string& name);

// Returns why SIZE bytes at ADDRESS cannot be pinned, or an empty text. Checks the limit, and tries
// to pin the first page with DEVICE. It does not pin the whole range. Returns an empty text as
// well if DEVICE cannot be opened, because libfabric then reports that.
std::string why_not_pinned(const PagingDevice& device, void* address, std::size_t size);

// Evaluates the ODP capabilities of a device.
PagingDevice judge_paging(std::string name, const ibv_odp_caps& capabilities);

} // namespace rpmem::rdma
