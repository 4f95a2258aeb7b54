#include "tools/bench/daemons.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
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

// LINE of /proc/PID/smaps begins the mapping of a file that others may map, too. Memory that is
// shared has no file, or one that is gone.
bool maps_pool(const std::string& line) {
    std::istringstream fields(line);
    std::string range;
    std::string permissions;
    std::string offset;
    std::string device;
    std::string inode;
    std::string path;
    fields >> range >> permissions >> offset >> device >> inode >> std::ws;
    std::getline(fields, path);
    struct stat found {};
    return permissions.ends_with('s') && ::stat(path.c_str(), &found) == 0 &&
           (S_ISREG(found.st_mode) || path.starts_with("/dev/dax"));
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
