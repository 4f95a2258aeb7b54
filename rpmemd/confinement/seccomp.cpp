// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/confinement/seccomp.hpp"

#include "common/base/signal_safe.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace rpmem::target {
namespace {

// Used by rpmemd/pools/files/page_cache.cpp. libseccomp 2.5 does not know the name of this call.
constexpr int cachestat_number = 451;

// clang-format off
constexpr int allowed[] = {
    // The calls of lanes come first. Kernels before 5.11 evaluate the filter in this order for
    // every call. Newer ones do it only for the calls whose arguments the filter checks.
    SCMP_SYS(recvfrom), SCMP_SYS(futex), SCMP_SYS(epoll_wait), SCMP_SYS(msync),
    SCMP_SYS(epoll_pwait), SCMP_SYS(recvmsg), SCMP_SYS(writev),
    // Waiting
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl), SCMP_SYS(eventfd2), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(clock_gettime), SCMP_SYS(restart_syscall),
    // Threads, signals and memory
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu), SCMP_SYS(rseq),
    SCMP_SYS(set_robust_list), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    SCMP_SYS(mincore), cachestat_number, SCMP_SYS(brk),
    // Lanes that connect
    SCMP_SYS(accept4), SCMP_SYS(getsockopt), SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    // Parts, their headers and their names
    SCMP_SYS(close), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
    SCMP_SYS(sync_file_range), SCMP_SYS(fadvise64), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
    SCMP_SYS(fstatfs), SCMP_SYS(readlinkat), SCMP_SYS(getxattr),
    // Requests of the process about itself
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getrandom),
    SCMP_SYS(sysinfo)};

// A confined daemon never makes these calls. A process that does has been taken over.
constexpr int deadly[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(bpf), SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load)};
// clang-format on

// All system calls have lower numbers today. Higher ones share one line of the log.
constexpr std::size_t max_numbers = 512;
// Limits the delay if the log is a pipe that nobody reads.
constexpr int timeout_ms = 100;

struct ViolationLog {
    UniqueFd file;
    std::array<std::string, max_numbers + 1> text; // the last one is for higher numbers
    std::array<std::atomic_flag, max_numbers + 1> is_logged{};
};
// Used by the signal handler. Never deleted, because the filter is active until the process ends.
std::atomic<ViolationLog*> lines = nullptr;

std::unique_ptr<ViolationLog> make_lines(RefusalLog log) {
    auto made = std::make_unique<ViolationLog>();
    made->file = std::move(log.file);
    const pid_t self = ::getpid();
    for (std::size_t number = 0; number <= max_numbers; ++number) {
        const std::unique_ptr<char, decltype(&std::free)> name(
            seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)),
            &std::free);
        made->text[number] = fmt::format(
            "{}rpmemd[{}]: confinement: denied the system call {} (number {}{}), which the daemon "
            "does not need: it has a bug or was taken over; report this\n",
            log.prefix, self, name ? name.get() : "without a name", number,
            number == max_numbers ? " or higher" : "");
    }
    return made;
}

void set_result(void* context, int code) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    registers.gregs[REG_RAX] = -code;
#elif defined(__aarch64__)
    registers.regs[0] = static_cast<std::uint64_t>(-std::int64_t{code});
#else
#error "where does this processor have the result of a system call?"
#endif
}

// Handles SIGSYS, which the kernel sends to the thread instead of making the call. If the filter
// let the call fail directly, only the audit log of the kernel would report it, which only root can
// read.
void refuse(int, siginfo_t* information, void* context) {
    ViolationLog& known = *lines.load();
    const std::size_t number =
        std::min<std::size_t>(static_cast<unsigned>(information->si_syscall), max_numbers);
    const int code = errno;
    if (!known.is_logged[number].test_and_set())
        signal_safe::put(known.file.get(), known.text[number], timeout_ms);
    errno = code;
    set_result(context, EPERM);
}

void handle_refusals(RefusalLog log) {
    lines = make_lines(std::move(log)).release();
    struct sigaction action {};
    action.sa_sigaction = &refuse;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGSYS, &action, nullptr);
}

