// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/away.hpp"

#include "common/base/child_process.hpp"
#include "common/base/io.hpp"
#include "tools/bench/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rpmem::bench {
namespace {

// Minimum duration of the calls and marks of a round, so that there are enough for a percentile.
constexpr unsigned min_pace = 200; // milliseconds

constexpr milliseconds max_round = std::chrono::minutes(10);
constexpr milliseconds end_timeout = std::chrono::seconds(10);

// A directory of this user alone, beside the pools if tools/bench/run has made them.
class PrivateDirectory {
public:
    static Result<PrivateDirectory> make() {
        const char* const parent = std::getenv("TMPDIR");
        std::string path =
            std::string(parent && *parent ? parent : "/dev/shm") + "/rpmem-bench.XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot create {}", path);
        return PrivateDirectory(std::move(path));
    }
    PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PrivateDirectory& operator=(PrivateDirectory&&) = delete;
    ~PrivateDirectory() {
        std::error_code ignored;
        if (!path_.empty())
            std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

// The records and the socket of the process must not be those of the user. A program that goes on
// alone would not wait for the comparison.
std::vector<std::string> away_command(const std::string& directory, bool compares) {
    return {"env",
            "-u",
            "RPMEM_CATCH_UP_RATE",
            compares ? "RPMEM_ON_LOSS=fail" : "RPMEM_ON_LOSS=alone",
            "RPMEM_EQUALIZE=yes",
            "XDG_STATE_HOME=" + directory,
            "XDG_RUNTIME_DIR=" + directory,
            "RPMEM_LOG_FILE=" + directory + "/log",
            fmt::format("/proc/{}/exe", ::getpid()),
            away_half};
}

} // namespace

Result<AwayRound> measure_away_once(const Options& options, bool compares) {
    RPMEM_ASSIGN(const PrivateDirectory directory, PrivateDirectory::make());
    const AwayTask task{
        .target = options.target,
        .pool_set = options.pool_set,
        .directory = directory.path(),
        .pool_size = options.pool_size(),
        .pace = {.nanoseconds =
                     Nanoseconds(milliseconds(std::max(options.milliseconds, min_pace))).count(),
                 .min_operations = 1},
        .compares = compares};
    RPMEM_ASSIGN(SocketPair pair, make_socket_pair());
    const int theirs = pair.theirs.get();
    RPMEM_ASSIGN(ChildProcess process, ChildProcess::start(away_command(directory.path(), compares),
                                                           theirs, theirs, STDERR_FILENO));
    pair.theirs.reset(); // so that reads end when the process ends
    auto round = ask<AwayRound>(pair.ours.get(), task, max_round);
    static_cast<void>(process.wait(Deadline(end_timeout)));
    return round;
}

void serve_away(int input, int output) {
    const auto task = receive<AwayTask>(input, start_timeout);
    if (!task)
        return;
    auto round = task->compares ? measure_comparison(*task) : measure_absence(*task);
    if (!round && round.error().code == ENOTSUP)
        round = AwayRound{.not_supported = round.error().text};
    static_cast<void>(send(output, round));
}

} // namespace rpmem::bench
