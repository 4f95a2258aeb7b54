// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/reading.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace rpmem::target {

PoolReading::PoolReading(const Pool& pool) : pool_(pool) {
    std::vector<std::uint64_t> sizes;
    for (const PartFile& part : pool.parts())
        sizes.push_back(part.size());
    if (auto layout = lay_out_parts(pool.header_layout(), sizes))
        layout_ = std::move(*layout);
}

bool PoolReading::is_hole(std::uint64_t begin, std::uint64_t end) const {
    for (std::size_t i = 0; i < layout_.parts.size(); ++i) {
        const PartPlacement& place = layout_.parts[i];
        const PartFile& part = pool_.parts()[i];
        const std::uint64_t first = std::max(begin, place.pool_offset);
        const std::uint64_t last = std::min(end, place.pool_offset + place.length);
        if (first >= last)
            continue;
        const std::uint64_t shift = place.file_offset - place.pool_offset; // modulo 2^64
        const off_t data = ::lseek(part.fd(), static_cast<off_t>(first + shift), SEEK_DATA);
        const bool none =
            data < 0 ? errno == ENXIO : static_cast<std::uint64_t>(data) >= last + shift;
        if (part.is_device_dax() || !none)
            return false;
    }
    return !layout_.parts.empty();
}

} // namespace rpmem::target
