// SPDX-License-Identifier: BSD-3-Clause
// Collects facts about a pool set and its parts while other processes use them. Holds each lock
// only for a moment, and writes nothing. A fault of a part is one of the facts, not an error.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/files/part_identity.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/pools/pool.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

struct PartFacts {
    std::filesystem::path path;
    // The size in the pool set file, or nothing for AUTO and for the files of a directory.
    std::optional<std::uint64_t> set_size{};
    std::uint64_t size = 0;
    std::uint64_t allocated = 0;         // bytes on its file system
    std::chrono::nanoseconds modified{}; // see PartFile::modified()
    bool device_dax = false;
    bool locked = false;          // a writing session or another program has an exclusive lock
    std::string file_system{};    // empty if the type of the file system is not known
    std::string medium{};         // why the medium may lose data; empty if its type is durable
    std::string problem{};        // why the part cannot be used; empty if it can
    int code = 0;                 // errno value of the problem
    bool refused_by_mode = false; // `chmod go-w` makes the part acceptable
};

struct PoolFacts {
    HeaderLayout headers = HeaderLayout::every_part;
    std::vector<PartFacts> parts{};
    std::uint64_t size = 0;                   // usable bytes; 0 if a part is missing or too small
    std::optional<PoolHeader> header{};       // of the first part, if it is valid or hidden
    std::optional<PartIdentity> first_part{}; // if the first part can be opened
    // The attribute of the first part, see PoolAttribute::read().
    Result<std::optional<std::string>> attribute = std::nullopt;
    // Why the header of the first part is invalid. Empty if it is valid or hidden, or if there is
    // no header page.
    std::string header_problem{};
};

// Fails like load_pool_set(), uses_directories() and PartDirectories::scan().
[[nodiscard]] Result<PoolFacts> examine_pool(const PoolOptions& options, std::string_view name);

} // namespace rpmem::target
