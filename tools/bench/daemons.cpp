#include "daemons.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace rpmem::bench {
namespace {

bool is_daemon(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/comm", pid));
    std::string name;
    // A wrapper's name may go on behind that.
    return std::getline(file, name) && name.starts_with("rpmemd");
}

bool has_mark(pid_t pid, const std::string& mark) {
    std::ifstream file(fmt::format("/proc/{}/environ", pid));
    for (std::string variable; std::getline(file, variable, '\0');)
        if (variable == mark)
            return true;
    return false;
}

} // namespace

Daemons Daemons::now() {
    Daemons daemons;
    const char* const value = std::getenv(run_mark);
    const std::string mark = std::string(run_mark) + "=" + (value != nullptr ? value : "");
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        pid_t pid = 0;
        const auto [rest, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (status == std::errc() && rest == name.data() + name.size() && is_daemon(pid) &&
            has_mark(pid, mark))
            daemons.pids_.insert(pid);
    }
    return daemons;
}

pid_t Daemons::only_new_since(const Daemons& before) const {
    pid_t found = 0;
    for (const pid_t pid : pids_) {
        if (before.pids_.contains(pid))
            continue;
        if (found != 0)
            return 0;
        found = pid;
    }
    return found;
}

unsigned threads_of(pid_t pid) {
    if (pid == 0)
        return 0;
    std::error_code error;
    unsigned count = 0;
    for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", pid), error), end;
         !error && entry != end; entry.increment(error))
        ++count;
    return count;
}

} // namespace rpmem::bench
