// SPDX-License-Identifier: BSD-3-Clause
// Tests the real daemon with valid requests in a faulty environment: a wrong SSH_CONNECTION, pipes
// that nobody reads, signals, a sync that fails, no lanes, no signalfd, and a pool in use. The test
// fails if the daemon hangs, ends with the wrong status or without a log, keeps a pool or a lock,
// or if other processes of the user can read its memory.
#include "tests/hostile/hostile_session.hpp"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <thread>

namespace rpmem::hostile {
namespace {

using wire::Status;

class Surroundings : public HostileTest {
protected:
    // Runs a session that gets BYTES. After EXPECTED_OUTPUT bytes of output calls STEP, which must
    // make the daemon end.
    template <typename Step>
    void disturbed(const wire::Bytes& bytes, std::size_t expected_output, Step step) {
        directory_.remove_log();
        DaemonProcess daemon = started();
        EXPECT_TRUE(daemon.send(bytes));
        EXPECT_EQ(daemon.receive(expected_output).size(), expected_output);
        step(daemon);
        expect_status(daemon.wait(), 1);
        EXPECT_EQ(directory_.damage(), "");
        EXPECT_NE(directory_.read_log(), "");
    }
};

constexpr std::size_t size_of_status_and_create_response = 4 + 44;
constexpr std::size_t size_of_status_and_open_response = 4 + 148;

TEST_F(Surroundings, SshConnectionThatMakesNoSense) {
    for (const std::optional<std::string>& connection : std::vector<std::optional<std::string>>{
             std::nullopt, "", "127.0.0.1 1", "127.0.0.1 1 no.such.address.invalid 22",
             "1 2 " + std::string(100000, '9') + " 4"}) {
        SCOPED_TRACE(connection.value_or("(not set)").substr(0, 60));
        directory_.remove_log();
        DaemonProcess daemon(directory_.daemon_arguments(), directory_.path(), connection);
        EXPECT_TRUE(daemon.send(encode(create_request())));
        const Ending ending = daemon.wait();
        expect_status(ending, 0);
        const auto responses = parse_output(ending.output);
        ASSERT_EQ(responses.size(), 1U);
        EXPECT_NE(responses[0].status, Status::success);
        EXPECT_EQ(directory_.damage(), "");
        EXPECT_NE(directory_.read_log(), "");
    }
}

TEST_F(Surroundings, NobodyReadsTheAnswer) {
    for (const auto& message : {encode(create_request()), encode(open_request())}) {
        directory_.remove_log();
        DaemonProcess daemon = started();
        EXPECT_EQ(daemon.receive(4).size(), 4U); // the initial status
        daemon.close_output();
        EXPECT_TRUE(daemon.send(message));
        expect_status(daemon.wait(), 1); // its input is still open
        EXPECT_EQ(directory_.damage(), "");
        EXPECT_NE(directory_.read_log(), "");
    }
}

// The recorder makes the second fdatasync(2) in the directory of the parts fail.
TEST_F(Surroundings, AHeaderThatCannotBeSyncedMakesNoPool) {
    const auto recording = directory_.path() / "recording";
    DaemonProcess daemon = started(
        {"LD_PRELOAD=" RECORDER_PATH, "RPMEM_RECORDER_LOG=" + recording.string(),
         "RPMEM_RECORDER_FAULTS=fdatasync:parts:2:28", "ASAN_OPTIONS=verify_asan_link_order=0"});
    ASSERT_TRUE(daemon.send(encode(create_request())));
    const Ending ending = daemon.wait();
    ASSERT_TRUE(ending.in_time) << "the daemon hangs";
    EXPECT_TRUE(test::contains(ending.error_text, "No space left"));
    const auto responses = parse_output(ending.output);
    ASSERT_EQ(responses.size(), 1U);
    EXPECT_NE(responses[0].status, Status::success);
    EXPECT_TRUE(test::contains(test::read_file(recording), "fdatasync "));
    EXPECT_EQ(directory_.damage(), "");
}

TEST_F(Surroundings, AClientThatNeverConnectsALane) {
    auto arguments = directory_.daemon_arguments();
    arguments.insert(arguments.end(), {"--accept-timeout", "1000"});
    DaemonProcess daemon(arguments, directory_.path(), loopback_connection);
    ASSERT_TRUE(daemon.send(encode(open_request())));
    const Ending ending = daemon.wait(); // its input stays open
    expect_status(ending, 1);
    EXPECT_TRUE(
        test::contains(ending.error_text, "only 0 of 4 lanes were connected within 1000 ms"));
    EXPECT_EQ(directory_.damage(), "");
}

TEST_F(Surroundings, ALogThatIsAPipeWhichNobodyReads) {
    ASSERT_EQ(::mkfifo(directory_.log_file().c_str(), 0600), 0);
    DaemonProcess daemon = started();
    ASSERT_TRUE(daemon.send(encode(open_request())));
    EXPECT_EQ(daemon.receive(size_of_status_and_open_response).size(),
              size_of_status_and_open_response)
        << "the daemon hangs";
    daemon.close_input();
    EXPECT_TRUE(daemon.wait().in_time) << "the daemon hangs";
    directory_.remove_log();
    EXPECT_EQ(directory_.damage(), "");
}

// Every refusal writes a line to standard error, so there are more than a pipe can hold.
TEST_F(Surroundings, NobodyReadsTheErrorText) {
    wire::Bytes messages = encode(open_request());
    const wire::Bytes refused = encode(wire::SetAttributesRequest{});
    for (int count = 0; count < 1500; ++count)
        messages.insert(messages.end(), refused.begin(), refused.end());
    DaemonProcess daemon = started();
    ASSERT_TRUE(daemon.send(messages));
    daemon.close_input();
    const Ending ending = daemon.wait(DaemonProcess::ErrorText::read_at_the_end);
    expect_status(ending, 1);
    EXPECT_EQ(parse_output(ending.output).size(), 1501U);
    EXPECT_EQ(directory_.damage(), "");
}

TEST_F(Surroundings, SignalsAndTheEndOfTheChannelEndTheSession) {
    for (const int number : {0, SIGTERM, SIGINT, SIGHUP}) {
        SCOPED_TRACE(number);
        const auto end = [number](DaemonProcess& daemon) {
            if (number != 0)
                return daemon.signal(number);
            daemon.close_input();
            daemon.close_output();
        };
        disturbed(encode(create_request()), size_of_status_and_create_response, end);
        disturbed(encode(open_request()), size_of_status_and_open_response, end);
    }
}

// Drops the capability to access any process, for this process and those that it starts. Only root
// has it.
void give_up_looking() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2] = {};
    ASSERT_EQ(::syscall(SYS_capget, &header, sets), 0);
    static_cast<void>(::prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0));
    sets[0].effective &= ~(1U << CAP_SYS_PTRACE);
    sets[0].permitted &= ~(1U << CAP_SYS_PTRACE);
    ASSERT_EQ(::syscall(SYS_capset, &header, sets), 0);
}

