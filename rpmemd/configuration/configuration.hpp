// What the daemon is told to do: the keys of a configuration file, and how the layers (defaults,
// files, command line) become one Configuration.
#pragma once

#include "base/log.hpp"
#include "base/paging_policy.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::target {

inline constexpr unsigned default_spin_time = 50; // microseconds

inline constexpr unsigned least_accept_timeout = 1000; // milliseconds
inline constexpr unsigned most_accept_timeout = 3600000;

struct Configuration {
    std::filesystem::path poolset_dir; // absolute
    bool persist_apm = false;
    bool persist_general = true;
    bool use_syslog = true;
    std::string log_file = "/var/log/rpmemd.log"; // not used with syslog
    LogLevel log_level = LogLevel::error;
    // How long the peer may take to connect its lanes once it has been told where to: among other
    // things it has to register its own memory first.
    std::chrono::milliseconds accept_timeout{120000};
    std::string device;   // RDMA devices that may serve: NAME or NAME:PORT, by commas; empty: all
    unsigned threads = 0; // lane workers; 0: as many as fit
    unsigned spin_time = default_spin_time;
    PagingPolicy paging = PagingPolicy::when_needed;
    std::optional<std::string> remove; // a pool set whose pool is to be removed: no session then
    bool probe = false;                // tell what there is: no session either
    bool force = false;
    bool remove_pool_set = false;
    bool direct_access = true;  // peers may read and write a pool's memory by RDMA
    bool allow_outside = false; // pool set names may leave poolset_dir
};

// One layer: what a file or the command line says, and nothing else.
struct Settings {
    std::optional<std::string> poolset_dir; // `$HOME` in it is not yet replaced
    std::optional<bool> persist_apm;
    std::optional<bool> persist_general;
    std::optional<bool> use_syslog;
    std::optional<std::string> log_file;
    std::optional<LogLevel> log_level;
    std::optional<bool> direct_access;
    std::optional<bool> allow_outside;
    std::optional<unsigned> accept_timeout; // milliseconds
    std::optional<PagingPolicy> paging;
    std::optional<std::string> device;
};

inline constexpr std::size_t max_configuration_file_size = std::size_t{64} * 1024;
inline constexpr std::size_t max_configuration_line_size = 4096;

// Sets KEY from its text. EINVAL; the text of the error does not say where KEY and VALUE come from.
Result<> apply_setting(Settings& settings, std::string_view key, std::string_view value);

// FILE is only named in errors, with the number of the line and the line. EINVAL.
Result<Settings> parse_configuration(std::string_view text, const std::filesystem::path& file);

// As parse_configuration(); ENOENT, EACCES, ... if FILE cannot be read, EFBIG if it is too large.
Result<Settings> read_configuration_file(const std::filesystem::path& file);

// LOWER with all that UPPER sets. A layer that names a log file and does not mention syslog turns
// syslog off.
Settings overlay(const Settings& lower, const Settings& upper);

// Fills in the defaults and replaces `$HOME` in the pool set directory. EINVAL if the outcome makes
// no sense. HOME may be empty if it is not needed.
Result<Configuration> resolve(const Settings& settings, std::string_view home);

} // namespace rpmem::target
