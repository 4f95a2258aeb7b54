// SPDX-License-Identifier: BSD-3-Clause
// How the frames of a lane travel in messages over libfabric: as they are, or, to and from peers of
// protocol 0.1, as theirs. Those have neither numbers nor credits: each message is answered before
// the next one may come.
#pragma once

#include "common/wire/frame.hpp"
#include "common/wire/persist_message.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rpmem::wire {

enum class LaneEnd { initiator, target };

// The number of a lane of protocol 0.1, and the memory that its messages address.
struct MessageTerms {
    LaneEnd end{};                 // this one
    std::uint32_t lane = 0;        // index, in the order of connection
    std::uint64_t remote_base = 0; // the target's address of offset 0
    std::uint64_t pool_size = 0;
};

// Why a message is no frame.
struct DecodeFailure {
    std::string text{};
    bool is_damaged = false; // the checksum is wrong: bytes were altered on their way
};

class LaneEncoding {
public:
    // Frames as they are.
    LaneEncoding() = default;
    explicit LaneEncoding(const MessageTerms& terms) : terms_(terms) {}

    [[nodiscard]] bool is_0_1() const { return terms_.has_value(); }
    // Bytes of a request before its payload.
    [[nodiscard]] std::size_t header_size() const {
        return is_0_1() ? sizeof(PersistMessage) : frame_header_size;
    }
    // The bytes before the payload, in PLACE. Empty: such a peer is not told of such a frame.
    [[nodiscard]] std::span<const std::byte> encode(const FrameHeader& header, FrameBytes& place);
    // Returns the frame that MESSAGE is, and leaves its payload in MESSAGE, or returns nothing and
    // sets WHY. POSTED is the number of frames that this end has sent.
    [[nodiscard]] std::optional<FrameHeader> decode(std::span<const std::byte>& message,
                                                    std::uint64_t posted, DecodeFailure& why);

private:
    std::optional<FrameHeader> decode_request(std::span<const std::byte>& message,
                                              std::string& why);
    std::optional<FrameHeader> decode_response(std::span<const std::byte>& message,
                                               std::uint64_t posted, std::string& why);

    std::optional<MessageTerms> terms_;
    std::uint64_t taken_ = 0;      // messages of protocol 0.1
    std::uint32_t last_flags_ = 0; // of the last request, which its answer repeats
};

} // namespace rpmem::wire
