// SPDX-License-Identifier: BSD-3-Clause
// A fake daemon at the out-of-band channel, which runs a script of the test. The library starts a
// shell script instead of ssh(1). The shell script connects it through FIFOs to a thread of the
// test.
#pragma once

#include "common/base/io.hpp"
#include "common/transport/lane_auth.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "librpmem/settings/settings.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <csignal>

namespace rpmem::test {

inline constexpr std::chrono::seconds script_timeout(20);

// Without the resume capability, a session ends when its connection is lost.
inline constexpr std::uint64_t scripted_capabilities =
    wire::all_capabilities & ~wire::capability_resume;

// The daemon's ends of the channel. The functions throw if they fail or time out.
class DaemonEnd {
public:
    explicit DaemonEnd(const std::filesystem::path& directory)
        : directory_(directory), output_(open_to_write(directory / "output")),
          error_(open_to_write(directory / "error")),
          input_(::open((directory / "input").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

    void say(std::span<const std::byte> bytes) const {
        check(write_fully(output_.get(), bytes, Deadline(script_timeout)).has_value(), "say");
    }
    void say(const std::string& bytes) const { say(std::as_bytes(std::span(bytes))); }
    void complain(const std::string& text) const {
        check(write_fully(error_.get(), std::as_bytes(std::span(text)), Deadline(script_timeout))
                  .has_value(),
              "complain");
    }
    [[nodiscard]] wire::Bytes receive(std::size_t size) const {
        wire::Bytes bytes(size);
        const auto got = read_fully(input_.get(), bytes, Deadline(script_timeout));
        check(got && *got == size, "receive");
        return bytes;
    }
    wire::Bytes receive_request() const {
        wire::Bytes bytes = receive(wire::request_header_size);
        const auto header = wire::decode_request_header(bytes);
        check(header.has_value(), "receive a header");
        const wire::Bytes body = receive(header->size - bytes.size());
        check(wire::decode_request(*header, body).has_value(), "receive a request");
        bytes.insert(bytes.end(), body.begin(), body.end());
        return bytes;
    }
    [[nodiscard]] static wire::Request decoded(std::span<const std::byte> request) {
        const auto header =
            value_of(wire::decode_request_header(request.first(wire::request_header_size)));
        return value_of(wire::decode_request(header, request.subspan(wire::request_header_size)));
    }
    // Whether the library has closed its end: nobody reads the output any more.
    [[nodiscard]] bool is_abandoned() const {
        pollfd entry{output_.get(), POLLOUT, 0};
        return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLERR) != 0;
    }
    // Returns when the library has closed its end, or after a timeout.
    void wait_for_end() const {
        std::byte byte;
        while (read_fully(input_.get(), {&byte, 1}, Deadline(script_timeout)).value_or(0) == 1)
            ;
    }

    // Makes the library's writes to the channel fail from now on.
    void stop_listening() const {
        std::ifstream file(directory_ / "listener");
        pid_t listener = 0;
        check(static_cast<bool>(file >> listener) && listener > 0, "find the listener");
        check(::kill(listener, SIGKILL) == 0, "end the listener");
        const auto ended = [listener] {
            std::ifstream stat("/proc/" + std::to_string(listener) + "/stat");
            std::string line;
            return !std::getline(stat, line) || line.find(") Z ") != std::string::npos;
        };
        const Deadline deadline(script_timeout);
        while (!ended() && !deadline.passed())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        check(ended(), "see the listener end");
    }

    static void check(bool good, const char* what) {
        if (!good)
            throw std::runtime_error(std::string("the scripted daemon could not ") + what);
    }

private:
    // Opens a FIFO for writing. Without O_NONBLOCK, open(2) would wait for ever if nothing ever
    // opens it for reading.
    static UniqueFd open_to_write(const std::filesystem::path& path) {
        const Deadline deadline(script_timeout);
        int fd = -1;
        while (fd < 0 && !deadline.passed()) {
            fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
            if (fd < 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        check(fd >= 0, "open a FIFO that the library reads");
        return UniqueFd(fd);
    }

    std::filesystem::path directory_;
    UniqueFd output_;
    UniqueFd error_;
    UniqueFd input_;
};

// Runs SCRIPT once, for the first session with settings(). The daemon's ends are closed when SCRIPT
// returns.
class ScriptedDaemon {
public:
    explicit ScriptedDaemon(std::function<void(DaemonEnd&)> script) {
        std::signal(SIGPIPE, SIG_IGN); // a script may write after the library has closed its end
        for (const char* fifo : {"output", "error", "input"})
            DaemonEnd::check(::mkfifo((directory_ / fifo).c_str(), 0600) == 0, "make a FIFO");
        // Like ssh(1), the shell script exits when the output of the daemon ends, and no process
        // that runs longer has its ends of the channel open. A background command of a shell would
        // read from /dev/null, so it gets the input as descriptor 3. Opening the FIFO to the daemon
        // for reading and writing does not block.
        std::ofstream(directory_ / "ssh")
            << "#!/bin/sh\ncd " << directory_.native() << "\nexec 3<&0\n"
            << "cat <&3 1<>input 2>/dev/null &\n"
            << "echo $! >listener\n"
            << "cat <error >&2 3<&- &\nexec cat <output 3<&-\n";
        std::filesystem::permissions(directory_ / "ssh", std::filesystem::perms::owner_all);
        thread_ = std::thread([this, script = std::move(script)] {
            try {
                DaemonEnd end(directory_);
                script(end);
            } catch (const std::exception& exception) {
                problem_ = exception.what();
            }
        });
    }
    ~ScriptedDaemon() { wait(); }
    ScriptedDaemon(const ScriptedDaemon&) = delete;
    ScriptedDaemon& operator=(const ScriptedDaemon&) = delete;

    [[nodiscard]] initiator::Settings settings() const {
        initiator::Settings settings =
            initiator::read_settings([](const char*) -> const char* { return nullptr; });
        settings.ssh = directory_ / "ssh";
        settings.enable_verbs = false;
        settings.enable_tcp = false;
        settings.enable_sockets = true;
        settings.connect_timeout = script_timeout;
        settings.operation_timeout = script_timeout;
        return settings;
    }

    // Waits until the script has ended. Returns why it failed, or an empty text.
    std::string wait() {
        if (thread_.joinable())
            thread_.join();
        return problem_;
    }

private:
    const TemporaryDirectory temporary_;
    const std::filesystem::path directory_ = temporary_.path();
    std::string problem_;
    std::thread thread_;
};

// Runs SCRIPT for every session with settings(), one after the other. NUMBER counts the sessions
// from 0. The daemon's ends are closed when SCRIPT returns. An exception in it ends that session.
class RepeatedDaemon {
public:
    explicit RepeatedDaemon(std::function<void(DaemonEnd&, unsigned number)> script) {
        std::signal(SIGPIPE, SIG_IGN);
        // Like the shell script of ScriptedDaemon, but with a directory for each session.
        std::ofstream(directory_ / "ssh")
            << "#!/bin/sh\ncd " << directory_.native() << "\nn=0\n"
            << "while ! mkdir $n 2>/dev/null; do n=$((n + 1)); done\n"
            << "cd $n && mkfifo input output error && : >ready\nexec 3<&0\n"
            << "cat <&3 1<>input 2>/dev/null &\n"
            << "cat <error >&2 3<&- &\nexec cat <output 3<&-\n";
        std::filesystem::permissions(directory_ / "ssh", std::filesystem::perms::owner_all);
        thread_ = std::thread([this, script = std::move(script)] {
            while (await_session()) {
                try {
                    DaemonEnd end(directory_ / std::to_string(sessions_));
                    script(end, sessions_);
                } catch (const std::exception&) {
                }
                ++sessions_;
            }
        });
    }
    ~RepeatedDaemon() {
        is_over_ = true;
        thread_.join();
    }
    RepeatedDaemon(const RepeatedDaemon&) = delete;
    RepeatedDaemon& operator=(const RepeatedDaemon&) = delete;

    [[nodiscard]] initiator::Settings settings() const {
        initiator::Settings settings =
            initiator::read_settings([](const char*) -> const char* { return nullptr; });
        settings.ssh = directory_ / "ssh";
        settings.enable_verbs = false;
        return settings;
    }
    [[nodiscard]] unsigned sessions() const { return sessions_; } // number of ended sessions

private:
    bool await_session() {
        const auto ready = directory_ / std::to_string(sessions_) / "ready";
        while (!is_over_ && !std::filesystem::exists(ready))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return !is_over_;
    }

    const TemporaryDirectory temporary_;
    const std::filesystem::path directory_ = temporary_.path();
    std::atomic<unsigned> sessions_ = 0;
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
};

// Sends the hello of a daemon that offers PROVIDER, and returns the bytes of the hello.
inline wire::Bytes offer(const DaemonEnd& end, std::uint64_t capabilities, wire::Provider provider,
                         const wire::SessionSecret& secret = {}) {
    wire::Hello hello;
    hello.capabilities = capabilities;
    hello.providers = wire::provider_bit(static_cast<std::uint32_t>(provider));
    hello.lanes = 4;
    hello.secret = secret;
    const wire::Bytes said = wire::encode(hello);
    end.say(wire::encode_initial_status(wire::hello_status));
    end.say(said);
    return said;
}

// Sends a hello that offers sockets, and returns the answer.
inline wire::HelloAnswer greet(const DaemonEnd& end, std::uint64_t capabilities) {
    static_cast<void>(offer(end, capabilities, wire::Provider::sockets));
    return value_of(wire::decode_hello_answer(end.receive(wire::hello_answer_size)));
}

// Sends a hello that offers tcp without TLS, and returns the transcript of hello and answer.
inline transport::ControlTranscript greet_over_tcp(const DaemonEnd& end,
                                                   std::uint64_t capabilities) {
    wire::SessionSecret secret;
    secret.fill(std::byte{0x5e});
    const wire::Bytes said =
        offer(end, capabilities & ~wire::capability_tls, wire::Provider::tcp, secret);
    return value_of(
        transport::ControlTranscript::make(secret, said, end.receive(wire::hello_answer_size)));
}

} // namespace rpmem::test
