// A session with the real daemon whose lanes go over tcp, and lanes of which every byte is sent by
// the test.
#pragma once

#include "common/transport/proof.hpp"
#include "common/transport/proof_ends.hpp"
#include "common/wire/frame.hpp"
#include "tests/hostile/hostile_session.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpmem::hostile {

// The value, or an exception that fails the test.
template <typename Value>
Value value_of(Result<Value> result) {
    if (!result)
        throw std::runtime_error(result.error().text);
    return std::move(*result);
}

// A connection to PORT of this machine.
UniqueFd connect_to(std::uint16_t port);

// As an honest initiator begins it, or as much of it as the test wants.
class RawLane {
public:
    enum class Stage { connected, half_first, first, second, third, open };
    // PIECE: how many bytes go at a time.
    RawLane(std::uint16_t port, const transport::ProofSession& session, std::uint32_t lane,
            Stage until = Stage::open, std::size_t piece = SIZE_MAX);

    // False: the daemon has ended the connection.
    bool send(std::span<const std::byte> bytes);
    // Up to SIZE bytes; fewer at the end of the connection or of patience.
    [[nodiscard]] wire::Bytes receive(std::size_t size);
    bool send_frame(wire::FrameHeader header, std::span<const std::byte> payload = {});
    // The next frame's header, whose payload is dropped; nothing: the connection has ended.
    [[nodiscard]] std::optional<wire::FrameHeader> receive_frame();
    // Writes VALUE to SIZE bytes at OFFSET, and waits for the ack. False: it did not come.
    bool persist(std::uint64_t offset, std::size_t size, std::byte value);
    // The daemon has ended it.
    [[nodiscard]] bool is_ended();
    void reset(); // by RST

    [[nodiscard]] const wire::LaneCredits& credits() const { return credits_; }
    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    UniqueFd socket_;
    std::size_t piece_;
    std::uint64_t number_ = 0; // of the last frame
    wire::LaneCredits credits_;
};

class LaneSession : public HostileTest {
protected:
    static constexpr unsigned lanes = 2;

    // VARIABLES: of the daemon's environment.
    explicit LaneSession(const std::vector<std::string>& variables = {},
                         unsigned lane_count = lanes);
    [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(in_band_.port); }
    [[nodiscard]] RawLane lane(std::uint32_t number) const {
        return {port(), proof_, number, RawLane::Stage::open};
    }
    // The daemon says LOGGED, to its log and to the client. The input is left open.
    void expect_end(const std::string& logged);
    // And CLOSE ends the session in order.
    void expect_close();

    wire::InBandAttributes in_band_;
    DaemonProcess daemon_;
    transport::ProofSession proof_;

private:
    transport::ProofSession open(unsigned lane_count);
};

} // namespace rpmem::hostile
