// SPDX-License-Identifier: BSD-3-Clause
// The real daemon with a handler of SIGUSR1 that attempts to break out of a confined session. It is
// not installed. tests/integration/confinement_test.cpp runs it and compares the outcomes, so a
// call that rpmemd/confinement no longer refuses fails that test.
//   RPMEM_TEST_ESCAPES=NAME,NAME...  the attempts to make on SIGUSR1
//   RPMEM_TEST_ESCAPE_FILES=DIR      DIR/NAME is a file for the attempt NAME
//   RPMEM_TEST_OUTCOMES=FILE         gets a line for each attempt: NAME, a colon, and 0 or the
//                                    errno value; the last line is "end"
//   RPMEM_TEST_SOCKET, RPMEM_TEST_LOG  a datagram socket and a file, see ways.hpp
//   RPMEM_TEST_PORT=PORT             a TCP port that listens on the loopback address
//   RPMEM_TEST_KERNEL_LACKS=WHAT     landlock or seccomp: its system calls fail with ENOSYS
#include "tests/confinement/ways.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string>

namespace {

using rpmem::test::Way;

const pid_t parent = ::getppid(); // a confined session may not call getppid(2)

int error_of(long status) { return status >= 0 ? 0 : errno; }

int open_to_read(const char* path) { return error_of(::open(path, O_RDONLY | O_CLOEXEC)); }

int make(const char* path) {
    return error_of(::open((std::string(path) + ".new").c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

std::string directory_of(const char* path) {
    const std::string text(path);
    return text.substr(0, text.rfind('/'));
}

int list(const char* path) {
    return error_of(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int make_unnamed(const char* path) {
    return error_of(::open(directory_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

// Opens the file again by a descriptor of O_PATH, which gives no access to its data.
int reopen(const char* path) {
    const int fd = ::open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return ENOTRECOVERABLE; // no test expects it, because O_PATH is allowed
    return open_to_read(("/proc/self/fd/" + std::to_string(fd)).c_str());
}

int execute(const char*) {
    char* arguments[] = {nullptr};
    return error_of(::execve("/bin/true", arguments, arguments));
}

int fork_a_process(const char*) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    return error_of(child);
}

// Like fork_a_process(), but by clone(2) itself, whatever call the C library uses for fork(3).
int clone_a_process(const char*) {
    const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0)
        ::_exit(0);
    return error_of(child);
}

sockaddr_in somebody() {
    const char* const port = std::getenv("RPMEM_TEST_PORT");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port ? port : "0")));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int connect_out(const char*) {
    const sockaddr_in address = somebody();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    return error_of(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}

int listen_anew(const char*) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno : error_of(::listen(fd, 1));
}

// Connects by TCP Fast Open. Standard input is no TCP socket, so the call never succeeds.
int send_to_somebody(const char*) {
    const sockaddr_in address = somebody();
    return error_of(::sendto(STDIN_FILENO, "x", 1, MSG_FASTOPEN,
                             reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}

int run_new_code(const char*) {
    constexpr std::size_t page = 4096;
    return ::mmap(nullptr, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0) != MAP_FAILED
               ? 0
               : errno;
}

int run_written_memory(const char*) {
    constexpr std::size_t page = 4096;
    void* const memory =
        ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return error_of(::mprotect(memory, page, PROT_READ | PROT_EXEC));
}

int read_another_process(const char*) {
    char byte = 0;
    iovec place{&byte, 1};
    return error_of(::process_vm_readv(parent, &place, 1, &place, 1, 0));
}

// Makes the kernel send the signals of a descriptor to another process.
int signal_by_descriptor(const char*) { return error_of(::fcntl(0, F_SETOWN, parent)); }

constexpr Way ways[] = {
    {"read", [](const char*) { return open_to_read("/etc/passwd"); }},
    {"write", [](const char* path) { return error_of(::open(path, O_WRONLY | O_CLOEXEC)); }},
    {"make", make},
    {"make_unnamed", make_unnamed},
    {"list", list},
    {"reopen", reopen},
    {"remove", [](const char* path) { return error_of(::unlink(path)); }},
    {"remove_at", [](const char* path) { return error_of(::unlinkat(AT_FDCWD, path, 0)); }},
    {"remove_directory",
     [](const char* path) { return error_of(::unlinkat(AT_FDCWD, path, AT_REMOVEDIR)); }},
    {"rename",
     [](const char* path) {
         return error_of(::rename(path, (std::string(path) + ".moved").c_str()));
     }},
    {"truncate", [](const char* path) { return error_of(::truncate(path, 0)); }},
    {"chmod", [](const char* path) { return error_of(::chmod(path, 0777)); }},
    {"exec", execute},
    {"ptrace", [](const char*) { return error_of(::ptrace(PTRACE_TRACEME, 0, 0, 0)); }},
    {"process_vm_readv", read_another_process},
    {"fork", fork_a_process},
    {"clone", clone_a_process},
    {"new_namespace", [](const char*) { return error_of(::unshare(CLONE_NEWUSER)); }},
    {"connect", connect_out},
    {"listen", listen_anew},
    {"send_to", send_to_somebody},
    {"mmap_code", run_new_code},
    {"mprotect_code", run_written_memory},
    {"kill", [](const char*) { return error_of(::kill(parent, 0)); }},
    {"tgkill", [](const char*) { return error_of(::syscall(SYS_tgkill, parent, parent, 0)); }},
    {"signal_by_descriptor", signal_by_descriptor},
    {"io_uring", [](const char*) { return error_of(::syscall(SYS_io_uring_setup, 1, nullptr)); }},
};

// Makes the attempt NAME with the file PATH. Returns 0 if it succeeds, its errno value if it fails,
// and -1 if there is none of that name. Does not return if the kernel kills the process.
int try_to_leave(const std::string& name, const std::string& path) {
    for (const std::span<const Way> table :
         {std::span<const Way>(ways), rpmem::test::hostile_arguments()})
        for (const Way& way : table)
            if (way.name == name)
                return way.try_it(path.c_str());
    return -1;
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

// The input of the signal handler. It is made before the session is confined.
struct Plan {
    std::string names = variable("RPMEM_TEST_ESCAPES");
    std::string files = variable("RPMEM_TEST_ESCAPE_FILES");
    int outcomes = ::open(variable("RPMEM_TEST_OUTCOMES").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
};

const Plan& plan() {
    static const Plan once;
    return once;
}

void tell(const std::string& line) {
    if (::write(plan().outcomes, line.data(), line.size()) < 0)
        std::abort();
}

// The signal handler. It may allocate memory only because the signal arrives while the control loop
// waits.
void leave(int) {
    const int code = errno;
    std::istringstream names(plan().names);
    for (std::string name; std::getline(names, name, ',');)
        tell(fmt::format("{}: {}\n", name, try_to_leave(name, plan().files + "/" + name)));
    tell("end\n");
    errno = code;
}

// Adds a filter by which the system calls of WHAT fail with ENOSYS. So the daemon makes its real
// calls, and handles their failure.
void take_from_kernel(const std::string& what) {
    const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
    const std::uint32_t missing = SCMP_ACT_ERRNO(ENOSYS);
    int code = 0;
    if (what == "landlock")
        code = ::seccomp_rule_add(filter, missing, SCMP_SYS(landlock_create_ruleset), 0);
    if (what == "seccomp") {
        code = ::seccomp_rule_add(filter, missing, SCMP_SYS(seccomp), 0);
        const scmp_arg_cmp of_seccomp{
            .arg = 0, .op = SCMP_CMP_EQ, .datum_a = PR_SET_SECCOMP, .datum_b = 0};
        code += ::seccomp_rule_add_array(filter, missing, SCMP_SYS(prctl), 1, &of_seccomp);
    }
    if (code != 0 || ::seccomp_load(filter) != 0)
        std::abort();
    ::seccomp_release(filter);
}

struct Hook {
    Hook() {
        static_cast<void>(rpmem::test::own_descriptors());
        if (!plan().names.empty())
            std::signal(SIGUSR1, leave);
        if (const std::string what = variable("RPMEM_TEST_KERNEL_LACKS"); !what.empty())
            take_from_kernel(what);
    }
} hook;

} // namespace
