// SPDX-License-Identifier: BSD-3-Clause
// What the attributes of a pool say about it.
#pragma once

#include <librpmem.h>

#include <cstring>

namespace rpmem::initiator {

// Whether the target keeps headers in the parts. All attributes are zero if it does not.
[[nodiscard]] inline bool has_header(const rpmem_pool_attr& attributes) {
    static constexpr rpmem_pool_attr none{};
    return std::memcmp(&attributes, &none, sizeof(none)) != 0;
}

} // namespace rpmem::initiator
