#include "tools/bench/placement.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace rpmem::bench {
namespace {

namespace fs = std::filesystem;

// All threads of PROCESS.
void place(pid_t process, const cpu_set_t& processors) {
    std::error_code error;
    for (fs::directory_iterator entry(fmt::format("/proc/{}/task", process), error), end;
         !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        pid_t thread = 0;
        std::from_chars(name.data(), name.data() + name.size(), thread);
        if (thread > 0)
            (void)sched_setaffinity(thread, sizeof(processors), &processors);
    }
}

} // namespace

cpu_set_t allowed_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    (void)sched_getaffinity(0, sizeof(allowed), &allowed);
    return allowed;
}

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

void place_itself(Side side, bool apart, const cpu_set_t& allowed) {
    const cpu_set_t chosen = apart ? processor_of(side, allowed) : allowed;
    (void)sched_setaffinity(0, sizeof(chosen), &chosen);
}

Apart::Apart(pid_t daemon) : daemon_(daemon) {
    if (daemon_ == 0)
        return;
    place_itself(Side::asking, true, allowed_);
    place(daemon_, processor_of(Side::answering, allowed_));
}

Apart::~Apart() {
    if (daemon_ == 0)
        return;
    place_itself(Side::asking, false, allowed_);
    place(daemon_, allowed_);
}

} // namespace rpmem::bench
