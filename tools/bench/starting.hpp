// How long it takes to create and to open a pool, each in a new process; and what of that is
// nobody's to save: the login.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/options.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace rpmem::bench {

// In milliseconds.
struct Start {
    double call = 0; // rpmem_create() or rpmem_open()
    double use = 0;  // of each lane, once
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Start, call, use)

// In a new process: how it makes the pool if CREATES, else opens it, uses its lanes, and closes it.
[[nodiscard]] Result<Start> start_once(const Options& options, bool creates, unsigned lanes);

// Milliseconds of "ssh TARGET true".
[[nodiscard]] Result<double> log_in_once(const std::string& target);

} // namespace rpmem::bench
