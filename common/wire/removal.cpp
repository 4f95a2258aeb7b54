// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/removal.hpp"

#include "common/base/text.hpp"

#include <fmt/format.h>

namespace rpmem::wire {
namespace {

constexpr std::string_view word = "RPMEMD-REMOVE ";

// The largest errno value of Linux.
constexpr unsigned max_status = 4095;

} // namespace

std::string encode_removal(int status) { return fmt::format("{}{}\n", word, status); }

std::optional<int> find_removal(std::string_view output) {
    const auto at = output.rfind(word);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = output.substr(at + word.size());
    const auto end = rest.find('\n');
    if (end == std::string_view::npos)
        return std::nullopt;
    const auto status = parse_number<unsigned>(rest.substr(0, end));
    if (!status || *status > max_status)
        return std::nullopt;
    return static_cast<int>(*status);
}

} // namespace rpmem::wire
