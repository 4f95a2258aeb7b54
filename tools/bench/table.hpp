// The preset --table: what is to be within which limit, and whether it is.
#pragma once

#include "tools/bench/options.hpp"

namespace rpmem::bench {

// Runs this program once for each group of rows, because settings are read once. The exit status.
[[nodiscard]] int run_table(const Options& options);

} // namespace rpmem::bench
