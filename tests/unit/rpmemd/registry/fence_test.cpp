// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/fence.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rpmem::target {
namespace {

// Waits for a signal, and tells who it is.
class Child {
public:
    Child() {
        int ends[2];
        if (::pipe(ends) != 0)
            throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            const auto identity = own_identity();
            const std::uint64_t start = identity ? identity->start_time : 0;
            static_cast<void>(::write(ends[1], &start, sizeof(start)) + 1);
            while (true)
                ::pause();
        }
        std::uint64_t start = 0;
        if (::read(ends[0], &start, sizeof(start)) != sizeof(start))
            throw std::runtime_error("no child");
        ::close(ends[0]);
        ::close(ends[1]);
        identity_ = value_of(own_identity());
        identity_.pid = static_cast<std::uint64_t>(pid_);
        identity_.start_time = start;
    }
    ~Child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // It lives, or by which signal it ended.
    [[nodiscard]] int ended_by() const {
        siginfo_t information{};
        EXPECT_EQ(
            ::waitid(P_PID, static_cast<id_t>(pid_), &information, WEXITED | WNOHANG | WNOWAIT), 0);
        return information.si_pid == 0 ? 0 : information.si_status;
    }
    void stop() const { ::kill(pid_, SIGSTOP); }

    [[nodiscard]] const ProcessIdentity& identity() const { return identity_; }

private:
    pid_t pid_ = -1;
    ProcessIdentity identity_;
};

TEST(Fence, EndsTheProcess) {
    for (const bool stopped : {false, true}) {
        const Child child;
        if (stopped)
            child.stop();
        EXPECT_TRUE(succeeded(fence(child.identity())));
        EXPECT_EQ(child.ended_by(), SIGKILL);
        EXPECT_TRUE(succeeded(fence(child.identity()))) << "it has ended already";
    }
}

// What has the number of the process now has begun at another time.
TEST(Fence, LeavesAnotherProcessOfTheSameNumberAlone) {
    const Child child;
    for (const std::uint64_t other :
         {child.identity().start_time - 1, child.identity().start_time + 1, std::uint64_t{0}}) {
        ProcessIdentity identity = child.identity();
        identity.start_time = other;
        EXPECT_TRUE(succeeded(fence(identity)));
        EXPECT_EQ(child.ended_by(), 0);
    }
}

TEST(Fence, DoesNotReachAnotherMachine) {
    const Child child;
    ProcessIdentity identity = child.identity();
    identity.machine = "another";
    EXPECT_TRUE(failed(fence(identity), EBUSY, "another machine"));
    EXPECT_EQ(child.ended_by(), 0);
}

TEST(Fence, NumbersThatNoProcessHasAreNobody) {
    ProcessIdentity identity = value_of(own_identity());
    EXPECT_TRUE(succeeded(fence(identity))) << "this process goes on";
    for (const std::uint64_t pid : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31,
                                    (std::uint64_t{1} << 32) + identity.pid, ~std::uint64_t{0}}) {
        identity.pid = pid;
        EXPECT_TRUE(succeeded(fence(identity)));
    }
}

} // namespace
} // namespace rpmem::target
