// SPDX-License-Identifier: BSD-3-Clause
// Messages between processes of this program: lines of JSON, over a pair of sockets or
// through ssh.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <cerrno>
#include <chrono>
#include <functional>

namespace rpmem::bench {

using std::chrono::milliseconds;
using Json = nlohmann::json;

// Timeout of a login and the start of a program on the target.
inline constexpr milliseconds start_timeout = std::chrono::seconds(60);
// Timeout of the wait for the next task or result. The wait also ends when the other process ends.
inline constexpr milliseconds max_run = std::chrono::hours(24 * 7);

[[nodiscard]] Result<> send_line(int fd, const Json& line);
// Fails if the line is an error that the other process reports.
[[nodiscard]] Result<Json> receive_line(int fd, milliseconds timeout);

template <typename Value>
[[nodiscard]] Result<> send(int fd, const Result<Value>& value) {
    return send_line(fd, value ? Json(*value) : Json{{"error", value.error().text}});
}

template <typename Value>
[[nodiscard]] Result<Value> receive(int fd, milliseconds timeout) {
    RPMEM_ASSIGN(const Json line, receive_line(fd, timeout));
    try {
        return line.get<Value>();
    } catch (const Json::exception&) {
        return fail(ErrorClass::caller_fault, EPROTO,
                    "what answers is no rpmem-bench of this version, or the target's shell says "
                    "something before it");
    }
}

template <typename Value, typename Task>
[[nodiscard]] Result<Value> ask(int fd, const Task& task, milliseconds timeout) {
    RPMEM_TRY(send_line(fd, task));
    return receive<Value>(fd, timeout);
}

struct OtherProcess {
    UniqueFd socket; // connected to the process
    pid_t pid = 0;
};
// Forks a process that calls SERVE with its end of a socket pair and then exits. The kernel kills
// it if this process ends first.
[[nodiscard]] Result<OtherProcess> start_process(const std::function<void(int)>& serve);
// Waits until PROCESS has ended.
void wait_for(const OtherProcess& process);

} // namespace rpmem::bench
