// A temporary poolset-dir of the daemon: one pool that exists, one that does not, and two whose
// parts are there before the pool is. Looks afterwards whether a session left anything behind.
#pragma once

#include <librpmem.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rpmem::hostile {

inline constexpr std::uint64_t part_size = 2 * 1024 * 1024;

// Pool set names, relative to the directory of the pool sets. Each has two parts.
inline constexpr const char* existing_pool = "existing.set";
inline constexpr const char* absent_pool = "absent.set";
inline constexpr const char* blank_pool = "blank.set"; // its parts exist, headers all zero
inline constexpr const char* plain_pool = "plain.set"; // NOHDRS; its parts exist and hold data

rpmem_pool_attr test_attributes();

class PoolDirectory {
public:
    PoolDirectory();
    ~PoolDirectory();
    PoolDirectory(const PoolDirectory&) = delete;
    PoolDirectory& operator=(const PoolDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path pool_sets() const { return path_ / "sets"; }
    [[nodiscard]] std::filesystem::path log_file() const { return path_ / "log"; }
    [[nodiscard]] std::vector<std::string> daemon_arguments() const;

    // What is wrong: a part more or less than before, other bytes in it, a lock. Empty: nothing.
    [[nodiscard]] std::string damage() const;
    [[nodiscard]] std::string locked_part() const; // empty: none is

    [[nodiscard]] std::string read_log() const;
    void remove_log() const;
    [[nodiscard]] std::string read_part(const std::string& name) const;

private:
    void write_pool_set(const std::string& name, const std::string& options) const;
    [[nodiscard]] std::filesystem::path parts() const { return path_ / "parts"; }

    std::filesystem::path path_;
    std::vector<std::pair<std::string, std::string>> contents_; // of every part, by its name
};

} // namespace rpmem::hostile
