// SPDX-License-Identifier: BSD-3-Clause
// The identity of a pool: its signature and the UUID of its pool set, which the headers of the pool
// and of all its replicas share. No input or output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::compare {

inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint64_t header_length = page; // the first bytes of a pool with headers

struct Identity {
    std::string signature;    // up to its first NUL
    std::string poolset_uuid; // 32 hexadecimal digits
    bool operator==(const Identity&) const = default;
};

// Returns the identity in the first page of a pool. Returns nothing if the page is not a pool
// header: its signature is empty or not printable, or its UUID is zero.
[[nodiscard]] std::optional<Identity> identity_in(std::span<const std::byte> first_page);

// One side of a comparison: the local file, or the pool on the target.
struct Side {
    std::string name;
    std::uint64_t size = 0;
    // Local: the first page is a valid header. Remote: according to the pool set, there are
    // headers.
    bool has_header = false;
    std::optional<Identity> identity{}; // nothing without a valid header
};

// Returns the reasons why LOCAL is not an image of REMOTE, or none if it may be one. NEEDED is the
// number of bytes that the layout of the pool takes, or 0 if it is unknown. LOCAL may be shorter
// than REMOTE if it has at least NEEDED bytes.
[[nodiscard]] std::vector<std::string> mismatches(const Side& local, const Side& remote,
                                                  std::uint64_t needed);

} // namespace rpmem::compare
