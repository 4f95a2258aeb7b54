// SPDX-License-Identifier: BSD-3-Clause
// The configuration of the daemon. rpmemd/settings/settings.hpp has the table of settings, and
// merges files, environment and command line into one Configuration.
#pragma once

#include "common/base/log.hpp"
#include "common/base/shared_settings.hpp"
#include "rpmemd/settings/action_request.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

// The policy for persistent memory for which this user may not request deep flushes.
enum class DeepFlush { warn, require };

// The policy for a pool on a volatile or remote file system.
enum class VolatileMedium { warn, refuse };

// Whether a session is confined, see rpmemd/confinement/confinement.hpp.
enum class Confine { as_far_as_it_can, always, never };

// Members without a default here get it from the table of settings.
struct Configuration {
    std::filesystem::path poolset_dir; // absolute
    bool allow_outside;                // names of pool sets may lead out of poolset_dir
    mode_t part_mode;                  // mode of new parts
    VolatileMedium volatile_medium;
    bool persist_apm;
    bool persist_general;
    DeepFlush deep_flush;
    Confine confine;
    bool direct_access; // peers may read and write the memory of a pool by RDMA
    bool sockets;       // the provider sockets may serve lanes
    std::string device; // allowed RDMA devices, see common/rdma/choice.hpp; empty for all
    std::vector<std::string> addresses; // further addresses, sent to the client for its lanes
    std::uint16_t first_port;           // ports for lanes over TCP; 0 and 0 for any port
    std::uint16_t last_port;
    std::chrono::milliseconds peer_timeout;
    std::filesystem::path state_dir; // absolute; see rpmemd/registry/registration.hpp
    std::filesystem::path stats_dir; // absolute; if empty, no statistics are written
    UseTls tls;                      // for lanes
    bool require_hello;              // refuse clients of protocol 0.1
    PagingPolicy paging;
    // Maximum time from the response until the client has connected its lanes. The client may have
    // to register its memory first.
    std::chrono::milliseconds accept_timeout;
    unsigned threads;   // lane workers; 0 for one per processor
    unsigned spin_time; // microseconds
    bool use_syslog;
    std::string log_file; // not used with use_syslog
    LogLevel log_level;

    // The following are set by the command line only. remove, probe and action replace a session.
    std::optional<std::string> remove; // remove the pool of this pool set
    bool force = false;
    bool remove_pool_set = false;
    bool probe = false; // print what this machine supports
    std::optional<ActionRequest> action{};
    bool restricted = false;   // refuse client commands that parse_client_command() refuses
    bool offers = false;       // the client knows the hello, see wire::offer_option
    bool allow_remove = false; // a client with a forced command may delete pools
    bool allow_admin = false;  // such a client may also list and end sessions, and create pools
    bool read_only = false;    // write to no pool
    // The following are set by admit(), see rpmemd/settings/forced_command.hpp.
    bool may_delete = true;     // pools that the session has not created may be deleted
    bool sees_sessions = true;  // the client may learn who uses a pool
    bool stays_beneath = false; // refuse hidden paths for new files, see PoolOptions

    std::vector<std::string> warnings; // one line for each ignored value
};

} // namespace rpmem::target
