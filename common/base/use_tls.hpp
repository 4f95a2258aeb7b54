// A setting of both ends.
#pragma once

namespace rpmem {

// Whether lanes use TLS: never, if both ends can, or always.
enum class UseTls { off, on, require };

[[nodiscard]] constexpr const char* name_of(UseTls use) {
    constexpr const char* names[] = {"off", "on", "require"};
    return names[static_cast<int>(use)];
}

} // namespace rpmem
