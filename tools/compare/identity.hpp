// SPDX-License-Identifier: BSD-3-Clause
// What tells one pool from another: the signature and the UUID of its pool set, which the headers
// of the pool and of all its replicas share. Pure.
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
    std::string signature;    // without NULs at its end
    std::string poolset_uuid; // in hexadecimal digits
    bool operator==(const Identity&) const = default;
};

// The identity in the first page of a pool. Empty if the page is not a pool header: its signature
// is no text, or it has no UUID.
[[nodiscard]] std::optional<Identity> identity_in(std::span<const std::byte> first_page);

// The local file, or the pool on the target.
struct Side {
    std::string name;
    std::uint64_t size = 0;
    bool has_header = false;            // the pool begins with a header, as far as is known
    std::optional<Identity> identity{}; // of a pool without a header: none
};

// Why LOCAL is not an image of REMOTE, one text for each reason; none if it may be one. NEEDED: the
// bytes of the local pool that its program can use; more of the remote pool is used by nobody.
[[nodiscard]] std::vector<std::string> mismatches(const Side& local, const Side& remote,
                                                  std::uint64_t needed);

} // namespace rpmem::compare
