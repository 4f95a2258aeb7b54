// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/lane_encoding.hpp"

#include <fmt/format.h>

#include <cstring>

namespace rpmem::wire {
namespace {

PersistMode mode_of(const FrameHeader& header) {
    if (header.type == FrameType::write)
        return PersistMode::inline_data;
    return (header.flags & frame_flag::deep) != 0 ? PersistMode::deep_persist
                                                  : PersistMode::persist_written;
}

template <typename Message>
std::span<const std::byte> put(const Message& message, FrameBytes& place) {
    static_assert(sizeof(message) <= frame_header_size);
    std::memcpy(place.data(), &message, sizeof(message));
    return std::span(place).template first<sizeof(message)>();
}

std::optional<FrameHeader> decode_frame(std::span<const std::byte>& message, DecodeFailure& why) {
    if (message.size() < frame_header_size) {
        why.text = fmt::format("sent a message of {} bytes; a frame has at least {}",
                               message.size(), frame_header_size);
        return std::nullopt;
    }
    const auto header = decode_frame_header(message.first<frame_header_size>());
    if (!header)
        why = {.text = damage_of_header(message.first<frame_header_size>()), .is_damaged = true};
    message = message.subspan(frame_header_size);
    return header;
}

} // namespace

std::span<const std::byte> LaneEncoding::encode(const FrameHeader& header, FrameBytes& place) {
    if (!terms_) {
        place = wire::encode(header);
        return place;
    }
    if (terms_->end == LaneEnd::target)
        return header.type == FrameType::ack
                   ? put(PersistResponse{last_flags_, terms_->lane}, place)
                   : std::span<const std::byte>();
    if (header.type != FrameType::write && header.type != FrameType::persist)
        return {};
    return put(PersistMessage{static_cast<std::uint32_t>(mode_of(header)), terms_->lane,
                              terms_->remote_base + header.offset, header.length},
               place);
}

std::optional<FrameHeader> LaneEncoding::decode(std::span<const std::byte>& message,
                                                std::uint64_t posted, DecodeFailure& why) {
    if (!terms_)
        return decode_frame(message, why);
    return terms_->end == LaneEnd::target ? decode_request(message, why.text)
                                          : decode_response(message, posted, why.text);
}

std::optional<FrameHeader> LaneEncoding::decode_request(std::span<const std::byte>& message,
                                                        std::string& why) {
    PersistMessage request{};
    if (message.size() < sizeof(request)) {
        why = fmt::format("sent a message of {} bytes, which is shorter than its header of {}",
                          message.size(), sizeof(request));
        return std::nullopt;
    }
    std::memcpy(&request, message.data(), sizeof(request));
    message = message.subspan(sizeof(request));
    last_flags_ = request.flags;
    const std::uint64_t offset = request.addr - terms_->remote_base;
    const auto mode = static_cast<PersistMode>(request.flags & persist_mode_mask);
    const bool has_data = mode == PersistMode::inline_data;
    if (request.addr < terms_->remote_base || offset > terms_->pool_size ||
        request.size > terms_->pool_size - offset)
        why = fmt::format("named a range of {} bytes at {:#x}, which is not within the pool of {} "
                          "bytes at {:#x}",
                          request.size, request.addr, terms_->pool_size, terms_->remote_base);
    else if (mode > PersistMode::inline_data)
        why = fmt::format("sent persist mode {} in flags {:#x}; the maximum is {}",
                          static_cast<unsigned>(mode), request.flags,
                          static_cast<unsigned>(PersistMode::inline_data));
    else if (has_data && request.size != message.size())
        why = fmt::format("sent a message that announces {} bytes of data and carries {}",
                          request.size, message.size());
    if (!why.empty())
        return std::nullopt;
    if (!has_data)
        message = {}; // only a message with inline data has a payload
    const std::uint8_t deep = mode == PersistMode::deep_persist ? frame_flag::deep : 0;
    return FrameHeader{.type = has_data && request.size > 0 ? FrameType::write : FrameType::persist,
                       .flags = static_cast<std::uint8_t>(frame_flag::answer_wanted | deep),
                       .length = request.size,
                       .offset = offset,
                       .number = ++taken_};
}

// Does not check the flags of a response, because the daemon of 1.12.1 never sets them.
std::optional<FrameHeader> LaneEncoding::decode_response(std::span<const std::byte>& message,
                                                         std::uint64_t posted, std::string& why) {
    PersistResponse response{};
    if (message.size() != sizeof(response)) {
        why = fmt::format("sent a response of {} bytes, expected {}", message.size(),
                          sizeof(response));
        return std::nullopt;
    }
    std::memcpy(&response, message.data(), sizeof(response));
    message = {};
    if (response.lane != terms_->lane)
        why = fmt::format("sent a response for lane {}, expected lane {}", response.lane,
                          terms_->lane);
    else if (taken_ == posted)
        why = "sent a response when no message was waiting for one";
    return why.empty() ? std::optional(FrameHeader{.type = FrameType::ack, .number = ++taken_})
                       : std::nullopt;
}

} // namespace rpmem::wire
