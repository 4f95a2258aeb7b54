// SPDX-License-Identifier: BSD-3-Clause
// Parses known_hosts files, see sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator::ssh2 {

struct KnownKey {
    std::string file;
    std::size_t line;
    bool revoked;
    std::string type; // "ssh-ed25519"
    std::string key;  // in base64
};

// Returns the name of a host in known_hosts, in lower case: "host", or "[host]:port" if the port is
// not 22.
std::string known_name(const std::string& host, std::uint16_t port);

// Returns the keys of the host NAME in TEXT, the content of FILE. Keys of certificate authorities
// (@cert-authority) are ignored, because libssh2 cannot check certificates.
std::vector<KnownKey> known_keys(std::string_view text, const std::string& file,
                                 const std::string& name);

std::string to_base64(std::span<const unsigned char> data);

} // namespace rpmem::initiator::ssh2
