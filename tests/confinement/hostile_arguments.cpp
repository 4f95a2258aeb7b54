// SPDX-License-Identifier: BSD-3-Clause
// Attempts to break out by the arguments of system calls. Each call that the filter of
// rpmemd/confinement/seccomp.cpp allows with certain arguments only is made with others, and
// not_listed() makes every call that is not in `listed`. The outcome is not EPERM if a condition of
// the filter is missing, as for the upper bits of an argument, or if it allows a further call. A
// call that it shall allow must be added here.
#include "tests/confinement/ways.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace rpmem::test {
namespace {

constexpr long high_bit = 1L << 32; // the kernel ignores it in an argument that is an int

// The filter makes a call fail with EPERM. Most of these calls do not fail with it by themselves.
// Some do for users other than root, like reboot(2) in not_listed(), so that only root can tell
// whether the filter allows them.
bool is_refused(long status) { return status < 0 && errno == EPERM; }

// Returns EPERM if all calls were refused, else 0.
int outcome_of_all(std::initializer_list<std::function<long()>> calls) {
    return std::ranges::all_of(calls, [](const auto& call) { return is_refused(call()); }) ? EPERM
                                                                                           : 0;
}

int error_of(long status) { return status >= 0 ? 0 : errno; }

struct NamedMessage {
    NamedMessage() {
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, own_descriptors().socket_path.c_str(),
                     sizeof(address.sun_path) - 1);
        header.msg_name = &address;
        header.msg_namelen = sizeof(address);
        header.msg_iov = &piece;
        header.msg_iovlen = 1;
    }
    sockaddr_un address{};
    char text[2] = "x";
    iovec piece{text, 1};
    msghdr header{};
};

int send_message_to_name(const char*) {
    const NamedMessage message;
    return error_of(::sendmsg(own_descriptors().datagrams, &message.header, MSG_NOSIGNAL));
}

int send_messages_to_name(const char*) {
    const NamedMessage message;
    mmsghdr one{message.header, 0};
    return error_of(::sendmmsg(own_descriptors().datagrams, &one, 1, MSG_NOSIGNAL));
}

int send_to_name(const char*) {
    const NamedMessage message;
    return error_of(::sendto(own_descriptors().datagrams, "x", 1, MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&message.address),
                             sizeof(message.address)));
}

int overwrite_log(const char*) { return error_of(::fcntl(own_descriptors().appended, F_SETFL, 0)); }

int overwrite_log_by_high_bits(const char*) {
    return error_of(::syscall(SYS_fcntl, own_descriptors().appended, high_bit | F_SETFL, 0));
}

int other_commands_of_fcntl(const char*) {
    for (int command = 0; command < 1100; ++command)
        if (command != F_GETFL && command != F_DUPFD_CLOEXEC && command != F_GETLEASE &&
            !is_refused(::fcntl(own_descriptors().datagrams, command, 0)))
            return 0;
    return EPERM;
}

// The daemon may only replace an existing attribute, which contains the record of the pool, and
// only that of the first part.
int other_attributes(const char*) {
    const char* const name = "user.rpmem.test";
    const auto set = [name](int fd, int flags) { return ::fsetxattr(fd, name, "x", 1, flags); };
    return outcome_of_all({[&] { return set(own_descriptors().appended, XATTR_REPLACE); },
                           [&] { return set(own_descriptors().appended, 0); },
                           [&] { return set(own_descriptors().datagrams, XATTR_CREATE); }});
}

int requests_of_ioctl(const char*) {
    int number = 0;
    return outcome_of_all(
        {[&] { return ::ioctl(0, TIOCSTI, "x"); }, [&] { return ::ioctl(0, FIONREAD, &number); },
         [&] { return ::ioctl(own_descriptors().datagrams, FIOASYNC, &number); }});
}

