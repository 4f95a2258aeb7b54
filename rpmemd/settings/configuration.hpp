// SPDX-License-Identifier: BSD-3-Clause
// The configuration of the daemon. rpmemd/settings/settings.hpp has the table of settings and
// tells how files, environment and command line become one Configuration.
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

// The policy for persistent memory whose deep flush this user may not ask for.
enum class DeepFlush { warn, require };

// The policy for a pool on a medium that forgets, or whose durability is another machine's.
enum class VolatileMedium { warn, refuse };

// Whether a session gives up what it does not need, see rpmemd/confinement/confinement.hpp.
enum class Confine { as_far_as_it_can, always, never };

// Defaults of the settings stand in the table.
struct Configuration {
    std::filesystem::path poolset_dir; // absolute
    bool allow_outside;                // pool set names may leave poolset_dir
    mode_t part_mode;                  // permissions of parts that are created
    VolatileMedium volatile_medium;
    bool persist_apm;
    bool persist_general;
    DeepFlush deep_flush;
    Confine confine;
    bool direct_access; // peers may read and write a pool's memory by RDMA
    bool sockets;       // the sockets provider may serve
    std::string device; // see common/rdma/choice.hpp; empty: all RDMA devices may serve
    std::vector<std::string> addresses; // told to the client, as places where lanes may connect
    std::uint16_t first_port; // on which lanes over tcp may arrive, with last_port; 0 and 0: any
    std::uint16_t last_port;
    std::chrono::milliseconds peer_timeout;
    std::filesystem::path state_dir; // absolute; see rpmemd/registry/registration.hpp
    std::filesystem::path stats_dir; // absolute; empty: no statistics are written
    UseTls tls;                      // of lanes
    bool require_hello;              // peers of protocol 0.1 are refused
    PagingPolicy paging;
    // How long the peer may take to connect its lanes once it has been told where to: among other
    // things it has to register its own memory first.
    std::chrono::milliseconds accept_timeout;
    unsigned threads;   // lane workers; 0: as many as fit
    unsigned spin_time; // microseconds
    bool use_syslog;
    std::string log_file; // not used with syslog
    LogLevel log_level;

    // Of the command line only:
    std::optional<std::string> remove; // a pool set whose pool is to be removed: no session then
    bool force = false;
    bool remove_pool_set = false;
    bool probe = false;                    // tell what there is: no session either
    std::optional<ActionRequest> action{}; // do this: no session either
    bool restricted = false;   // do what this command line says, whatever the peer asks for
    bool offers = false;       // the client knows the hello: the option of common/wire/hello.hpp
    bool allow_remove = false; // a peer may delete pools although the command was given to it
    bool allow_admin = false;  // likewise: it may see sessions, end them, and create pool sets
    bool read_only = false;    // nothing is written to any pool
    // Whether pools may be deleted that the session has not made; see
    // rpmemd/settings/forced_command.hpp.
    bool may_delete = true;
    bool sees_sessions = true;  // and who has them
    bool stays_beneath = false; // creates nothing hidden, and nothing by links, see StoreOptions

    std::vector<std::string> warnings; // one line for each value that was not taken
};

} // namespace rpmem::target
