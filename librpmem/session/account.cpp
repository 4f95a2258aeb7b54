// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/account.hpp"

#include "common/base/call_within.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

namespace rpmem::initiator {

Result<Account> current_account(std::chrono::milliseconds time) {
    struct Lookup {
        std::array<char, 16384> buffer;
        int code = ENOENT;
        Account account{};
    };
    const auto lookup = std::make_shared<Lookup>();
    RPMEM_TRY(in_context("the user database", call_within(time, [lookup] {
                             passwd entry{};
                             passwd* found = nullptr;
                             const int code =
                                 ::getpwuid_r(::geteuid(), &entry, lookup->buffer.data(),
                                              lookup->buffer.size(), &found);
                             if (found)
                                 lookup->account = {entry.pw_name, entry.pw_dir};
                             lookup->code = found ? 0 : code != 0 ? code : ENOENT;
                         })));
    if (lookup->code != 0 && lookup->code != ENOENT)
        return fail_errno(ErrorClass::resource_limit, lookup->code,
                          "cannot look up the user number {} in the user database", ::geteuid());
    if (lookup->code != 0)
        return fail(ErrorClass::caller_fault, lookup->code,
                    "the user number {} is not in the user database, so there is no user name and "
                    "no home directory; see getpwuid(3)",
                    ::geteuid());
    return lookup->account;
}

} // namespace rpmem::initiator
