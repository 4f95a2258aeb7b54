// SPDX-License-Identifier: BSD-3-Clause
// The command line of rpmemctl as values, and its exit statuses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpmem::ctl {

struct Command {
    enum class Verb {
        probe,
        settings,
        doctor,
        list,
        info,
        check,
        create,
        remove,
        sessions,
        evict,
        push,
        pull,
        verify,
        bench,
        status,
        watch,
        export_metrics,
    };

    Verb verb = Verb::probe;
    std::string target{}; // empty: this node only
    std::string pool_set{};
    std::string session{};
    std::string file{};
    std::string whom{};     // status, watch: a process id or a file; empty: all
    bool all = false;       // status, watch: the programs of other users, too
    unsigned count = 0;     // watch: views; 0: without end
    std::string textfile{}; // export: the directory
    unsigned interval = 0;  // export: seconds; 0: once
    bool json = false;
    bool force = false;     // remove: ignore what is missing; transfers: another pool's file
    bool keep_set = false;  // remove: leave the pool set file
    bool repair = false;    // verify: move what differs
    unsigned lanes = 4;     // push, pull, verify --repair
    std::uint64_t size = 0; // create
    std::vector<std::string> parts{};
    bool no_headers = false;
    bool set_only = false;
};

// Exit statuses of all verbs.
inline constexpr int status_done = 0;
inline constexpr int status_failed = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_unknown = 3; // the target's rpmemd is too old to be asked
inline constexpr int status_differs = 4; // the pool is not what it should be
inline constexpr int status_in_use = 5;

} // namespace rpmem::ctl
