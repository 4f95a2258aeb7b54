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

// Looks the user up in the user database, like ssh(1). The database may be in the network, so this
// fails with ETIMEDOUT after TIME. Fails with ENOENT if it has no such user.
Result<Account> current_account(std::chrono::milliseconds time);

} // namespace rpmem::initiator
