// The algorithms of ssh that are used: those that ssh(1) of OpenSSH 9.2 uses unless it is told
// otherwise, as far as libssh2 has them. Not used whatever a server offers: signatures with SHA-1
// (ssh-rsa, ssh-dss), CBC, and key exchanges of group 1 or with SHA-1.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace rpmem::initiator::ssh2 {

struct Method {
    int number; // of libssh2: LIBSSH2_METHOD_...
    const char* what;
    std::span<const std::string_view> names; // the best first
};

// But for those of host keys, whose order depends on which keys are known.
std::span<const Method> methods();

} // namespace rpmem::initiator::ssh2
