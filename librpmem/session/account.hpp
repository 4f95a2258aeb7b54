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

// From the user database, which ssh(1) uses too. It may be in the network: waits at most TIME.
Result<Account> current_account(std::chrono::milliseconds time);

} // namespace rpmem::initiator
