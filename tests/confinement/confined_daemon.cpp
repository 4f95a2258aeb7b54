// Makes a daemon for tests of the real one: within a session it tries to leave. The daemon that is
// installed has nothing of this.
//   RPMEM_TEST_ESCAPES=NAME,NAME...  the ways out that it tries on SIGUSR1, see escapes.cpp
//   RPMEM_TEST_ESCAPE_FILES=DIR      DIR/NAME is a file that the way NAME may use
//   RPMEM_TEST_OUTCOMES=FILE         gets a line for each: NAME, a colon, and 0 or the errno value;
//                                    behind them: end
//   RPMEM_TEST_KERNEL_LACKS=WHAT     landlock or seccomp: the kernel behaves as if it had none
#include "tests/confinement/escapes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

// What the handler of the signal uses, all of it made before the session is confined.
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

// Allocates, as a handler should not: the signal comes while the control loop waits.
void leave(int) {
    const int code = errno;
    std::istringstream names(plan().names);
    for (std::string name; std::getline(names, name, ',');)
        tell(fmt::format("{}: {}\n", name,
                         rpmem::test::try_to_leave(name, plan().files + "/" + name)));
    tell("end\n");
    errno = code;
}

// By the kernel's own means: what is tried in vain is the real system call.
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
        if (!plan().names.empty())
            std::signal(SIGUSR1, leave);
        if (const std::string what = variable("RPMEM_TEST_KERNEL_LACKS"); !what.empty())
            take_from_kernel(what);
    }
} hook;

} // namespace
