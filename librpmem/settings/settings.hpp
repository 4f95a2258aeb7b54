// SPDX-License-Identifier: BSD-3-Clause
// The settings of the library (RPMEM_*). Each is one row of a table, see common/base/setting.hpp.
#pragma once

#include "common/base/log.hpp"
#include "common/base/setting.hpp"
#include "common/base/shared_settings.hpp"
#include "common/wire/hello.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

// The login method: ssh(1) in a process of its own, or libssh2 in this process.
enum class SshTransport { process, libssh2 };

// What a call does when its session is lost. `fail` makes it fail after RPMEM_RECONNECT_TIMEOUT,
// `alone` makes it go on without the target then, and `wait` makes it wait for ever.
enum class OnLoss { fail, wait, alone };

// Whether a session compares the replica with the pool's memory before its first write.
enum class Equalize {
    automatic, // if the memory holds a whole pool of libpmemobj
    yes,       // the user states that it holds the whole pool
    no,
};

struct Settings {
    std::string ssh;
    SshTransport ssh_transport;
    std::string ssh_key;               // for libssh2; empty: keys of ssh-agent and default files
    std::string ssh_known_hosts;       // for libssh2; empty: default files
    std::vector<std::string> commands; // used in turn
    std::string address;               // for lanes; empty: the host that ssh has reached
    wire::OfferForm offer;
    bool read_only;      // rpmemd is started with --read-only
    bool told_addresses; // lanes may connect to addresses that the target has sent
    bool enable_verbs;
    std::string device; // see common/rdma/choice.hpp; empty: all
    bool enable_tcp;
    bool enable_sockets;
    bool fork_safe; // use RDMA only if its memory is safe from fork(2)
    PagingPolicy paging;
    std::optional<unsigned> max_lanes;
    unsigned work_queue_size;
    unsigned inline_size; // bytes
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds operation_timeout;
    std::chrono::milliseconds peer_timeout;
    OnLoss on_loss;
    Equalize equalize;
    std::optional<std::uint64_t> catch_up_rate;  // bytes per second; nothing: no limit
    std::chrono::milliseconds reconnect_timeout; // 0: no reconnecting, except with OnLoss::wait
    std::chrono::milliseconds reconnect_delay;   // before the second attempt
    UseTls tls;
    bool require_hello; // targets of protocol 0.1 are refused
    std::chrono::microseconds spin_time;
    LogLevel log_level;
    std::string log_file;  // empty: standard error
    std::string stats_dir; // ignored, with a warning
    // Not a row: $XDG_STATE_HOME, or its default below $HOME. Empty if there is neither.
    std::string state_home;
    // Not a row: $XDG_RUNTIME_DIR. Empty if it is not set, or not an absolute path.
    std::string runtime_dir;

    std::vector<std::string> warnings; // one line for each value that has no effect
};

[[nodiscard]] std::span<const SettingRow<Settings>> setting_table();

// Returns the value of a variable, or null, like secure_getenv(3).
using Environment = std::function<const char*(const char* name)>;

// An invalid value is replaced by the default, and `warnings` has a line about it. An empty
// variable counts as not set.
[[nodiscard]] Settings read_settings(const Environment& environment);

// Returns the value of SETTING in ENVIRONMENT, or an empty string.
[[nodiscard]] std::string_view value_in(const Environment& environment, const Setting& setting);

// Returns the effect of an invalid value, such as "50 is used".
[[nodiscard]] std::string used_instead(const Setting& setting);

} // namespace rpmem::initiator
