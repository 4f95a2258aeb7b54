// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/confirm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace rpmem::ctl {

bool confirm(const std::string& question) {
    if (::isatty(STDIN_FILENO) == 0)
        return false;
    fmt::print(stderr, "{} [y/N] ", question);
    std::string answer;
    return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

} // namespace rpmem::ctl
