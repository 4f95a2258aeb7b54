// Programs that are started to see how long that takes.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/clock.hpp"

#include <string>
#include <vector>

namespace rpmem::bench {

// How this program starts itself once more.
inline constexpr const char* own_program = "/proc/self/exe";

struct Ended {
    Nanoseconds started{};
    Nanoseconds ended{};
    std::string output;
};

// Runs the program to its end; its standard error is ours. A status other than 0 is an error.
[[nodiscard]] Result<Ended> run_program(const std::vector<std::string>& words);

} // namespace rpmem::bench
