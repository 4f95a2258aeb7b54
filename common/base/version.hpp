// SPDX-License-Identifier: BSD-3-Clause
// The version of the product. The version of the C interface is in librpmem.h, and that of the
// protocol is in common/wire.
#pragma once

#include <string>
#include <string_view>

namespace rpmem {

[[nodiscard]] const char* product_version(); // "2.0.0"

// Returns what `PROGRAM --version` prints: the version, the build, the transports. The text does
// not end with a newline.
[[nodiscard]] std::string describe_version(std::string_view program);

} // namespace rpmem
