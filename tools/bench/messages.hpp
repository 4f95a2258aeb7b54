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

// A login, and the start of a program behind it.
inline constexpr milliseconds start_timeout = std::chrono::seconds(60);
// A measurement, or between two. If the other process ends, the wait does.
inline constexpr milliseconds max_run = std::chrono::hours(24 * 7);

[[nodiscard]] Result<> send_line(int fd, const Json& line);
// An error that the other process sent is one here.
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
    UniqueFd socket; // to it
    pid_t pid = 0;
};
// A copy of this process that runs SERVE with the other end and ends, at the latest with this one.
[[nodiscard]] Result<OtherProcess> start_process(const std::function<void(int)>& serve);
// For its end.
void wait_for(const OtherProcess& process);

} // namespace rpmem::bench
