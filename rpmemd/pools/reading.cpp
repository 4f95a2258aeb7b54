// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/reading.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace rpmem::target {

PoolReading::PoolReading(const Pool& pool) : pool_(pool) {
    std::vector<std::uint64_t> sizes;
    for (const PartFile& part : pool.parts()) {
        sizes.push_back(part.size());
        // SIGIO, by which the kernel reports a writer, would end this process. is_wanted() polls
        // instead.
        static_cast<void>(::signal(SIGIO, SIG_IGN));
        if (::fcntl(part.fd(), F_SETLEASE, F_RDLCK) == 0)
            leased_.push_back(part.fd());
    }
    if (auto layout = lay_out_parts(pool.header_layout(), sizes))
        layout_ = std::move(*layout);
}

// While a lease is being broken, F_GETLEASE reports the type that it must be reduced to.
bool PoolReading::is_wanted() const {
    return std::ranges::any_of(leased_, [](int fd) { return ::fcntl(fd, F_GETLEASE) == F_UNLCK; });
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
