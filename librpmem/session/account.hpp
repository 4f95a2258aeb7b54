// SPDX-License-Identifier: BSD-3-Clause
// The user that this process runs as.
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <string>

namespace rpmem::initiator {

struct Account {
    std::string name{};
    std::string home{};
};

// Looks up the user in the user database, as ssh(1) does. The database may be on another machine.
// Fails with ETIMEDOUT if the lookup takes longer than TIME, and with ENOENT if there is no such
// user.
Result<Account> current_account(std::chrono::milliseconds time);

} // namespace rpmem::initiator
