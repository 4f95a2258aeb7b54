// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/version.hpp"

#include <fmt/format.h>

namespace rpmem {
namespace {

// The best one first. Each build has all of them: what they need is loaded when it is used.
constexpr const char* transports = "verbs, tcp, sockets";

} // namespace

const char* product_version() { return RPMEM_VERSION; }

std::string describe_version(std::string_view program) {
    return fmt::format("{} {}\n{}\ntransports: {}", program, RPMEM_VERSION, RPMEM_ORIGIN,
                       transports);
}

} // namespace rpmem
