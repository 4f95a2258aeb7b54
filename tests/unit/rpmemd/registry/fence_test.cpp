// SPDX-License-Identifier: BSD-3-Clause
// Tests fence(), which kills the daemon of a session, with child processes that lock files. The
// test fails if the process that holds the lock survives, even if it was stopped, or if a process
// is killed that does not hold it, whatever the file contains.
#include "rpmemd/registry/fence.hpp"
#include "rpmemd/registry/lock_holder.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rpmem::target {
namespace {

// A process that waits for a signal, with the file of a session or without one.
class Child {
public:
    explicit Child(const StateDirectory* directory) {
        int ends[2];
        if (::pipe(ends) != 0)
            throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            std::optional<StateFile> file;
            if (directory)
                file = value_of(make_session_file(*directory, session_record()));
            static_cast<void>(::write(ends[1], "r", 1) + 1);
            while (true)
                ::pause();
        }
        char ready = 0;
        if (::read(ends[0], &ready, 1) != 1)
            throw std::runtime_error("no child");
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~Child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // Returns the signal that ended the process, or 0 if it is alive.
    [[nodiscard]] int ended_by() const {
        siginfo_t information{};
        EXPECT_EQ(
            ::waitid(P_PID, static_cast<id_t>(pid_), &information, WEXITED | WNOHANG | WNOWAIT), 0);
        return information.si_pid == 0 ? 0 : information.si_status;
    }
    void stop() const { ::kill(pid_, SIGSTOP); }
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_ = -1;
};

class Fence : public StateDirectoryTest {
protected:
    [[nodiscard]] StateFile only_file() const {
        const auto names = directory_.names("session-");
        EXPECT_EQ(names.size(), 1U);
        return value_of(StateFile::open(directory_, names.at(0)));
    }

    const StateDirectory directory_ = directory();
};

TEST_F(Fence, EndsTheProcessThatHoldsTheFile) {
    for (const bool stopped : {false, true}) {
        const Child bystander(nullptr);
        const Child holder(&directory_);
        if (stopped)
            holder.stop();
        const StateFile file = only_file();
        EXPECT_EQ(value_of(exclusive_holder(file.fd(), directory_.fd())), holder.pid());
        EXPECT_TRUE(succeeded(fence(directory_, file)));
        EXPECT_EQ(holder.ended_by(), SIGKILL);
        EXPECT_EQ(bystander.ended_by(), 0);
        EXPECT_TRUE(succeeded(fence(directory_, file))) << "it has ended already";
        remove_ended_sessions(directory_);
    }
}

// Earlier versions used a process ID in the file, which a compromised daemon could write.
TEST_F(Fence, DoesNotBelieveTheFile) {
    const Child victim(nullptr);
    auto file = value_of(make_session_file(directory_, session_record()));
    std::ofstream(path_ / directory_.names("session-").at(0))
        << "{\"pid\":" << victim.pid() << ",\"start_time\":1}";
    EXPECT_TRUE(succeeded(fence(directory_, only_file()))) << "this process holds it, and goes on";
    EXPECT_EQ(victim.ended_by(), 0);
}

// A process that checks whether a session is alive must not be taken for its daemon.
TEST_F(Fence, ALookIsNoHolder) {
    static_cast<void>(value_of(StateFile::make(directory_, "session-1")));
    const StateFile looks = only_file();
    EXPECT_TRUE(looks.is_unlocked());
    EXPECT_EQ(value_of(exclusive_holder(only_file().fd(), directory_.fd())), std::nullopt);
}

} // namespace
} // namespace rpmem::target