int flags_of_open(const char* path) {
    for (const long flags :
         {long{O_RDONLY}, long{O_WRONLY}, long{O_RDWR}, long{O_ACCMODE}, long{O_TMPFILE | O_RDWR},
          long{O_DIRECTORY | O_CREAT}, long{O_DIRECTORY | O_WRONLY},
          long{O_CREAT | O_WRONLY | O_EXCL}, long{O_TRUNC | O_WRONLY}, high_bit | O_RDONLY,
          long{O_APPEND | O_WRONLY}})
        if (!is_refused(::syscall(SYS_openat, AT_FDCWD, path, flags, 0600)))
            return 0;
    return EPERM;
}

// The filter allows this call. With O_PATH the kernel ignores O_CREAT, so no file is made.
int make_by_path_flag(const char* path) {
    const std::string made = std::string(path) + ".new";
    return error_of(::open(made.c_str(), O_PATH | O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

int options_of_sockets(const char*) {
    const int value = 1;
    const auto refused = [&](int level, int name) {
        return is_refused(
            ::setsockopt(own_descriptors().datagrams, level, name, &value, sizeof(value)));
    };
    for (int name = 0; name < 128; ++name)
        if ((name != SO_KEEPALIVE && name != SO_LINGER && name != SO_RCVLOWAT &&
             !refused(SOL_SOCKET, name)) ||
            !refused(IPPROTO_IP, name) || !refused(IPPROTO_IPV6, name))
            return 0;
    return refused(IPPROTO_TCP, TCP_ULP) && refused(IPPROTO_TCP, TCP_REPAIR) ? EPERM : 0;
}

int ends_of_sockets(const char*) {
    return outcome_of_all({[] { return ::shutdown(own_descriptors().datagrams, SHUT_RD); },
                           [] { return ::shutdown(own_descriptors().datagrams, SHUT_RDWR); }});
}

int memory_with_code(const char*) {
    constexpr std::size_t page = 4096;
    const auto map = [](long protection, int flags) {
        return ::syscall(SYS_mmap, nullptr, page, protection, flags, -1, 0);
    };
    alignas(page) static std::array<char, page> own;
    return outcome_of_all(
        {[&] { return map(PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS); },
         [&] { return map(PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS); },
         [&] { return map(high_bit | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS); },
         [&] { return ::syscall(SYS_mprotect, own.data(), page, PROT_READ | PROT_EXEC); },
         [&] { return ::syscall(SYS_mprotect, own.data(), page, high_bit | PROT_EXEC); }});
}

int options_of_prctl(const char*) {
    for (int option = 0; option < 128; ++option)
        if (!is_refused(::syscall(SYS_prctl, option, -1L, -1L, -1L, -1L)))
            return 0;
    return EPERM;
}

int time_by_name(const char* path) { return error_of(::utimensat(AT_FDCWD, path, nullptr, 0)); }

int remove_with_flags(const char* path) {
    return outcome_of_all(
        {[&] { return ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR); },
         [&] { return ::syscall(SYS_unlinkat, AT_FDCWD, path, high_bit | AT_REMOVEDIR); }});
}

int rename_at(const char* path) {
    const std::string moved = std::string(path) + ".moved";
    return error_of(::syscall(SYS_renameat, AT_FDCWD, path, AT_FDCWD, moved.c_str()));
}

// Makes a process, or a thread in a namespace of its own. The call gives the child no stack, so it
// must only be made under the filter.
int flags_of_clone(const char*) {
    constexpr long thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    for (const long flags :
         {long{0}, long{CLONE_VM}, long{CLONE_VM | CLONE_VFORK}, thread | CLONE_NEWUSER,
          thread | CLONE_NEWNS, thread | CLONE_NEWPID, thread | CLONE_NEWNET, thread | CLONE_NEWUTS,
          thread | CLONE_NEWIPC, thread | CLONE_NEWCGROUP, high_bit | CLONE_VM})
        if (!is_refused(::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr)))
            return 0;
    return EPERM;
}

// The calls that not_listed() does not make. The first ones have a function in this file or in
// confined_daemon.cpp, except clone3(2), which the filter refuses with ENOSYS.
constexpr long listed[] = {
    SYS_fcntl, SYS_fsetxattr, SYS_openat, SYS_setsockopt, SYS_shutdown, SYS_mmap, SYS_mprotect,
    SYS_prctl, SYS_utimensat, SYS_unlinkat, SYS_renameat, SYS_clone, SYS_clone3, SYS_sendto,
    SYS_tgkill,
    // The filter allows these with any arguments. They only use open descriptors, memory and
    // threads of the daemon, and clocks, or return facts about files.
    SYS_recvfrom, SYS_futex, SYS_msync, SYS_epoll_pwait, SYS_recvmsg, SYS_writev, SYS_read,
    SYS_write, SYS_ppoll, SYS_epoll_create1, SYS_epoll_ctl, SYS_eventfd2, SYS_clock_nanosleep,
    SYS_nanosleep, SYS_clock_gettime, SYS_restart_syscall, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_getcpu, SYS_rseq, SYS_set_robust_list, SYS_exit, SYS_exit_group, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_munmap,
    SYS_mremap, SYS_madvise, SYS_mincore, 451 /* cachestat */, SYS_brk, SYS_accept4, SYS_getsockopt,
    SYS_getsockname, SYS_getpeername, SYS_close, SYS_pread64, SYS_pwrite64, SYS_fsync,
    SYS_fdatasync, SYS_sync_file_range, SYS_fadvise64, SYS_fstat, SYS_newfstatat, SYS_fstatfs,
    SYS_readlinkat, SYS_getxattr, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getrandom,
    SYS_sysinfo,
#ifdef SYS_epoll_wait // missing on AArch64
    SYS_epoll_wait, SYS_poll,
#endif
#ifdef __x86_64__
    335 /* uretprobe */, 336 /* uprobe */, // not filtered; they kill a process without probes
#endif
    // The filter kills a process that makes one of these.
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_pidfd_getfd, SYS_bpf, SYS_userfaultfd, SYS_io_uring_setup, SYS_unshare, SYS_setns,
    SYS_init_module, SYS_finit_module, SYS_kexec_load, SYS_kexec_file_load};

// Returns the number of the first call that was not refused, plus 1000.
int not_listed(const char*) {
    for (long number = 0; number < 512; ++number)
        if (std::ranges::find(listed, number) == std::end(listed) &&
            !is_refused(::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L)))
            return 1000 + static_cast<int>(number);
    return EPERM;
}

