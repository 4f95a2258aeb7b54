// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes messages on a lane over libfabric: frames, or messages of protocol 0.1 at either end. The
// first byte selects one. A range outside of the pool, a wrong number, or a refusal without a
// reason fails.
#include "common/wire/lane_encoding.hpp"

#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using fuzz::require;

constexpr std::uint64_t base = 0x7f0000000000;
constexpr std::uint64_t pool_size = 1 << 20;

wire::LaneEncoding make_end(unsigned kind) {
    if (kind == 0)
        return {};
    return wire::LaneEncoding({.end = kind == 1 ? wire::LaneEnd::initiator : wire::LaneEnd::target,
                               .lane = 3,
                               .remote_base = base,
                               .pool_size = pool_size});
}

void check_request(const wire::FrameHeader& header, std::span<const std::byte> payload) {
    require(header.offset <= pool_size && header.length <= pool_size - header.offset,
            "a range is within the pool");
    require(header.type == wire::FrameType::write || header.type == wire::FrameType::persist,
            "a message writes or persists");
    require(payload.size() == wire::payload_of(header), "the payload is what the header says");
    require((header.flags & wire::frame_flag::answer_wanted) != 0, "each message wants an answer");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const unsigned kind = input.take_value<std::uint8_t>() % 3;
    wire::LaneEncoding encoding = make_end(kind);
    constexpr std::uint64_t posted = 2;
    for (std::uint64_t number = 1; input.left() > 0; ++number) {
        const fuzz::Bytes message = input.take(input.take_value<std::uint8_t>());
        std::span<const std::byte> left(message);
        wire::DecodeFailure why;
        const auto header = encoding.decode(left, posted, why);
        require(header.has_value() == why.text.empty(), "a refusal says why");
        if (!header)
            return 0;
        require(kind == 0 || header->number == number, "messages are counted");
        if (kind == 1)
            require(header->type == wire::FrameType::ack && number <= posted && left.empty(),
                    "an answer is to a message");
        if (kind == 2)
            check_request(*header, left);
    }
    return 0;
}
