// SPDX-License-Identifier: BSD-3-Clause
// The client of a long action: the ranges that it sends, and whether it still waits.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/settings/action_request.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace rpmem::target {

struct ExceptRange {
    std::uint64_t begin;
    std::uint64_t end;
};

// Maximum number of ranges: one for each 256 KiB of a pool of 1 TiB.
inline constexpr std::size_t max_except_ranges = std::size_t{1} << 22;
// Timeout for all ranges, which may be 128 MiB over a slow link.
inline constexpr std::chrono::seconds except_time(120);

// Reads ranges from IN: a line "OFFSET LENGTH" for each, ascending and without overlaps, and an
// empty line at the end. Fails with EINVAL, ETIMEDOUT and the errno values of read(2).
[[nodiscard]] Result<std::vector<ExceptRange>>
read_except(int in, std::chrono::milliseconds within = except_time);

class Caller {
public:
    // IN and OUT are standard input and output of the action. If the input has ended already, as
    // with </dev/null, its end means nothing and is ignored.
    Caller(int in, int out);

    // Returns whether the client's ssh has ended, so that nobody reads the document. Does not
    // block.
    [[nodiscard]] bool is_gone() const;

private:
    int in_; // -1 if the input is ignored
    int out_;
};

} // namespace rpmem::target
