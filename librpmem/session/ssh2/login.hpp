// SPDX-License-Identifier: BSD-3-Clause
// Authenticates the user to the ssh server. Uses only keys, because nobody can enter a password.
#pragma once

#include "librpmem/session/ssh2/ssh2_session.hpp"

#include <string>
#include <vector>

namespace rpmem::initiator::ssh2 {

struct Login {
    std::string user;
    bool use_agent;
    std::vector<std::string> key_files; // if there are several, missing ones are skipped
};

// Fails with EACCES if the server accepts no key. The text names all keys that were tried.
Result<> log_in(const Ssh2Session& session, const Login& login, const Deadline& deadline);

} // namespace rpmem::initiator::ssh2
