// SPDX-License-Identifier: BSD-3-Clause
// The digests that a target has computed of the chunks of a pool, and the same of a file here.
#pragma once

#include "tools/ctl/image_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rpmem::ctl {

// Bytes of the pool, and of the file.
struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

struct PoolDigests {
    std::uint64_t size;   // of the pool
    std::uint64_t first;  // bytes before it belong to the target: its header
    std::uint64_t length; // of the pool, that was looked at
    std::uint64_t chunk;
    std::vector<std::string> digests; // in hexadecimal digits

    [[nodiscard]] Range range(std::size_t index) const;
};

// EPROTO if the target's answer, which may be anything, makes no sense.
[[nodiscard]] Result<PoolDigests> read_digests(const nlohmann::json& document);

// Of bytes that come in pieces, or that are all zero.
[[nodiscard]] Result<std::string> digest_of(const ImageFile& file, Range range);
[[nodiscard]] std::string digest_of_zeros(std::uint64_t size);

} // namespace rpmem::ctl