constexpr Way ways[] = {
    {"send_message_to_name", send_message_to_name},
    {"send_messages_to_name", send_messages_to_name},
    {"send_to_name", send_to_name},
    {"overwrite_log", overwrite_log},
    {"overwrite_log_by_high_bits", overwrite_log_by_high_bits},
    {"other_commands_of_fcntl", other_commands_of_fcntl},
    {"other_attributes", other_attributes},
    {"requests_of_ioctl", requests_of_ioctl},
    {"flags_of_open", flags_of_open},
    {"make_by_path_flag", make_by_path_flag},
    {"options_of_sockets", options_of_sockets},
    {"ends_of_sockets", ends_of_sockets},
    {"memory_with_code", memory_with_code},
    {"options_of_prctl", options_of_prctl},
    {"time_by_name", time_by_name},
    {"remove_with_flags", remove_with_flags},
    {"rename_at", rename_at},
    {"flags_of_clone", flags_of_clone},
    {"not_listed", not_listed},
};

} // namespace

std::span<const Way> hostile_arguments() { return ways; }

const OwnDescriptors& own_descriptors() {
    static const OwnDescriptors once = [] {
        const auto variable = [](const char* name) {
            const char* const value = std::getenv(name);
            return std::string(value ? value : "");
        };
        return OwnDescriptors{
            ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
            ::open(variable("RPMEM_TEST_LOG").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC),
            variable("RPMEM_TEST_SOCKET")};
    }();
    return once;
}

} // namespace rpmem::test
