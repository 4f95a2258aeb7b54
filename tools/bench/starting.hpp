// How long it takes to create, open and close a pool, each in a new process; and what of that is
// nobody's to save: the login.
#pragma once

#include "tools/bench/limits.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/report.hpp"

namespace rpmem::bench {

[[nodiscard]] Result<> measure_starting(const Options& options, Report& report);

// How much longer it takes to open a pool and to use each of its lanes with 1024 lanes than with
// one.
[[nodiscard]] Result<> measure_many_lanes(const Options& options, Report& report);

// The first argument of the new process, not for users.
inline constexpr const char* starting_worker = "--starting-worker";

// What the new process does; its exit status.
[[nodiscard]] int run_starting_worker(int argc, char** argv);

} // namespace rpmem::bench
