// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/shell_word.hpp"

#include <algorithm>

namespace rpmem {

bool is_plain_in_shell(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+,:@%").find(c) != std::string_view::npos;
}

// Names that need no quotes are sent without quotes, because PMDK 1.12.1 does so.
std::string shell_word(std::string_view text) {
    if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain_in_shell))
        return std::string(text);
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += "'\\''";
        else
            word += c;
    }
    return word + "'";
}

} // namespace rpmem
