// SPDX-License-Identifier: BSD-3-Clause
// Tests that the library leaves the state of the application's process alone: signal dispositions
// and mask, rounding, locale and environment, before, while and after a real pool is open. The test
// runs in its own process, because a library that is loaded may change state only once. A handler
// that the library or one of its dependencies installs and keeps makes it fail.
#include "tests/integration/environment.hpp"

#include <unistd.h>

#include <cfenv>
#include <clocale>

namespace rpmem::test {
namespace {

void handle(int) {}
void handle_with_details(int, siginfo_t*, void*) {}

// libc adds this flag, SA_RESTORER, whenever it sets a disposition.
constexpr int of_libc = 0x04000000;

// Sets cannot be compared byte by byte, because libc initialises only a part of them.
std::vector<int> members(const sigset_t& set) {
    std::vector<int> signals;
    for (int signal = 1; signal < NSIG; ++signal)
        if (sigismember(&set, signal) == 1)
            signals.push_back(signal);
    return signals;
}

// Returns the control bits of the floating-point unit, without its status flags.
unsigned floating_point_control() {
#ifdef __SSE__
    return __builtin_ia32_stmxcsr() & ~0x3fU;
#else
    return 0;
#endif
}

struct State {
    std::array<struct sigaction, NSIG> dispositions{};
    sigset_t mask{};
    int rounding = std::fegetround();
    unsigned control = floating_point_control();
    std::string locale = std::setlocale(LC_ALL, nullptr);
    std::vector<std::string> environment;

    State() {
        for (int signal = 1; signal < NSIG; ++signal)
            ::sigaction(signal, nullptr, &dispositions[static_cast<std::size_t>(signal)]);
        EXPECT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
        for (char** variable = environ; *variable; ++variable)
            environment.emplace_back(*variable);
    }
};

void expect_same(const State& before, const State& now) {
    for (std::size_t signal = 1; signal < NSIG; ++signal) {
        const auto& old = before.dispositions[signal];
        const auto& current = now.dispositions[signal];
        EXPECT_EQ(old.sa_handler, current.sa_handler) << "of signal " << signal;
        EXPECT_EQ(old.sa_flags & ~of_libc, current.sa_flags & ~of_libc) << "of signal " << signal;
        EXPECT_EQ(members(old.sa_mask), members(current.sa_mask)) << "of signal " << signal;
    }
    EXPECT_EQ(members(before.mask), members(now.mask));
    EXPECT_EQ(before.rounding, now.rounding);
    EXPECT_EQ(before.control, now.control);
    EXPECT_EQ(before.locale, now.locale);
    EXPECT_EQ(before.environment, now.environment);
}

class ProcessState : public PoolTest {};

// Some signals have handlers of the application, some are ignored, and the others have the
// disposition that they had when the process began.
TEST_F(ProcessState, IsTheApplications) {
    ASSERT_NE(std::setlocale(LC_ALL, "C.UTF-8"), nullptr);
    ASSERT_NE(std::signal(SIGINT, handle), SIG_ERR);
    ASSERT_NE(std::signal(SIGPIPE, SIG_IGN), SIG_ERR);
    struct sigaction detailed {};
    detailed.sa_sigaction = handle_with_details;
    detailed.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    ASSERT_EQ(::sigaction(SIGBUS, &detailed, nullptr), 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, nullptr), 0);

    const State before;
    for (const bool exists : {false, true}) {
        RPMEMpool* pool = exists ? opened(2) : created(2);
        expect_same(before, State());
        for (const unsigned lane : {0U, 1U})
            EXPECT_TRUE(succeeded(rpmem_persist(pool, header_size, 1000, lane, 0)));
        expect_same(before, State());
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
        expect_same(before, State());
    }
}

} // namespace
} // namespace rpmem::test