bool may_be_looked_into(pid_t pid) {
    return std::ifstream("/proc/" + std::to_string(pid) + "/mem").is_open();
}

TEST_F(Surroundings, ADaemonHasNoMorePrivilegesThanItNeeds) {
    give_up_looking();
    DaemonProcess daemon = started();
    ASSERT_EQ(daemon.receive(4).size(), 4U); // the initial status
    const auto proc_file = [&](const std::string& file) {
        std::string text = test::read_file("/proc/" + std::to_string(daemon.pid()) + "/" + file);
        text.erase(std::unique(text.begin(), text.end(),
                               [](char a, char b) { return a == ' ' && b == ' '; }),
                   text.end());
        return text;
    };
    EXPECT_TRUE(test::contains(proc_file("status"), "NoNewPrivs:\t1\n"));
    EXPECT_TRUE(test::contains(proc_file("limits"), "Max core file size 0 0 "));
    const pid_t other = ::fork();
    if (other == 0)
        while (true)
            ::pause();
    EXPECT_TRUE(may_be_looked_into(other));
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
#ifndef RPMEM_SANITIZED // its leak checker needs access to the process
    EXPECT_FALSE(may_be_looked_into(daemon.pid()));
#endif
}

// Makes signalfd(2) fail for this thread and what it starts, like the seccomp profile of a
// container.
void deny_signalfd() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_signalfd4, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    EXPECT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    EXPECT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

TEST_F(Surroundings, ADaemonWithoutASignalfdTellsTheClient) {
    Ending ending;
    std::thread contained([&] {
        deny_signalfd();
        DaemonProcess daemon = started();
        static_cast<void>(daemon.send(encode(create_request())));
        ending = daemon.wait();
    });
    contained.join();
    expect_status(ending, 1);
    EXPECT_TRUE(test::contains(ending.error_text, "signalfd"));
    EXPECT_TRUE(test::contains(ending.error_text, "Operation not permitted"));
    EXPECT_TRUE(test::contains(directory_.read_log(), "signalfd"));
    EXPECT_EQ(directory_.damage(), "");
}

TEST_F(Surroundings, APartThatIsInUse) {
    DaemonProcess holder = started();
    ASSERT_TRUE(holder.send(encode(open_request())));
    ASSERT_EQ(holder.receive(size_of_status_and_open_response).size(),
              size_of_status_and_open_response);
    DaemonProcess second = started();
    ASSERT_TRUE(second.send(encode(open_request())));
    const Ending refused = second.wait();
    EXPECT_EQ(refused.status, 0);
    const auto responses = parse_output(refused.output);
    ASSERT_EQ(responses.size(), 1U);
    EXPECT_EQ(responses[0].status, Status::busy);
    EXPECT_NE(directory_.locked_part(), ""); // by the first daemon
    holder.close_input();
    EXPECT_TRUE(holder.wait().in_time);
    EXPECT_EQ(directory_.damage(), "");
}

} // namespace
} // namespace rpmem::hostile
