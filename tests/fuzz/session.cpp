// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the library's side of an out-of-band session: hello, requests, and the end of the session.
// All output of the daemon is there at the start and then ends, so the session must end without a
// wait. An error without an errno value, with a control character or without a bound fails, and so
// does a secret that is kept.
//
// An input has a byte that selects the requests, the exit status of the remote command, a line on
// its standard error, and its standard output.
#include "librpmem/session/session.hpp"

#include "common/base/io.hpp"
#include "librpmem/session/start_channel.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::initiator;
using fuzz::require;

// The remote command. It is set before each session, and start_channel() reads it.
struct Script {
    int exit_status = 0;
    std::string error;
    fuzz::Bytes output;
};
Script script;

class EndedCommand : public ChannelBackend {
public:
    EndedCommand(int exit_status, UniqueFd input)
        : status_{exit_status, 0, true}, input_(std::move(input)) {}
    std::optional<ExitStatus> wait(const Deadline& /*deadline*/) override { return status_; }

private:
    ExitStatus status_;
    UniqueFd input_; // receives the bytes of the library
};

// Returns a pipe that contains BYTES and then ends. They must fit into its buffer.
UniqueFd ended_stream(std::span<const std::byte> bytes) {
    auto pipe = make_pipe();
    require(pipe && write_fully(pipe->write_end.get(), bytes, Deadline(std::chrono::seconds(1))),
            "there is a pipe");
    return std::move(pipe->read_end);
}

void check(const Error& error) {
    constexpr int last_errno = 4095;
    require(error.kind != ErrorClass::bug && error.code > 0 && error.code <= last_errno,
            "an error has an errno value and is no bug");
    constexpr std::size_t longest = 16384;
    require(!error.text.empty() && error.text.size() <= longest, "an error has a bounded text");
    require(!fuzz::has_control_character(error.text), "no text of a daemon commands a terminal");
}

template <typename T>
bool check_result(const Result<T>& result) {
    if (!result)
        check(result.error());
    return result.has_value();
}

void check_in_band(const wire::InBandAttributes& in_band) {
    require(in_band.port >= 1 && in_band.port <= 65535 && in_band.lanes >= 1,
            "an answer names a port, and lanes");
}

// Returns false if there is no pool.
bool make_pool(Session& session, bool create) {
    if (create) {
        const auto answer = session.create({.pool_size = 1, .lanes = 1, .pool_set = "pool.set"});
        if (check_result(answer))
            check_in_band(answer->in_band);
        return answer.has_value();
    }
    const auto answer = session.open({.pool_size = 1, .lanes = 1, .pool_set = "pool.set"});
    if (check_result(answer))
        check_in_band(answer->in_band);
    return answer.has_value();
}

void run_requests(Session& session, unsigned choice) {
    require((session.agreement().conditions & ~wire::all_conditions) == 0,
            "what is not known is not taken");
    require(!session.hello() || session.hello()->secret == wire::SessionSecret{},
            "the secret is not kept where it can be looked at");
    if (!make_pool(session, (choice & 1) != 0))
        return;
    if ((choice & 2) != 0)
        check_result(session.set_attributes({}));
    if ((choice & 4) != 0)
        if (const auto loss = session.poll_for_loss(Session::WhileInUse::wait))
            check(*loss);
    if ((choice & 16) != 0)
        check_result(session.set_replica_state(wire::ReplicaState::in_sync));
    if (const auto state = session.pool_state())
        require(session.agreement().compare && state->catching_up_since >= 0,
                "a state is one that was agreed on, and valid");
    if ((choice & 8) != 0)
        session.undo_create();
    else
        check_result(session.close());
}

Settings default_settings() {
    return read_settings([](const char* /*name*/) -> const char* { return nullptr; });
}

} // namespace

// Replaces the function of the library, which would start ssh.
rpmem::Result<std::unique_ptr<rpmem::initiator::Channel>>
rpmem::initiator::start_channel(const Target& /*target*/, const std::string& /*command*/,
                                bool /*force_ipv4*/, const Settings& /*settings*/,
                                const Deadline& /*deadline*/) {
    auto input = make_socket_pair();
    require(input.has_value(), "there is a pair of sockets");
    return std::make_unique<Channel>(
        ChannelStreams{std::move(input->ours), ended_stream(script.output),
                       ended_stream(std::as_bytes(std::span(script.error)))},
        std::make_unique<EndedCommand>(script.exit_status, std::move(input->theirs)));
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const unsigned choice = input.take_value<std::uint8_t>();
    script.exit_status = input.take_value<std::uint8_t>();
    script.error = input.take_line();
    script.output = input.take(input.left());
    const auto session = Session::start({.user = "", .host = "node1", .port = std::nullopt},
                                        "rpmemd", false, default_settings());
    if (check_result(session))
        run_requests(**session, choice);
    return 0;
}
