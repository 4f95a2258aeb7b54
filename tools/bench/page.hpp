// SPDX-License-Identifier: BSD-3-Clause
// --report: a page (HTML) with plots and tables of a report, complete in one file.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/options.hpp"

namespace rpmem::bench {

// The file can be written, and what to compare with can be read.
[[nodiscard]] Result<> prepare_page(const Options& options);
[[nodiscard]] Result<> write_page(const Options& options, const Json& report);

} // namespace rpmem::bench
