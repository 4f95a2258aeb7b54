// SPDX-License-Identifier: BSD-3-Clause
// Types of settings that both ends have.
#pragma once

namespace rpmem {

// When to use on-demand paging of an RDMA device instead of pinned memory.
enum class PagingPolicy { when_needed, always, never };

// Whether lanes use TLS. off: never. on: if both ends support it. require: always.
enum class UseTls { off, on, require };

[[nodiscard]] constexpr const char* name_of(UseTls use) {
    constexpr const char* names[] = {"off", "on", "require"};
    return names[static_cast<int>(use)];
}

} // namespace rpmem
