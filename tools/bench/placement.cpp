#include "placement.hpp"

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

Apart::Apart(std::span<const pid_t> daemons) : daemons_(daemons.begin(), daemons.end()) {
    if (daemons_.empty())
        return;
    const cpu_set_t own = processor_of(Side::asking, allowed_);
    (void)sched_setaffinity(0, sizeof(own), &own);
    for (const pid_t daemon : daemons_)
        place(daemon, processor_of(Side::answering, allowed_));
}

Apart::~Apart() {
    if (daemons_.empty())
        return;
    (void)sched_setaffinity(0, sizeof(allowed_), &allowed_);
    for (const pid_t daemon : daemons_)
        place(daemon, allowed_);
}

} // namespace rpmem::bench
