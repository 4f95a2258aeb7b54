// SPDX-License-Identifier: BSD-3-Clause
// Replaces functions of the C library for processes, signals, time and random numbers, and some of
// the product: see system_functions.cpp.
#include "common/base/log.hpp"
#include "tests/simulation/interposed.hpp"
#include "tests/simulation/sessions/machine.hpp"

#include <linux/futex.h>
#include <pwd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <ctime>

using rpmem::simulation::first_descriptor;
using rpmem::simulation::Machine;
using rpmem::simulation::Process;

namespace {

long to_errno(long result) {
    if (result >= 0)
        return result;
    errno = static_cast<int>(-result);
    return -1;
}

long wait_or_wake(Machine& machine, const std::uintptr_t (&arguments)[6]) {
    const auto* const word = reinterpret_cast<const std::uint32_t*>(arguments[0]);
    if (static_cast<int>(arguments[1]) != FUTEX_WAIT_PRIVATE)
        machine.world().wake_all(); // each fiber checks its own condition
    else if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == static_cast<std::uint32_t>(arguments[2]))
        machine.world().block(machine.world().now() + rpmem::simulation::second);
    return 0;
}

long open_process(Machine& machine, int pid) {
    Process* const process = machine.find_process(pid);
    return process ? machine.system().open_process(*process) : -ESRCH;
}

} // namespace

// The headers of Debian 12 do not have it.
constexpr long cachestat_number = 451;

STANDS_FOR(long, syscall, long number, ...) {
    va_list list;
    va_start(list, number);
    std::uintptr_t arguments[6];
    for (std::uintptr_t& argument : arguments)
        argument = va_arg(list, std::uintptr_t);
    va_end(list);
    Machine* const machine = Machine::current();
    if (machine && number == SYS_futex)
        return wait_or_wake(*machine, arguments);
    if (machine && number == SYS_pidfd_open)
        return to_errno(open_process(*machine, static_cast<int>(arguments[0])));
    if (machine && number == SYS_pidfd_send_signal) {
        machine->kill(*machine->system().process_of(static_cast<int>(arguments[0])));
        return 0;
    }
    if (machine && number == cachestat_number)
        return to_errno(-ENOSYS); // like kernels before 6.5
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}

STANDS_FOR(pid_t, getpid, void) {
    const Machine* const machine = Machine::current();
    return machine ? Machine::current()->world().process()->pid : __real_getpid();
}

STANDS_FOR(std::time_t, time, std::time_t* place) {
    const Machine* const machine = Machine::current();
    if (!machine)
        return __real_time(place);
    if (place)
        *place = machine->seconds();
    return machine->seconds();
}

STANDS_FOR(ssize_t, getrandom, void* place, std::size_t size, unsigned flags) {
    Machine* const machine = Machine::current();
    if (!machine)
        return __real_getrandom(place, size, flags);
    auto* const bytes = static_cast<std::byte*>(place);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(machine->world().random().next());
    return static_cast<ssize_t>(size);
}

// Users have no names in a simulation.
STANDS_FOR(int, getpwuid_r, uid_t user, passwd* entry, char* buffer, std::size_t size,
           passwd** found) {
    if (!Machine::current())
        return __real_getpwuid_r(user, entry, buffer, size, found);
    *found = nullptr;
    return 0;
}

STANDS_FOR(int, signalfd, int fd, const sigset_t* set, int flags) {
    Machine* const machine = Machine::current();
    return machine ? machine->system().open_flag(true) : __real_signalfd(fd, set, flags);
}

// Parts are not changed while a daemon has them open, so inotify(7) is not simulated.
STANDS_FOR(int, inotify_init1, int flags) {
    return Machine::current() ? static_cast<int>(to_errno(-EMFILE)) : __real_inotify_init1(flags);
}
STANDS_FOR(int, inotify_add_watch, int fd, const char* path, std::uint32_t mask) {
    return Machine::current() ? static_cast<int>(to_errno(-EBADF))
                              : __real_inotify_add_watch(fd, path, mask);
}

namespace rpmem::simulation {

// Writes the log without a wait or a lock, so that the history does not depend on the log.
using Write = void(const Log*, LogLevel, std::string_view, std::string_view);
Write real_write __asm__(
    "__real__ZNK5rpmem3Log5writeENS_8LogLevelESt17basic_string_viewIcSt11char_traitsIcEES5_");
Write simulated_write __asm__(
    "__wrap__ZNK5rpmem3Log5writeENS_8LogLevelESt17basic_string_viewIcSt11char_traitsIcEES5_");

void simulated_write(const Log* log, LogLevel level, std::string_view kind, std::string_view text) {
    const Machine* const machine = Machine::current();
    if (!machine)
        return real_write(log, level, kind, text);
    if (!Machine::current()->world().is_in_vacuum())
        fmt::print("                 log of {}: {}\n", Machine::current()->world().process()->name,
                   text);
}

// Replaces the search in /proc/locks.
using Holder = Result<std::optional<pid_t>>(int, int);
Holder real_holder __asm__("__real__ZN5rpmem6target16exclusive_holderEii");
Holder simulated_holder __asm__("__wrap__ZN5rpmem6target16exclusive_holderEii");

Result<std::optional<pid_t>> simulated_holder(int file, int directory) {
    Machine* const machine = Machine::current();
    if (!machine)
        return real_holder(file, directory);
    const auto open = machine->system().file(file);
    const OpenFile* const holder = open ? open->node->exclusive : nullptr;
    return holder ? std::optional(static_cast<pid_t>(holder->owner->pid)) : std::nullopt;
}

} // namespace rpmem::simulation
