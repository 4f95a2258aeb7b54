// SPDX-License-Identifier: BSD-3-Clause
// The version of the product. That of the C interface is in librpmem.h, that of the protocol in
// wire/.
#pragma once

#include <string>
#include <string_view>

namespace rpmem {

[[nodiscard]] const char* product_version(); // "2.0.0"

// What `PROGRAM --version` prints: the version, what it was built from, the transports. No newline
// at the end.
[[nodiscard]] std::string describe_version(std::string_view program);

} // namespace rpmem
