// SPDX-License-Identifier: BSD-3-Clause
// Proves to the server who the user is, with keys alone: nobody is there to be asked.
#pragma once

#include "librpmem/session/ssh2/ssh2_session.hpp"

#include <string>
#include <vector>

namespace rpmem::initiator::ssh2 {

struct Login {
    std::string user;
    bool use_agent;
    std::vector<std::string> key_files; // those that are not there are passed over
};

// EACCES with all that was tried.
Result<> log_in(const Ssh2Session& session, const Login& login, const Deadline& deadline);

} // namespace rpmem::initiator::ssh2
