// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/running_pools.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace rpmem::ctl {
namespace {

namespace files = std::filesystem;
using initiator::PoolSnapshot;
using Keep = std::function<void(const RunningPool&, UniqueFd)>;

// Limits that keep a hostile program from hiding the pools of others.
constexpr std::size_t max_descriptors = 16384;
constexpr std::size_t max_processes = 4194304; // PID_MAX_LIMIT of Linux
constexpr std::size_t max_pools = 1024;        // of one process

// Returns at most MAX_ENTRIES of DIRECTORY. An error ends the list, such as that of a
// process that ends in the meantime.
std::vector<files::path> entries_of(const files::path& directory, std::size_t max_entries,
                                    std::error_code& error) {
    std::vector<files::path> entries;
    for (files::directory_iterator each(directory, error), end;
         !error && each != end && entries.size() < max_entries; each.increment(error))
        entries.push_back(each->path());
    return entries;
}

bool has_open_or_mapped(const files::path& process, const std::string& file) {
    std::error_code ignored;
    for (const auto& each : entries_of(process / "fd", max_descriptors, ignored))
        if (files::read_symlink(each, ignored) == file)
            return true;
    std::ifstream maps(process / "maps");
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with(" " + file))
            return true;
    return false;
}

std::string name_of(const files::path& process) {
    std::string name;
    std::getline(std::ifstream(process / "comm"), name);
    return printable(name);
}

// Returns nothing if the process has ended.
std::optional<uid_t> user_of(const files::path& process) {
    struct stat status {};
    return ::stat(process.c_str(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
}

// Returns whether an entry of /proc/PID/fd is open for writing. A program writes its own counters.
// An exporter has the counters of other programs open as well, but only for reading.
bool is_writer(const files::path& entry) {
    struct stat status {};
    return ::lstat(entry.c_str(), &status) == 0 && (status.st_mode & S_IWUSR) != 0;
}

void add_pools_of(const files::path& process, RunningPools& found, const Keep& keep) {
    std::error_code error;
    std::size_t pools = 0;
    const std::string wanted = std::string("/memfd:") + initiator::counter_file_name + " (deleted)";
    for (const auto& each : entries_of(process / "fd", max_descriptors, error)) {
        std::error_code gone;
        if (files::read_symlink(each, gone) != wanted || !is_writer(each) || ++pools > max_pools)
            continue;
        UniqueFd file(::open(each.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (!file)
            continue;
        auto counts = initiator::read_counters(file.get());
        if (counts) // a program can write any process ID into its file
            counts->process = parse_number<std::uint32_t>(process.filename().string()).value_or(0);
        if (!counts) {
            found.problems.push_back(
                fmt::format("{}: {}", process.filename().string(), counts.error().text));
            continue;
        }
        found.pools.push_back({name_of(process), *counts, user_of(process).value_or(0)});
        if (keep)
            keep(found.pools.back(), std::move(file));
    }
    if (error == std::errc::permission_denied)
        ++found.hidden;
}

} // namespace

bool is_same(const PoolSnapshot& one, const PoolSnapshot& other) {
    return one.process == other.process && one.facts.opened == other.facts.opened &&
           one.facts.name == other.facts.name;
}

RunningPools find_running_pools(const std::string& whom, Users users, const Keep& keep) {
    std::error_code error;
    const bool is_process = parse_number<unsigned>(whom).has_value();
    const std::string file =
        whom.empty() || is_process ? "" : files::weakly_canonical(whom, error).string();
    RunningPools found;
    for (const auto& process : entries_of("/proc", max_processes, error)) {
        const std::string name = process.filename();
        if (!parse_number<unsigned>(name) || (is_process && name != whom) ||
            (!file.empty() && !has_open_or_mapped(process, file)))
            continue;
        if (users == Users::own && !is_process && user_of(process) != ::geteuid())
            ++found.hidden;
        else
            add_pools_of(process, found, keep);
    }
    std::ranges::stable_sort(found.pools, {},
                             [](const RunningPool& pool) { return pool.counts.process; });
    return found;
}

} // namespace rpmem::ctl
