// SPDX-License-Identifier: BSD-3-Clause
// By what a part is known again.
#pragma once

#include <cstdint>
#include <string>

namespace rpmem::target {

// A part is a file, which may be gone and another one have its name. A Device DAX is there once,
// and the numbers of its node are other ones after a reboot: it is known by its name alone.
struct PartIdentity {
    std::string path; // as the kernel says it: links are followed
    std::uint64_t file_system = 0;
    std::uint64_t inode = 0;
};

} // namespace rpmem::target
