// SPDX-License-Identifier: BSD-3-Clause
// The real daemon as a child process, with pipes in place of ssh. Every wait has a limit, so a
// daemon that hangs fails the test, and the destructor kills it.
#pragma once

#include "common/base/io.hpp"
#include "common/base/unique_fd.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rpmem::hostile {

// The limit of every wait. A daemon that takes longer hangs.
inline constexpr std::chrono::seconds test_timeout(10);

struct Ending {
    bool in_time = false;   // it ended by itself
    bool by_signal = false; // a signal has ended it
    int status = 0;         // exit status, or the signal
    wire::Bytes output;     // standard output
    std::string error_text; // standard error
};

inline constexpr std::size_t max_output = 1024 * 1024;

// After a sanitizer's report, the exit status must differ from that of a refused session. With a
// preloaded library, AddressSanitizer starts only with verify_asan_link_order=0, an option that the
// other sanitizers do not have.
inline constexpr const char* sanitizer_exit = "exitcode=99";
inline constexpr const char* asan_exit = "exitcode=99:verify_asan_link_order=0";

[[noreturn]] inline void give_up(int code, const char* what) {
    throw std::system_error(code, std::generic_category(), what);
}

inline Pipe pipe_or_throw() {
    auto pipe = make_pipe();
    if (!pipe)
        throw std::runtime_error(pipe.error().text);
    return std::move(*pipe);
}

inline std::vector<std::string>
environment_of_child(const std::filesystem::path& home,
                     const std::optional<std::string>& ssh_connection,
                     const std::optional<std::string>& offer) {
    std::vector<std::string> environment{"HOME=" + home.native()};
    if (ssh_connection)
        environment.push_back("SSH_CONNECTION=" + *ssh_connection);
    if (offer)
        environment.push_back(std::string(wire::offer_variable) + "=" + *offer);
    for (const char* name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
        const char* value = std::getenv(name);
        environment.push_back(
            std::string(name) + "=" + (value ? std::string(value) + ":" : "") +
            (name == std::string_view("ASAN_OPTIONS") ? asan_exit : sanitizer_exit));
    }
    for (const char* name :
         {"PATH", "LD_LIBRARY_PATH", "PMEM_IS_PMEM_FORCE", "SSH_ORIGINAL_COMMAND"})
        if (const char* value = std::getenv(name))
            environment.push_back(std::string(name) + "=" + value);
    return environment;
}

inline std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& text : strings)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

inline pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment,
                   int input, int output, int error) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
    pid_t pid = -1;
    const int code = posix_spawn(&pid, RPMEMD_PATH, &actions, nullptr,
                                 pointers_to(arguments).data(), pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        give_up(code, "posix_spawn of " RPMEMD_PATH);
    return pid;
}

struct Stream {
    int fd; // -1 if it has ended or is not to be read
    wire::Bytes bytes;
};

inline void read_more(Stream& stream) {
    std::byte chunk[4096];
    const ssize_t got = ::read(stream.fd, chunk, sizeof(chunk));
    if (got <= 0 || stream.bytes.size() > max_output)
        stream.fd = -1;
    else
        stream.bytes.insert(stream.bytes.end(), chunk, chunk + got);
}

// Reads both until they end. A daemon that fills one of the pipes must not wait while the other is
// read.
inline void read_to_end(Stream& first, Stream& second, const Deadline& deadline) {
    while ((first.fd >= 0 || second.fd >= 0) && !deadline.passed()) {
        pollfd fds[2] = {{first.fd, POLLIN, 0}, {second.fd, POLLIN, 0}};
        if (::poll(fds, 2, deadline.poll_timeout()) <= 0)
            continue;
        if (fds[0].revents != 0)
            read_more(first);
        if (fds[1].revents != 0)
            read_more(second);
    }
}

