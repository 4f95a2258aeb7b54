// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace rpmem::initiator {

struct PoolRange {
    std::size_t offset;
    std::size_t length;

    bool operator==(const PoolRange&) const = default;
};

} // namespace rpmem::initiator
