// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/processes.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace rpmem::bench {
namespace {

// Returns whether PID is a daemon with MARK in its environment. Its name only has to begin with
// rpmemd, because a wrapper may have a longer name.
bool is_daemon(pid_t pid, const std::string& mark) {
    std::ifstream name(fmt::format("/proc/{}/comm", pid));
    std::ifstream variables(fmt::format("/proc/{}/environ", pid));
    std::string text;
    if (!std::getline(name, text) || !text.starts_with("rpmemd"))
        return false;
    while (text != mark && std::getline(variables, text, '\0')) {
    }
    return text == mark;
}

// Returns whether LINE, "ADDRESSES PERMISSIONS ..." in /proc/PID/smaps, begins a shared mapping of
// a file. The kernel shows shared memory as a deleted file.
bool maps_pool(const std::string& line) {
    return line.substr(0, line.find(' ') + 5).ends_with('s') && !line.ends_with("(deleted)");
}

// Returns one processor of ALLOWED, which differs between the sides. Returns ALLOWED if it has
// fewer than two.
cpu_set_t processor_of(Side side, const cpu_set_t& allowed) {
    if (CPU_COUNT(&allowed) < 2)
        return allowed;
    int cpu = side == Side::asking ? 0 : CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &allowed))
        cpu += side == Side::asking ? 1 : -1;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(cpu, &chosen);
    return chosen;
}

} // namespace

std::vector<pid_t> numbered_entries(const std::string& directory) {
    std::vector<pid_t> numbers;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const char* const behind = name.data() + name.size();
        pid_t number = 0;
        if (std::from_chars(name.data(), behind, number).ptr == behind)
            numbers.push_back(number);
    }
    return numbers;
}

std::set<pid_t> daemons_now() {
    const char* const value = std::getenv(run_mark);
    const std::string mark = fmt::format("{}={}", run_mark, value != nullptr ? value : "");
    std::set<pid_t> daemons;
    for (const pid_t pid : numbered_entries("/proc"))
        if (is_daemon(pid, mark))
            daemons.insert(pid);
    return daemons;
}

pid_t only_new_since(const std::set<pid_t>& before) {
    std::set<pid_t> daemons = daemons_now();
    std::erase_if(daemons, [&](pid_t pid) { return before.contains(pid); });
    return daemons.size() == 1 ? *daemons.begin() : 0;
}

Result<std::uint64_t> private_memory_of(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/smaps", pid));
    if (pid == 0 || !file)
        return fail(ErrorClass::resource_limit, ESRCH,
                    "the pages of the target's rpmemd cannot be counted: there is not exactly one, "
                    "or its smaps cannot be read");
    std::uint64_t kibibytes = 0;
    bool counts = true;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string first;
        std::uint64_t value = 0;
        fields >> first;
        if (!first.ends_with(':'))
            counts = !maps_pool(line);
        else if (counts && first.starts_with("Private_") && fields >> value)
            kibibytes += value;
    }
    return kibibytes << 10;
}

cpu_set_t allowed_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    (void)sched_getaffinity(0, sizeof(allowed), &allowed);
    return allowed;
}

void place(pid_t process, Side side, bool apart, const cpu_set_t& allowed) {
    const cpu_set_t chosen = apart ? processor_of(side, allowed) : allowed;
    for (const pid_t thread : numbered_entries(fmt::format("/proc/{}/task", process)))
        (void)sched_setaffinity(thread, sizeof(chosen), &chosen);
}

} // namespace rpmem::bench
