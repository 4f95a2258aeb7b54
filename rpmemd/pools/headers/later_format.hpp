// SPDX-License-Identifier: BSD-3-Clause
// Refuses a file of state-dir that a later version has written. A file begins with eight
// characters. The last one is the number of its format.
#pragma once

#include "common/base/result.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

namespace rpmem::target {

using FormatMagic = std::array<char, 8>;

// Fails with ENOTSUP if FOUND has a greater number than KNOWN, and is the same otherwise. Such a
// file may have contents that this version would lose, so it must not be overwritten. WHAT and NAME
// are for the error text.
[[nodiscard]] inline Result<> refuse_later_format(const FormatMagic& found,
                                                  const FormatMagic& known, std::string_view what,
                                                  const std::string& name) {
    const auto kind = [](const FormatMagic& magic) {
        return std::string_view(magic.data(), magic.size() - 1);
    };
    if (kind(found) != kind(known) || found.back() <= known.back() || found.back() > '9')
        return {};
    return fail(ErrorClass::caller_fault, ENOTSUP,
                "{}, {} in state-dir, has format {}, but this rpmemd knows formats only up to {}; "
                "use the version that has written it, or a later one",
                what, name, found.back(), known.back());
}

} // namespace rpmem::target
