// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/version.hpp"

#include <fmt/format.h>

namespace rpmem {
namespace {

// In order of preference. Every build has all of them, because their libraries are loaded at their
// first use.
constexpr const char* transports = "verbs, tcp, sockets";

} // namespace

const char* product_version() { return RPMEM_VERSION; }

std::string describe_version(std::string_view program) {
    return fmt::format("{} {}\n{}\ntransports: {}", program, RPMEM_VERSION, RPMEM_ORIGIN,
                       transports);
}

} // namespace rpmem
