// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/kernel_files.hpp"

#include <fstream>

namespace rpmem {

std::string line_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

} // namespace rpmem
