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
        accept,
        take,
        sessions,
        evict,
        push,
        pull,
        verify,
        bench,
        status,
        watch,
        export_metrics,
        pause,
        resume,
        rate,
    };

    Verb verb = Verb::probe;
    std::string target{}; // probe: empty for this node only
    std::string pool_set{};
    std::string session{};
    std::string file{};
    std::string whom{};     // status, watch: a process ID or a file; empty for all
    std::string program{};  // pause, resume, rate: a process ID, a colon and a pool
    std::string rate{};     // rate: bytes per second, or "none"
    bool all = false;       // check: each pool; status, watch: the programs of other users, too
    unsigned count = 0;     // watch: number of views; 0 for no limit
    std::string textfile{}; // export: the directory
    unsigned interval = 0;  // export: seconds between writes; 0 to write once
    bool json = false;
    bool force = false;       // remove: ignore faulty parts and marks; transfers: ignore mismatches
    bool yes = false;         // accept, take: do not ask
    bool accept_loss = false; // take: a pool that may lack acknowledged writes
    bool keep_set = false;    // remove: keep the pool set file
    bool repair = false;      // verify: copy differing chunks to the pool
    unsigned lanes = 4;       // push, pull, verify: lanes, and threads that compare
    std::uint64_t size = 0;   // create
    std::vector<std::string> parts{};
    bool no_headers = false;
    bool set_only = false;
};

// Exit statuses of all verbs.
inline constexpr int status_done = 0;
inline constexpr int status_failed = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_unknown = 3; // the target's rpmemd is too old for the request
inline constexpr int status_differs = 4; // the pool is not sound, or not equal to the file
inline constexpr int status_in_use = 5;

} // namespace rpmem::ctl
