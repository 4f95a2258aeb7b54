// SPDX-License-Identifier: BSD-3-Clause
// Recovery of headers that were being written when the process was killed or the power was lost.
// The header of part 0 is written last: until it is durable the pool is the old one, then the new
// one. Pure: reads and writes nothing.
//   header torn       -> whole      restore_torn(): from the copy
//   part 0 not as i   -> part i as part 0    follow_first(): whichever set was being written
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/header_copy.hpp"
#include "rpmemd/pools/pool_header.hpp"

#include <span>
#include <vector>

namespace rpmem::target {

// There is a header, and its checksum is wrong.
bool is_torn(const PoolHeader& header);
bool has_torn(std::span<const PoolHeader> headers);

// Torn headers become those that were being written. EINVAL if any byte of HEADERS is neither what
// it was nor what it was to become: then the copy belongs to other headers, or more than a cut has
// happened to these.
Result<std::vector<PoolHeader>> restore_torn(std::vector<PoolHeader> headers,
                                             const HeaderCopy& copy);

// Takes the fields that set_attributes() writes to a part from part 0, if all else shows that the
// headers are those of one pool, in this order, with the attributes that it has or of one other
// version. Else they stay as they are. The header of part 0 always does.
std::vector<PoolHeader> follow_first(std::vector<PoolHeader> headers);

bool are_same_headers(const PoolHeader& left, const PoolHeader& right); // in all bytes

} // namespace rpmem::target
