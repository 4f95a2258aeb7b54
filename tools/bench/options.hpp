// SPDX-License-Identifier: BSD-3-Clause
// The command line as values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rpmem::bench {

inline constexpr std::size_t pool_header_size = 4096;
inline constexpr unsigned flushes_before_drain = 64;
inline constexpr std::size_t largest_flush = std::size_t{64} << 10;
// The path by which this program executes itself again.
inline constexpr const char* own_program = "/proc/self/exe";

struct Options {
    std::string target;
    std::string pool_set;
    std::set<std::string> cases;
    std::vector<std::size_t> sizes{8, 64, 4096, 65536, 1048576};
    std::vector<unsigned> lanes{1, 4};
    unsigned rounds = 11;
    unsigned milliseconds = 10; // approximate duration of one measurement in a round
    std::string medium;         // file on the target to which raw TCP copies; empty for memory
    std::string answer_program; // rpmem-bench on the target; empty: the same path as here
    bool table = false;
    bool no_spin = false;
    bool tls = false;
    bool json = false;
    bool show_pool_size = false;

    [[nodiscard]] bool wants(const std::string& name) const { return cases.contains(name); }
    // Returns the number of rounds for cases that take long.
    [[nodiscard]] unsigned slow_rounds() const { return std::min(rounds, 5U); }
    [[nodiscard]] unsigned max_lanes() const { return *std::ranges::max_element(lanes); }
    [[nodiscard]] std::size_t pool_size() const;
};

// Fills in OPTIONS. Returns an exit status if help, the version or an error was printed.
[[nodiscard]] std::optional<int> parse(int argc, char** argv, Options& options);

} // namespace rpmem::bench
