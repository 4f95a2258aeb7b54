// SPDX-License-Identifier: BSD-3-Clause
// bench: runs rpmem-bench(1) with a temporary pool set.
#include "common/base/child_process.hpp"
#include "common/base/log.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/temporary_set.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace rpmem::ctl {
namespace {

constexpr const char* program = "rpmem-bench";
// More than --sizes below needs.
constexpr std::uint64_t bench_pool_size = std::uint64_t{128} << 20;

// Returns the path of rpmem-bench beside this program, or else its name for a search in PATH.
std::string bench_program() {
    std::error_code error;
    const auto beside =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / program;
    return !error && std::filesystem::exists(beside, error) ? beside.native() : program;
}

} // namespace

int run_benchmark(const Context& context) {
    const TemporarySet set(context, bench_pool_size, true);
    if (set.answer().status != status_done)
        return print_answer(context.command, set.answer(),
                            [](const nlohmann::json&) { return std::string(); });
    std::vector<std::string> arguments = {bench_program(),
                                          context.command.target,
                                          set.name(),
                                          "--cases",
                                          "persist,read",
                                          "--sizes",
                                          "64,4K,1M",
                                          "--lanes",
                                          "1,4",
                                          "--rounds",
                                          "3",
                                          "--time",
                                          "100"};
    if (context.command.json)
        arguments.emplace_back("--json");
    auto child = ChildProcess::start(arguments, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
    if (!child) {
        fmt::print(stderr, "rpmemctl: {}; install rpmem-bench\n", printable(child.error().text));
        return status_failed;
    }
    const auto ended = child->wait(Deadline(work_timeout));
    return ended && ended->code == 0 && ended->signal == 0 ? status_done : status_failed;
}

} // namespace rpmem::ctl