class DaemonProcess {
public:
    // SSH_CONNECTION and OFFER are the values of SSH_CONNECTION and RPMEMD_OFFER. Without a value,
    // the variable is not set. VARIABLES are further variables of the environment, as NAME=VALUE.
    DaemonProcess(const std::vector<std::string>& arguments, const std::filesystem::path& home,
                  const std::optional<std::string>& ssh_connection,
                  const std::optional<std::string>& offer = std::nullopt,
                  const std::vector<std::string>& variables = {}) {
        // The daemon may end before it has read everything, which must not end the test.
        ::signal(SIGPIPE, SIG_IGN);
        Pipe input = pipe_or_throw();
        Pipe output = pipe_or_throw();
        Pipe error = pipe_or_throw();
        std::vector<std::string> argv{"rpmemd"};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        auto surroundings = environment_of_child(home, ssh_connection, offer);
        surroundings.insert(surroundings.end(), variables.begin(), variables.end());
        pid_ = spawn(std::move(argv), std::move(surroundings), input.read_end.get(),
                     output.write_end.get(), error.write_end.get());
        process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
        if (!process_)
            give_up(errno, "pidfd_open");
        input_ = std::move(input.write_end);
        ::fcntl(input_.get(), F_SETFL, O_NONBLOCK); // send() has a deadline
        output_ = std::move(output.read_end);
        error_ = std::move(error.read_end);
    }
    ~DaemonProcess() {
        if (pid_ < 0)
            return;
        signal(SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

    // Returns false if the daemon has closed its end or does not read it in time.
    bool send(std::span<const std::byte> bytes) {
        return write_fully(input_.get(), bytes, Deadline(test_timeout)).has_value();
    }
    // Returns SIZE bytes of standard output, or fewer if it ends or the time is over.
    wire::Bytes receive(std::size_t size) {
        // Does not use read_fully() of the product, because a bug of it could remain hidden.
        wire::Bytes bytes(size);
        std::size_t done = 0;
        const Deadline deadline(test_timeout);
        while (done < size) {
            pollfd output = {output_.get(), POLLIN, 0};
            if (::poll(&output, 1, deadline.poll_timeout()) <= 0)
                break;
            const ssize_t got = ::read(output_.get(), bytes.data() + done, size - done);
            if (got <= 0)
                break;
            done += static_cast<std::size_t>(got);
        }
        bytes.resize(done);
        return bytes;
    }
    void close_input() { input_.reset(); }
    void close_output() { output_.reset(); }
    void signal(int number) const {
        ::syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0);
    }
    // Returns when all threads have stopped, because only then the kernel reports the stop.
    void stop() const {
        signal(SIGSTOP);
        siginfo_t info{};
        ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
        if (info.si_code != CLD_STOPPED)
            give_up(ECHILD, "the daemon has ended");
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

    // Waits for the end of the daemon and does not close its standard input. WHEN states whether
    // standard error is read meanwhile, or only after the end.
    enum class ErrorText { read_at_once, read_at_the_end };
    Ending wait(ErrorText when = ErrorText::read_at_once) {
        const Deadline deadline(test_timeout);
        Stream output{output_ ? output_.get() : -1, {}};
        Stream error{when == ErrorText::read_at_once ? error_.get() : -1, {}};
        read_to_end(output, error, deadline);
        Ending ending;
        ending.output = std::move(output.bytes);
        ending.in_time = wait_readable(process_.get(), deadline).value_or(false);
        if (when == ErrorText::read_at_the_end && ending.in_time) {
            error.fd = error_.get();
            read_to_end(output, error, deadline);
        }
        ending.error_text.assign(reinterpret_cast<const char*>(error.bytes.data()),
                                 error.bytes.size());
        if (!ending.in_time)
            return ending; // the destructor kills it
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        ending.by_signal = WIFSIGNALED(status);
        ending.status = ending.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
        return ending;
    }

private:
    pid_t pid_ = -1;
    UniqueFd process_; // a pidfd
    UniqueFd input_;
    UniqueFd output_;
    UniqueFd error_;
};

} // namespace rpmem::hostile
