// SPDX-License-Identifier: BSD-3-Clause
// The client of a long action: whether it still waits for the answer.
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

// How many ranges a client may name: one for each 256 KiB of a pool of 1 TiB.
inline constexpr std::size_t max_except_ranges = std::size_t{1} << 22;
// How long reading them may take: at the limit they are 128 MiB, over a slow link.
inline constexpr std::chrono::seconds except_time(120);

// The ranges that IN lists: a line "OFFSET LENGTH" for each, ascending and without overlaps, and an
// empty line at the end. EINVAL, ETIMEDOUT.
[[nodiscard]] Result<std::vector<ExceptRange>>
read_except(int in, std::chrono::milliseconds within = except_time);

class Caller {
public:
    // IN and OUT are those of the action. An input that has ended by now says nothing: people run
    // the daemon with </dev/null.
    Caller(int in, int out);

    // Its ssh has ended: nobody reads the answer. Never waits.
    [[nodiscard]] bool is_gone() const;

private:
    int in_; // -1: not looked at
    int out_;
};

} // namespace rpmem::target