// Matches if the bits MASK of an argument are VALUE.
scmp_arg_cmp bits(unsigned argument, std::uint64_t mask, std::uint64_t value) {
    return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

// Matches if an argument of type int is VALUE. The kernel ignores the upper 32 bits.
scmp_arg_cmp is(unsigned argument, int value) {
    return bits(argument, UINT32_MAX, static_cast<std::uint32_t>(value));
}

// Collects the rules. After an error, later calls have no effect on the result.
class Filter {
public:
    Filter() : context_(seccomp_init(SCMP_ACT_TRAP), &seccomp_release) {}
    // If a call has several rules, one of them must match.
    void rule(std::uint32_t action, int call, const std::vector<scmp_arg_cmp>& conditions = {}) {
        keep(seccomp_rule_add_array(context_.get(), action, call,
                                    static_cast<unsigned>(conditions.size()), conditions.data()));
    }
    void allow(int call, const std::vector<scmp_arg_cmp>& conditions = {}) {
        rule(SCMP_ACT_ALLOW, call, conditions);
    }
    void prefer(int call, std::uint8_t priority) {
        keep(seccomp_syscall_priority(context_.get(), call, priority));
    }
    void set(scmp_filter_attr attribute, std::uint32_t value) {
        keep(seccomp_attr_set(context_.get(), attribute, value));
    }
    // Returns 0 or a positive errno value.
    int load() {
        if (code_ == 0)
            keep(seccomp_load(context_.get()));
        return -code_;
    }

private:
    void keep(int code) { code_ = code_ == 0 ? code : code_; }

    std::unique_ptr<void, decltype(&seccomp_release)> context_;
    int code_ = 0;
};

void allow_files(Filter& filter, bool may_remove) {
    constexpr unsigned flags = 2; // index of the argument
    // Allow O_PATH descriptors, and directories to be synced. No further file can be read or
    // written.
    constexpr std::uint64_t writing = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
    filter.allow(SCMP_SYS(openat), {bits(flags, O_PATH, O_PATH)});
    filter.allow(SCMP_SYS(openat), {bits(flags, writing | O_DIRECTORY, O_DIRECTORY)});
    if (may_remove)
        filter.allow(SCMP_SYS(unlinkat), {is(flags, 0)}); // no AT_REMOVEDIR
    // After a fault, rpmemd/durability/fault_handler.cpp searches the file for a hole. Digests skip
    // holes, see common/base/file_holes.hpp.
    for (const int whence : {SEEK_HOLE, SEEK_DATA})
        filter.allow(SCMP_SYS(lseek), {is(2, whence)});
    // Allow to set the times of an open file only. A path could lead to any file.
    filter.allow(SCMP_SYS(utimensat), {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = 0, .datum_b = 0}});
    // F_SETOWN is not allowed, because it lets a descriptor send signals to other processes.
    // F_SETFL is not, because without O_APPEND the common log of all sessions could be overwritten.
    for (const int command : {F_DUPFD_CLOEXEC, F_GETFL, F_GETLEASE})
        filter.allow(SCMP_SYS(fcntl), {is(1, command)});
}

// Allows the calls of common/statistics/exposition_file.cpp with the descriptor of its directory.
// Only a new file can be written. Landlock refuses paths that lead to another directory.
void allow_replacement(Filter& filter, int directory) {
    filter.allow(SCMP_SYS(openat),
                 {is(0, directory), is(2, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)});
    filter.allow(SCMP_SYS(renameat), {is(0, directory), is(2, directory)});
    filter.allow(SCMP_SYS(unlinkat), {is(0, directory), is(2, 0)});
}

void allow_sockets(Filter& filter) {
    // Allow to send without an address only. sendmsg(2) and sendmmsg(2) have the address in memory,
    // which a filter cannot read.
    filter.allow(SCMP_SYS(sendto), {{.arg = 4, .op = SCMP_CMP_EQ, .datum_a = 0, .datum_b = 0}});
    filter.prefer(SCMP_SYS(sendto), UINT8_MAX); // called for each ack
    filter.allow(SCMP_SYS(shutdown), {is(1, SHUT_WR)});
    for (const int option : {TCP_NODELAY, TCP_USER_TIMEOUT, TCP_THIN_LINEAR_TIMEOUTS, TCP_KEEPIDLE,
                             TCP_KEEPINTVL, TCP_KEEPCNT})
        filter.allow(SCMP_SYS(setsockopt), {is(1, IPPROTO_TCP), is(2, option)});
    for (const int option : {SO_KEEPALIVE, SO_LINGER, SO_RCVLOWAT})
        filter.allow(SCMP_SYS(setsockopt), {is(1, SOL_SOCKET), is(2, option)});
}

void allow_threads(Filter& filter) {
    constexpr std::uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    constexpr std::uint64_t thread = CLONE_VM | CLONE_THREAD;
    filter.allow(SCMP_SYS(clone), {bits(0, thread | namespaces, thread)});
    // The C library has a fallback for these two calls. They must fail without SIGSYS: the library
    // may make them while all signals are blocked, and then SIGSYS would kill the process. The
    // flags of clone3(2) are in memory, which a filter cannot read.
    filter.rule(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
    filter.rule(SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), {is(0, PR_SET_VMA)});
    filter.allow(SCMP_SYS(tgkill), {is(0, ::getpid())}); // used by abort(3)
    // Memory must not become executable, so no library can be loaded.
    for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
        filter.allow(call, {bits(2, PROT_EXEC, 0)});
}

} // namespace

Result<> restrict_system_calls(const ChangeableFiles& files, RefusalLog log) {
    handle_refusals(std::move(log));
    Filter filter;
    filter.set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    filter.set(SCMP_FLTATR_CTL_TSYNC, 1);
    // Without it, kernels before 5.16 disable speculative store bypass. That slows down the daemon,
    // and protects only against untrusted code in its process. There is none.
    filter.set(SCMP_FLTATR_CTL_SSB, 1);
    std::uint8_t priority = UINT8_MAX - 1;
    for (const int call : allowed) {
        filter.allow(call);
        filter.prefer(call, priority--);
    }
    allow_files(filter, files.may_remove);
    if (files.replaced >= 0)
        allow_replacement(filter, files.replaced);
    // Allow to replace the record of the pool (rpmemd/pools/files/pool_attribute.cpp). A filter
    // sees the descriptor and the flags, but not the name. An attacker who has taken over the
    // daemon can also change other existing attributes of the file with this descriptor, but can
    // write to that file anyway.
    if (files.attributed >= 0)
        filter.allow(SCMP_SYS(fsetxattr), {is(0, files.attributed), is(4, XATTR_REPLACE)});
    allow_sockets(filter);
    allow_threads(filter);
    for (const int call : deadly)
        filter.rule(SCMP_ACT_KILL_PROCESS, call);
    if (const int code = filter.load(); code != 0)
        return fail_errno(ErrorClass::resource_limit, code,
                          "the kernel does not accept the filter of system calls (seccomp)");
    return {};
}

} // namespace rpmem::target
