// SPDX-License-Identifier: BSD-3-Clause
// Checks whether memory of this process can be read. The kernel does the check, so unreadable
// memory raises no signal.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace rpmem::initiator {

// Returns the offset of the first byte that cannot be read, or nothing if all can be read. Reads
// no page, or one byte of each page. Returns nothing if the check is not possible, for example
// without free descriptors in a process that may not call process_vm_readv(2).
[[nodiscard]] std::optional<std::size_t> unreadable_at(std::span<const std::byte> memory);

[[nodiscard]] inline bool is_readable(std::span<const std::byte> memory) {
    return !unreadable_at(memory);
}

} // namespace rpmem::initiator
