// SPDX-License-Identifier: BSD-3-Clause
// The settings of the library (RPMEM_*). Each is one row of a table, see common/base/setting.hpp.
#pragma once

#include "common/base/log.hpp"
#include "common/base/setting.hpp"
#include "common/base/shared_settings.hpp"
#include "common/wire/hello.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

// The way to log in to the target: ssh(1) in a process of its own, or libssh2 within this one.
enum class SshTransport { process, libssh2 };

struct Settings {
    std::string ssh;
    SshTransport ssh_transport;
    std::string ssh_key;               // of libssh2; empty: the agent's keys and the usual files
    std::string ssh_known_hosts;       // of libssh2; empty: the usual files
    std::vector<std::string> commands; // taken round robin
    std::string address;               // where lanes connect; empty: where ssh went
    wire::OfferForm offer;
    bool told_addresses; // those that the target names may be tried
    bool enable_verbs;
    std::string device; // see common/rdma/choice.hpp; empty: all
    bool enable_tcp;
    bool enable_sockets;
    bool fork_safe; // no RDMA unless its memory is safe from fork(2)
    PagingPolicy paging;
    std::optional<unsigned> max_lanes;
    unsigned work_queue_size;
    unsigned inline_size; // bytes
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds operation_timeout;
    std::chrono::milliseconds peer_timeout;
    std::chrono::milliseconds reconnect_timeout; // 0: a lost session stays lost
    std::chrono::milliseconds reconnect_delay;   // between the first tries
    UseTls tls;
    bool require_hello; // peers of protocol 0.1 are refused
    std::chrono::microseconds spin_time;
    LogLevel log_level;
    std::string log_file;  // empty: standard error
    std::string stats_dir; // ignored, with a warning

    std::vector<std::string> warnings; // one line for each value that was not taken
};

[[nodiscard]] std::span<const SettingRow<Settings>> setting_table();

// Returns the value of a variable, or nullptr. As secure_getenv(3).
using Environment = std::function<const char*(const char* name)>;

// Values that make no sense are replaced by the default and named in `warnings`. A variable that is
// empty counts as one that is not set.
[[nodiscard]] Settings read_settings(const Environment& environment);

// The value that ENVIRONMENT has for SETTING; empty: none.
[[nodiscard]] std::string_view value_in(const Environment& environment, const Setting& setting);

// "50 is used": what follows from a wrong value.
[[nodiscard]] std::string used_instead(const Setting& setting);

} // namespace rpmem::initiator
