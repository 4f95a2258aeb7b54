// Where and with what a run takes place, without which its figures mean nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rpmem::bench {

// Pairs of name and text: processor, kernel, library, ...
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe_machine();

// The settings of the library in the environment, NAME=VALUE.
[[nodiscard]] std::vector<std::string> describe_settings();

} // namespace rpmem::bench
