// SPDX-License-Identifier: BSD-3-Clause
// A session with the real daemon over tcp, and the lanes of an initiator on plain sockets. The test
// decides every byte that a lane sends, and can stop after any step of the handshake.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/io.hpp"
#include "common/transport/lane_auth.hpp"
#include "common/transport/lane_auth_ends.hpp"
#include "common/wire/frame.hpp"
#include "tests/hostile/control_session.hpp"
#include "tests/hostile/hostile_session.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace rpmem::hostile {

using test::value_of;

inline UniqueFd connect_to(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
        throw std::runtime_error("cannot connect");
    return fd;
}

// A connection that performs the handshake of an initiator up to a stage.
class RawLane {
public:
    enum class Stage { connected, half_first, first, second, third, open };
    // PIECE is the maximum number of bytes in one send(2).
    RawLane(std::uint16_t port, const transport::ProofSession& session, std::uint32_t lane,
            Stage until = Stage::open, std::size_t piece = SIZE_MAX)
        : socket_(connect_to(port)), piece_(piece) {
        if (until == Stage::connected)
            return;
        transport::SystemRandom random;
        transport::InitiatorProof proof(session, {.lane = lane, .generation = session.generation},
                                        false);
        const auto first = proof.start(random).send;
        if (until == Stage::half_first) {
            send(first.first(first.size() / 2));
            return;
        }
        send(first);
        if (until == Stage::first)
            return;
        const wire::Bytes second = receive(transport::second_message_size);
        const auto step = proof.advance(second);
        if (step.state == transport::ProofState::refused)
            throw std::runtime_error(transport::describe(proof.refused()));
        if (until == Stage::second)
            return;
        send(step.send);
        if (until == Stage::third)
            return;
        wire::Bytes welcome = receive(wire::frame_header_size + wire::lane_credits_size);
        welcome.resize(std::max(welcome.size(), wire::frame_header_size));
        const auto header =
            wire::decode_frame_header(std::span(welcome).first<wire::frame_header_size>());
        if (welcome.size() < wire::frame_header_size + wire::lane_credits_size || !header ||
            header->type != wire::FrameType::welcome)
            throw std::runtime_error("there was no welcome");
        credits_ = wire::decode_lane_credits(std::span(welcome)
                                                 .subspan(wire::frame_header_size)
                                                 .first<wire::lane_credits_size>())
                       .value();
    }

    // Returns false if the connection has ended.
    bool send(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto size = std::min(piece_, bytes.size());
            const ssize_t sent = ::send(socket_.get(), bytes.data(), size, MSG_NOSIGNAL);
            if (sent <= 0)
                return false;
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
        }
        return true;
    }
    // Returns SIZE bytes, or fewer if the connection ends or the time is over.
    [[nodiscard]] wire::Bytes receive(std::size_t size) {
        wire::Bytes bytes(size);
        bytes.resize(read_fully(socket_.get(), bytes, Deadline(test_timeout)).value_or(0));
        return bytes;
    }
    bool send_frame(wire::FrameHeader header, std::span<const std::byte> payload = {}) {
        header.number = ++number_;
        return send(wire::encode(header)) && send(payload);
    }
    // Returns the header of the next frame, and drops the payload. Returns nothing if the
    // connection has ended or the header is malformed.
    [[nodiscard]] std::optional<wire::FrameHeader> receive_frame() {
        const wire::Bytes bytes = receive(wire::frame_header_size);
        if (bytes.size() < wire::frame_header_size)
            return std::nullopt;
        const auto header =
            wire::decode_frame_header(std::span(bytes).first<wire::frame_header_size>());
        if (header)
            static_cast<void>(receive(wire::payload_of(*header)));
        return header;
    }
    // Writes VALUE to SIZE bytes at OFFSET. Returns whether the ack arrived.
    bool persist(std::uint64_t offset, std::size_t size, std::byte value) {
        const wire::Bytes data(size, value);
        if (!send_frame({.type = wire::FrameType::write,
                         .flags = wire::frame_flag::answer_wanted,
                         .length = static_cast<std::uint32_t>(size),
                         .offset = offset},
                        data))
            return false;
        const auto ack = receive_frame();
        return ack && ack->type == wire::FrameType::ack && ack->number == number_;
    }
    // Returns whether the daemon ends the connection in time. Drops what it still sends.
    [[nodiscard]] bool is_ended() {
        for (const Deadline deadline(test_timeout); !deadline.passed();) {
            std::byte byte{};
            pollfd entry{socket_.get(), POLLIN, 0};
            if (::poll(&entry, 1, deadline.poll_timeout()) == 1 &&
                ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) <= 0)
                return true;
        }
        return false;
    }
    // Ends the connection by RST.
    void reset() {
        const linger at_once{1, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        socket_.reset();
    }

    [[nodiscard]] const wire::LaneCredits& credits() const { return credits_; }
    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    UniqueFd socket_;
    std::size_t piece_;
    std::uint64_t number_ = 0; // the number of the last frame
    wire::LaneCredits credits_;
};

class LaneSession : public HostileTest {
protected:
    static constexpr unsigned lanes = 2;

    // VARIABLES are further variables of the daemon's environment.
    explicit LaneSession(const std::vector<std::string>& variables = {},
                         unsigned lane_count = lanes,
                         std::uint64_t capabilities = wire::all_capabilities)
        : daemon_(directory_.daemon_arguments(), directory_.path(), loopback_connection,
                  wire::offer_value, variables),
          control_(daemon_, capabilities), proof_(open(lane_count)) {}
    [[nodiscard]] std::uint16_t port() const { return control_.port(); }
    [[nodiscard]] RawLane lane(std::uint32_t number) const {
        return {port(), proof_, number, RawLane::Stage::open};
    }
    // Expects that the daemon exits with status 1, and reports LOGGED in its log and to the client.
    // The input of the daemon stays open.
    void expect_end(const std::string& logged) {
        const Ending ending = daemon_.wait();
        expect_status(ending, 1);
        EXPECT_TRUE(test::contains(ending.error_text, logged));
        EXPECT_TRUE(test::contains(directory_.read_log(), logged));
    }
    // Expects that CLOSE ends the session cleanly.
    void expect_close() {
        ASSERT_TRUE(daemon_.send(encode(wire::CloseRequest{})));
        expect_status(daemon_.wait(), 0);
    }

    DaemonProcess daemon_;
    ControlSession control_;
    transport::ProofSession proof_;

private:
    transport::ProofSession open(unsigned lane_count) {
        EXPECT_EQ(control_.log_in(), wire::Status::success);
        EXPECT_EQ(control_.open(lane_count), wire::Status::success);
        return control_.proof();
    }
};

} // namespace rpmem::hostile
