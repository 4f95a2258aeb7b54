// SPDX-License-Identifier: BSD-3-Clause
// Recovers headers that were being written when the process was killed or the power failed. No
// input or output. The header of part 0 is written last, so it decides whether the pool has the old
// or the new attributes.
//   a header is torn                   restore_torn() takes it from the copy
//   a header disagrees with part 0     follow_first() adapts it to part 0
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/headers/header_copy.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"

#include <span>
#include <vector>

namespace rpmem::target {

// Returns whether there is a header with a wrong checksum.
bool is_torn(const PoolHeader& header);
bool has_torn(std::span<const PoolHeader> headers);

// Returns HEADERS with the new headers of COPY in place of torn ones. Fails with EINVAL if COPY has
// another number of headers, or if a byte of HEADERS is neither the old nor the new one. Then the
// copy belongs to other headers, or these are damaged in another way.
Result<std::vector<PoolHeader>> restore_torn(std::vector<PoolHeader> headers,
                                             const HeaderCopy& copy);

// Returns HEADERS with the attributes of part 0 in all of them. Returns them unchanged unless all
// are valid, belong to one pool in this order, and have at most two versions of the attributes.
std::vector<PoolHeader> follow_first(std::vector<PoolHeader> headers);

bool are_same_headers(const PoolHeader& left, const PoolHeader& right); // compares all bytes

} // namespace rpmem::target
