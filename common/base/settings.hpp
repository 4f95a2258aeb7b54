// The table of settings (RPMEM_*): one row feeds parsing, the manual and what tools print.
#pragma once

#include "base/log.hpp"
#include "base/paging_policy.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem {

enum class SettingKind { text, boolean, number, choice };

// What logs in to the target: ssh(1) in a process of its own, or libssh2 within this one.
enum class SshTransport { process, libssh2 };

struct SettingRow {
    const char* name;
    SettingKind kind;
    const char* default_value; // as text; "" = none
    std::uint64_t minimum;     // of numbers
    std::uint64_t maximum;
    const char* unit; // of numbers; of choices: the words, separated by '|'
    const char* help;
};

std::span<const SettingRow> setting_table();

struct Settings {
    std::string ssh;
    SshTransport ssh_transport;
    std::string ssh_key;               // of libssh2; empty: the agent's keys and the usual files
    std::string ssh_known_hosts;       // of libssh2; empty: the usual files
    std::vector<std::string> commands; // taken round robin
    bool enable_verbs;
    std::string device; // see rdma/choice.hpp; empty: all
    bool enable_tcp;
    bool enable_sockets;
    bool fork_safe; // no RDMA unless its memory is safe from fork(2)
    PagingPolicy paging;
    std::optional<unsigned> max_lanes;
    unsigned work_queue_size;
    unsigned inline_size; // bytes
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds operation_timeout;
    std::chrono::microseconds spin_time;
    LogLevel log_level;
    std::string log_file; // empty: standard error

    std::vector<std::string> warnings; // one line for each value that was not taken
};

// Returns the value of a variable, or nullptr. As std::getenv.
using Environment = std::function<const char*(const char* name)>;

// Values that make no sense are replaced by the default and named in `warnings`.
Settings read_settings(const Environment& environment);

} // namespace rpmem
