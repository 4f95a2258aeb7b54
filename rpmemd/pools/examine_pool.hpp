// SPDX-License-Identifier: BSD-3-Clause
// Facts about a pool set and its parts while others use them: the examination locks nothing for
// longer than a moment, writes nothing, and tells a fault of a part as a fact.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/part_identity.hpp"
#include "rpmemd/pools/pool_header.hpp"
#include "rpmemd/pools/store.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

struct PartFacts {
    std::filesystem::path path;
    std::optional<std::uint64_t> set_size{}; // as the pool set file says; nothing: AUTO, or a
                                             // file of a directory
    std::uint64_t size = 0;
    std::uint64_t allocated = 0; // bytes that it takes on its file system
    bool device_dax = false;
    bool locked = false;       // by a session that may write, or by another program
    std::string file_system{}; // if it is known by name
    std::string medium{};      // empty: it lasts, as far as its file system tells
    std::string problem{};     // why it cannot be used; empty: it can
    int code = 0;              // of the problem
};

struct PoolFacts {
    HeaderLayout headers = HeaderLayout::every_part;
    std::vector<PartFacts> parts{};
    std::uint64_t size = 0;                   // usable bytes; 0: a part is missing or too small
    std::optional<PoolHeader> header{};       // of the first part, if there is one and it is sound
    std::optional<PartIdentity> first_part{}; // if it is there
    // Of the first part, see PoolAttribute::read().
    Result<std::optional<std::string>> attribute = std::nullopt;
    std::string header_problem{}; // why not, where the pool has headers and its first part is
                                  // there
};

// As load_pool_set().
[[nodiscard]] Result<PoolFacts> examine_pool(const StoreOptions& options, std::string_view name);

} // namespace rpmem::target
