// Two reports side by side.
#pragma once

#include "common/base/result.hpp"

#include <string>

namespace rpmem::bench {

// Prints a table in Markdown. Rows that only one of them has are left out.
[[nodiscard]] Result<> compare(const std::string& first, const std::string& second);

} // namespace rpmem::bench
