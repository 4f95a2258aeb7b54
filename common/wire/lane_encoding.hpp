// SPDX-License-Identifier: BSD-3-Clause
// Encodes the frames of a lane as messages over libfabric. A message is a frame, or, for a peer of
// protocol 0.1, a persist message or its response. The messages of protocol 0.1 have neither
// numbers nor credits. An initiator waits for the response to a message before it sends the next
// one.
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

// A lane of protocol 0.1, and the memory that its messages address.
struct MessageTerms {
    LaneEnd end{};                 // the role of this end
    std::uint32_t lane = 0;        // index of the lane in the order of connection
    std::uint64_t remote_base = 0; // address of offset 0 in the target
    std::uint64_t pool_size = 0;
};

// Why a message could not be decoded.
struct DecodeFailure {
    std::string text{};
    bool is_damaged = false; // the header is damaged: bytes changed in transit
};

class LaneEncoding {
public:
    // The encoding of frames.
    LaneEncoding() = default;
    explicit LaneEncoding(const MessageTerms& terms) : terms_(terms) {}

    [[nodiscard]] bool is_0_1() const { return terms_.has_value(); }
    // Returns the number of bytes before the payload of a request.
    [[nodiscard]] std::size_t header_size() const {
        return is_0_1() ? sizeof(PersistMessage) : frame_header_size;
    }
    // Encodes the bytes before the payload into PLACE, and returns them. Returns none if the
    // protocol of the peer has no such message.
    [[nodiscard]] std::span<const std::byte> encode(const FrameHeader& header, FrameBytes& place);
    // Decodes MESSAGE and leaves its payload in MESSAGE. On failure returns nothing and sets WHY.
    // POSTED is the number of frames that this end has sent.
    [[nodiscard]] std::optional<FrameHeader> decode(std::span<const std::byte>& message,
                                                    std::uint64_t posted, DecodeFailure& why);

private:
    std::optional<FrameHeader> decode_request(std::span<const std::byte>& message,
                                              std::string& why);
    std::optional<FrameHeader> decode_response(std::span<const std::byte>& message,
                                               std::uint64_t posted, std::string& why);

    std::optional<MessageTerms> terms_;
    std::uint64_t taken_ = 0;      // number of decoded messages of protocol 0.1
    std::uint32_t last_flags_ = 0; // flags of the last request, which the response repeats
};

} // namespace rpmem::wire
