// SPDX-License-Identifier: BSD-3-Clause
// Whether memory of this process can be read, asked of the kernel: without a signal if not.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::initiator {

// Without a descriptor to ask by, memory counts as readable.
[[nodiscard]] bool is_readable(std::span<const std::byte> memory);

} // namespace rpmem::initiator
