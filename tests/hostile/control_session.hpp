// SPDX-License-Identifier: BSD-3-Clause
// The initiator's end of the control channel of a session with the real daemon, with the hello.
// Unsolicited heartbeats, notices, and the claim and the state of the pool are counted or kept. Any
// other message before a response throws an exception.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "common/wire/unsolicited.hpp"
#include "tests/hostile/daemon_process.hpp"
#include "tests/hostile/hostile_session.hpp"

namespace rpmem::hostile {

class ControlSession {
public:
    // Answers the hello with CAPABILITIES.
    explicit ControlSession(DaemonProcess& daemon,
                            std::uint64_t capabilities = wire::all_capabilities)
        : daemon_(daemon), transcript_(shake_hands(capabilities)) {}

    // Returns the key of a session of generation 0.
    [[nodiscard]] wire::TakeoverKey takeover_key() const {
        const auto key = test::value_of(transcript_.takeover_key());
        wire::TakeoverKey bytes;
        std::ranges::copy(key.bytes(), bytes.begin());
        return bytes;
    }

    wire::Status log_in(std::uint64_t generation = 0, const wire::TakeoverKey& key = {}) {
        wire::LoginRequest request{.generation = generation, .takeover = key};
        std::ranges::copy(std::string("host-a"), request.host.begin());
        std::ranges::copy(std::string("alice"), request.user.begin());
        generation_ = generation;
        return ask(encode(request)).status;
    }

    wire::Status open(unsigned lanes = 1, const std::string& pool_set = existing_pool) {
        wire::OpenRequest request = open_request(pool_set);
        request.provider = wire::Provider::tcp;
        request.lanes = lanes;
        const wire::Bytes asked = encode(request);
        const Answer answer = ask(asked);
        if (answer.status != wire::Status::success)
            return answer.status;
        const std::span body = std::span(answer.bytes).subspan(wire::response_header_size);
        const auto header = test::value_of(
            wire::decode_response_header(std::span(answer.bytes).first(wire::response_header_size),
                                         wire::MessageType::open_response));
        in_band_ = test::value_of(wire::decode_response<wire::OpenResponse>(header, body)).in_band;
        transcript_.add(asked, answer.bytes);
        return answer.status;
    }

    // Returns what lanes authenticate with. Call it after open().
    [[nodiscard]] transport::ProofSession proof() const {
        return test::value_of(transcript_.prove_by(in_band_.lanes, generation_));
    }
    [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(in_band_.port); }

    wire::Status set_replica_state(wire::ReplicaState state) {
        return ask(encode(wire::SetReplicaStateRequest{state})).status;
    }
    wire::Status close() { return ask(encode(wire::CloseRequest{})).status; }
    bool beat() { return daemon_.send(encode(wire::HeartbeatRequest{})); }

    struct Answer {
        wire::Status status = wire::Status::fatal;
        wire::Bytes bytes; // empty if the channel ended
    };
    // Sends REQUEST and returns the response.
    Answer ask(std::span<const std::byte> request) {
        daemon_.send(request);
        const auto type = wire::response_to(wire::request_type(request).value());
        while (true) {
            wire::Bytes header = receive_unasked();
            if (header.size() < wire::response_header_size)
                return {};
            const auto decoded = wire::decode_response_header(header, type);
            if (!decoded)
                throw std::runtime_error(decoded.error().text);
            return {decoded->status,
                    joined({header, daemon_.receive(decoded->size - header.size())})};
        }
    }
    // Waits for one more heartbeat. Returns false if the channel ended.
    bool await_heartbeat() {
        const unsigned before = heartbeats_;
        while (heartbeats_ == before)
            if (!receive_one().empty())
                return false;
        return true;
    }

    [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }
    // Returns the claim of the pool's writer, which only a read-only session gets.
    [[nodiscard]] const std::optional<wire::PoolClaim>& claim() const { return claim_; }
    // Returns the state of the pool, which only a session that may write gets.
    [[nodiscard]] const std::optional<wire::PoolState>& pool_state() const { return state_; }
    [[nodiscard]] unsigned heartbeats() const { return heartbeats_; }

private:
    transport::ControlTranscript shake_hands(std::uint64_t capabilities) {
        daemon_.receive(wire::initial_status_size);
        wire::Bytes hello = daemon_.receive(wire::hello_size_field);
        const auto size = test::value_of(wire::decode_hello_size(hello, wire::hello_size));
        hello = joined({hello, daemon_.receive(size - hello.size())});
        const wire::Bytes answer = encode(wire::HelloAnswer{1, capabilities});
        daemon_.send(answer);
        return test::value_of(transport::ControlTranscript::make(
            test::value_of(wire::decode_hello(hello)).secret, hello, answer));
    }

    // Receives one message. Returns the header of a response, fewer bytes than a header if the
    // channel ended, or no bytes after an unsolicited message, which it handles.
    wire::Bytes receive_one() {
        wire::Bytes header = daemon_.receive(wire::response_header_size);
        const auto unasked = wire::unsolicited_type(
            header, {.medium_failure = true, .resume = true, .pool_claim = true, .compare = true});
        if (header.size() < wire::response_header_size || !unasked)
            return header.empty() ? wire::Bytes(1) : header;
        if (*unasked == wire::MessageType::target_heartbeat) {
            ++heartbeats_;
            return {};
        }
        const auto body = daemon_.receive(test::value_of(wire::decode_unsolicited_size(header)));
        if (*unasked == wire::MessageType::medium_failure)
            throw std::runtime_error("the medium has failed");
        if (*unasked == wire::MessageType::pool_claim)
            claim_ = test::value_of(wire::decode_pool_claim(body));
        else if (*unasked == wire::MessageType::pool_state)
            state_ = test::value_of(wire::decode_pool_state(body));
        else
            notices_.emplace_back(reinterpret_cast<const char*>(body.data()), body.size());
        return {};
    }
    wire::Bytes receive_unasked() {
        wire::Bytes header;
        while (header.empty())
            header = receive_one();
        return header;
    }

    DaemonProcess& daemon_;
    std::uint64_t generation_ = 0;
    wire::InBandAttributes in_band_;
    std::vector<std::string> notices_;
    std::optional<wire::PoolClaim> claim_;
    std::optional<wire::PoolState> state_;
    unsigned heartbeats_ = 0;
    transport::ControlTranscript transcript_;
};

} // namespace rpmem::hostile
