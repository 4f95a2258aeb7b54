// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/private_group.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace rpmem::target {
namespace {

struct Account {
    std::string name;
    gid_t group;
};

// Space for the texts of one line. A longer line ends the search, and no group is private.
using Line = std::array<char, 65536>;

// Returns the account of USER, unless another account has the same primary group.
std::optional<Account> sole_account(uid_t user, std::FILE* users) {
    const auto line = std::make_unique<Line>();
    std::optional<Account> own;
    passwd entry{};
    passwd* found = nullptr;
    while (::fgetpwent_r(users, &entry, line->data(), line->size(), &found) == 0)
        if (entry.pw_uid == user && !own)
            own = {entry.pw_name, entry.pw_gid};
    if (!std::feof(users) || !own)
        return std::nullopt;
    std::rewind(users);
    while (::fgetpwent_r(users, &entry, line->data(), line->size(), &found) == 0)
        if (entry.pw_gid == own->group && own->name != entry.pw_name)
            return std::nullopt;
    return own;
}

// Returns whether all entries of the group have the name of the account and no other members. The
// group must have an entry.
bool is_alone_in_group(const Account& account, std::FILE* groups) {
    const auto line = std::make_unique<Line>();
    bool is_there = false;
    group entry{};
    group* found = nullptr;
    while (::fgetgrent_r(groups, &entry, line->data(), line->size(), &found) == 0) {
        if (entry.gr_gid != account.group)
            continue;
        is_there = true;
        if (account.name != entry.gr_name)
            return false;
        for (char** member = entry.gr_mem; *member != nullptr; ++member)
            if (account.name != *member)
                return false;
    }
    return is_there && std::feof(groups) != 0;
}

struct CloseFile {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

std::optional<gid_t> find_own() {
    const std::unique_ptr<std::FILE, CloseFile> users(std::fopen("/etc/passwd", "re"));
    const std::unique_ptr<std::FILE, CloseFile> groups(std::fopen("/etc/group", "re"));
    return private_group(::geteuid(), users.get(), groups.get());
}

} // namespace

std::optional<gid_t> private_group(uid_t user, std::FILE* users, std::FILE* groups) {
    if (user == 0 || users == nullptr || groups == nullptr)
        return std::nullopt;
    const auto account = sole_account(user, users);
    if (!account || !is_alone_in_group(*account, groups))
        return std::nullopt;
    return account->group;
}

// The first call comes before the session is confined, like the one of is_unmapped() in
// owner_and_mode.cpp.
std::optional<gid_t> own_private_group() {
    static const std::optional<gid_t> own = find_own();
    return own;
}

} // namespace rpmem::target
