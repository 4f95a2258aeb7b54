// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/ssh2_channel.hpp"

#include "common/base/host_address.hpp"
#include "common/base/io.hpp"
#include "common/base/quiet_thread.hpp"
#include "librpmem/session/account.hpp"
#include "librpmem/session/ssh2/host_key.hpp"
#include "librpmem/session/ssh2/login.hpp"
#include "librpmem/session/ssh2/relay.hpp"
#include "librpmem/session/ssh2/ssh_socket.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace rpmem::initiator::ssh2 {
namespace {

constexpr std::uint16_t default_port = 22;

// Number of bytes that the target may send before they are read. libssh2 keeps them in memory.
constexpr unsigned window_size = 1U << 18;

// Runs a relay in a thread of its own.
class RelayBackend final : public ChannelBackend {
public:
    // STOP ends the relay when it is raised. The other arguments are those of Relay.
    RelayBackend(std::unique_ptr<Ssh2Session> session, LIBSSH2_CHANNEL* channel, Relay::Ends ends,
                 Event stop)
        : stop_(std::move(stop)), relay_(std::move(session), channel, std::move(ends)),
          thread_(start_without_signals([this] { run(); })) {}
    ~RelayBackend() override {
        stop_.raise();
        thread_.join();
    }
    RelayBackend(const RelayBackend&) = delete;
    RelayBackend& operator=(const RelayBackend&) = delete;

    std::optional<ExitStatus> wait(const Deadline& deadline) override {
        std::unique_lock lock(mutex_);
        ended_.wait_for(lock, std::chrono::milliseconds(deadline.poll_timeout()),
                        [this] { return status_.has_value(); });
        return status_;
    }

private:
    void run() {
        const ExitStatus status = relay_.run(stop_.fd());
        relay_.close();
        const std::lock_guard lock(mutex_);
        status_ = status;
        ended_.notify_all();
    }

    Event stop_;
    Relay relay_;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::optional<ExitStatus> status_;
    std::thread thread_; // uses the members above
    ForkListener in_children_{
        [](void* owner) { static_cast<RelayBackend*>(owner)->relay_.release_in_child(); }, this};
};

Result<LIBSSH2_CHANNEL*> run_command(const Ssh2Session& session, const std::string& command,
                                     const Deadline& deadline) {
    LIBSSH2_CHANNEL* channel = nullptr;
    const auto open = [&] {
        channel =
            ::libssh2_channel_open_ex(session.get(), "session", sizeof("session") - 1, window_size,
                                      LIBSSH2_CHANNEL_PACKET_DEFAULT, nullptr, 0);
        return channel ? 0 : ::libssh2_session_last_errno(session.get());
    };
    const auto start = [&] {
        return ::libssh2_channel_process_startup(channel, "exec", sizeof("exec") - 1,
                                                 command.c_str(),
                                                 static_cast<unsigned>(command.size()));
    };
    RPMEM_ASSIGN(auto status, session.complete(open, deadline));
    if (status == 0) {
        RPMEM_ASSIGN(status, session.complete(start, deadline));
    }
    if (status != 0)
        return fail(ErrorClass::link_lost, ECONNRESET,
                    "the ssh server does not run the command '{}': {}", command,
                    session.last_error());
    return channel;
}

Result<std::unique_ptr<Channel>> relayed(std::unique_ptr<Ssh2Session> session,
                                         LIBSSH2_CHANNEL* channel) {
    RPMEM_ASSIGN(auto input, make_socket_pair());
    RPMEM_ASSIGN(auto output, make_socket_pair());
    RPMEM_ASSIGN(auto error, make_socket_pair());
    RPMEM_ASSIGN(auto stop, Event::make());
    std::string peer = peer_of(session->socket());
    Relay::Ends ends{std::move(input.theirs), std::move(output.theirs), std::move(error.theirs)};
    auto backend = std::make_unique<RelayBackend>(std::move(session), channel, std::move(ends),
                                                  std::move(stop));
    auto relayed = std::make_unique<Channel>();
    relayed->connect({std::move(input.ours), std::move(output.ours), std::move(error.ours)},
                     std::move(backend), std::move(peer));
    return relayed;
}

std::vector<std::string> known_hosts_files(const Files& files, const Account& account) {
    if (!files.known_hosts.empty())
        return {files.known_hosts};
    return {account.home + "/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"};
}

Login login_of(const Target& target, const Files& files, const Account& account) {
    const std::string user = target.user.empty() ? account.name : target.user;
    if (!files.key.empty())
        return {user, false, {files.key}};
    const std::string directory = account.home + "/.ssh/";
    return {user, true, {directory + "id_ed25519", directory + "id_ecdsa", directory + "id_rsa"}};
}

} // namespace

Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Files& files,
                                               const Deadline& deadline) {
    RPMEM_ASSIGN(const auto account, current_account(time_for_names(deadline.left())));
    const std::uint16_t port = target.port.value_or(default_port);
    RPMEM_ASSIGN(const auto identity,
                 HostIdentity::look_up(target.host, port, known_hosts_files(files, account)));
    RPMEM_ASSIGN(auto socket, connect_to(target.host, port, force_ipv4, deadline));
    RPMEM_ASSIGN(auto session,
                 Ssh2Session::start(std::move(socket), fmt::format("{} port {}", target.host, port),
                                    identity.algorithms(), deadline));
    RPMEM_TRY(identity.check(*session));
    RPMEM_TRY(log_in(*session, login_of(target, files, account), deadline));
    RPMEM_ASSIGN(const auto channel, run_command(*session, command, deadline));
    return relayed(std::move(session), channel);
}

} // namespace rpmem::initiator::ssh2
