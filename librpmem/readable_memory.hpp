// SPDX-License-Identifier: BSD-3-Clause
// Checks whether memory of this process can be read. The kernel does the check, so unreadable
// memory raises no signal.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::initiator {

// Returns true if the check is not possible, for example without free descriptors.
[[nodiscard]] bool is_readable(std::span<const std::byte> memory);

} // namespace rpmem::initiator
