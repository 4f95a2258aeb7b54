// SPDX-License-Identifier: BSD-3-Clause
// pause, resume and rate: steer a pool of a running program through its socket.
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "librpmem/control/control_client.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/running_pools.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace rpmem::ctl {
namespace {

using initiator::ControlRequest;
using initiator::ControlVerb;
using initiator::text_in;
using nlohmann::json;
using Verb = Command::Verb;

std::string name_of(const RunningPool& pool) { return text_in(pool.counts.facts.name); }
std::string socket_of(const RunningPool& pool) { return text_in(pool.counts.facts.control); }

// Returns why the process shows none of its pools.
Failure no_pools(const std::string& pid, const RunningPools& found) {
    struct stat status {};
    if (::stat(("/proc/" + pid).c_str(), &status) != 0)
        return fail(ErrorClass::caller_fault, ESRCH,
                    "there is no process {}; `rpmemctl status` lists programs with pools", pid);
    if (found.hidden > 0)
        return fail(ErrorClass::caller_fault, EPERM,
                    "process {} belongs to another user ({}); run rpmemctl as that user or as root",
                    pid, status.st_uid);
    return fail(ErrorClass::caller_fault, ENOENT,
                "process {} has no open pool{}; `rpmemctl status` lists programs with pools", pid,
                found.problems.empty() ? "" : " that can be examined: " + found.problems.front());
}

// POOL is the name of a pool, or its pool set alone. A program may also have a session of the same
// pool that only reads, and cannot be steered.
Result<RunningPool> find_pool(const std::string& pid, std::string_view pool) {
    const RunningPools found = find_running_pools(pid, Users::own);
    if (found.pools.empty())
        return no_pools(pid, found);
    const RunningPool* chosen = nullptr;
    std::string names;
    for (const RunningPool& each : found.pools) {
        const std::string name = name_of(each);
        names += (names.empty() ? "" : ", ") + name;
        if (name != pool && !name.ends_with(":" + std::string(pool)))
            continue;
        if (chosen && name_of(*chosen) != name)
            return invalid("process {} has several pools {}: {} and {}; use one of these names",
                           pid, pool, name_of(*chosen), name);
        if (!chosen || socket_of(*chosen).empty())
            chosen = &each;
    }
    if (!chosen)
        return fail(ErrorClass::caller_fault, ENOENT, "process {} has no pool {}; its pools are {}",
                    pid, pool, names);
    return *chosen;
}

Result<> require_socket(const RunningPool& pool) {
    if (!socket_of(pool).empty())
        return {};
    const std::string why = text_in(pool.counts.facts.no_control);
    if (why.empty())
        return fail(ErrorClass::caller_fault, EOPNOTSUPP,
                    "pool {} of process {} does not go on alone; start the program with "
                    "RPMEM_ON_LOSS=alone, see librpmem(7)",
                    name_of(pool), pool.counts.process);
    return fail(ErrorClass::caller_fault, ENOENT,
                "process {} has no socket for rpmemctl: {}; start the program with "
                "XDG_RUNTIME_DIR=/run/user/{}",
                pool.counts.process, why, pool.user);
}

ControlRequest request_of(const Command& command, const RunningPool& pool) {
    ControlRequest request{.verb = ControlVerb::pause, .rate = 0, .pool = name_of(pool)};
    if (command.verb == Verb::resume)
        request.verb = ControlVerb::resume;
    if (command.verb == Verb::rate) {
        request.verb = ControlVerb::rate;
        request.rate = parse_number<std::uint64_t>(command.rate).value_or(0); // "none"
    }
    return request;
}

Result<json> steer(const Command& command) {
    std::string_view pool = command.program;
    const std::string pid(take_until(pool, ":"));
    RPMEM_ASSIGN(const RunningPool found, find_pool(pid, pool));
    RPMEM_TRY(require_socket(found));
    const ControlRequest request = request_of(command, found);
    RPMEM_TRY(initiator::steer_program(socket_of(found), static_cast<pid_t>(found.counts.process),
                                       request));
    json document{{"format", 1},
                  {"pid", found.counts.process},
                  {"program", found.program},
                  {"pool", printable(request.pool)}};
    if (command.verb == Verb::rate)
        document["rate"] = request.rate > 0 ? json(request.rate) : json(nullptr);
    return document;
}

std::string describe_pause(const json& document) {
    return fmt::format("paused: {}\n", text_of(document, "pool"));
}

std::string describe_resume(const json& document) {
    return fmt::format("resumed: {}\n", text_of(document, "pool"));
}

std::string describe_rate(const json& document) {
    const auto rate = number_of(document, "rate");
    return fmt::format("maximum rate of {}: {}\n", text_of(document, "pool"),
                       rate ? fmt::format("{} bytes/s", *rate) : "none");
}

} // namespace

int steer_pool(const Command& command) {
    const auto describe = command.verb == Verb::pause    ? describe_pause
                          : command.verb == Verb::resume ? describe_resume
                                                         : describe_rate;
    const auto done = steer(command);
    return print_answer(command,
                        done ? ActionAnswer{*done}
                             : failed_answer(done.error().code, printable(done.error().text)),
                        describe);
}

} // namespace rpmem::ctl
