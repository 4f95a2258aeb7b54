// SPDX-License-Identifier: BSD-3-Clause
// The meaning of settings that both ends have.
#pragma once

namespace rpmem {

// The use of RDMA devices that can page memory in on demand instead of having it pinned.
enum class PagingPolicy { when_needed, always, never };

// Whether lanes use TLS: never, if both ends can, or always.
enum class UseTls { off, on, require };

[[nodiscard]] constexpr const char* name_of(UseTls use) {
    constexpr const char* names[] = {"off", "on", "require"};
    return names[static_cast<int>(use)];
}

} // namespace rpmem
