// SPDX-License-Identifier: BSD-3-Clause
// Operations of a lane by direct access, without the processor of the target. The connection must
// support that, and the target must allow it.
#include "librpmem/lanes/frame_lane.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::initiator {
namespace {

using transport::More;
using transport::PostResult;
using wire::FrameType;

// Maximum size of a direct write. It is large, because each write costs a frame and may cost an
// msync(2) on the target. It is limited, so that the target makes one durable while the next is in
// transit.
constexpr std::size_t max_written = std::size_t{1024} * 1024;

// Maximum size of a direct read. Large reads are fast, but the next should start before the first
// has completed.
constexpr std::size_t max_read = std::size_t{1024} * 1024;

} // namespace

// Posts an operation as soon as the queue has room for it.
template <typename Post>
int FrameLane::post_directly(Post post_operation) {
    while (post_operation() != PostResult::yes)
        if (const int code = make_progress())
            return code;
    return 0;
}

// Waits until the target has acknowledged the data of all frames. A direct write is in the pool as
// soon as it arrives, possibly before the target has copied the data of an earlier frame. Then
// older bytes would overwrite newer ones, and the later range could be durable first.
int FrameLane::let_data_arrive() {
    if (responses_.acknowledged() >= last_data_)
        return 0;
    if (const int code = ask_for_ack())
        return code;
    coalesced_ = 0;
    while (responses_.acknowledged() < last_data_)
        if (const int code = make_progress())
            return code;
    return 0;
}

int FrameLane::write_directly(std::size_t offset, std::size_t length, std::uint8_t last_flags) {
    if (const int code = let_data_arrive())
        return code;
    const std::size_t max_size = std::min(max_written, connection_->abilities().max_bytes);
    while (length > 0) {
        const std::size_t size = std::min(length, max_size);
        if (written_.size() == max_unconfirmed_writes)
            if (const int code = confirm_writes())
                return code;
        if (const int code = post_directly([&] {
                return connection_->write(offset, {pool_ + offset, size});
            }))
            return code;
        // In a range of several pieces an ack of each shows that the target makes progress.
        const std::uint8_t flags = size == length && length < max_size
                                       ? last_flags
                                       : std::uint8_t{wire::frame_flag::answer_wanted};
        if (method_ == Method::appliance)
            written_.push_back({offset, size});
        else if (const int code = post(FrameType::persist, flags, offset,
                                       static_cast<std::uint32_t>(size), More::none))
            return code;
        offset += size;
        length -= size;
    }
    return 0;
}

int FrameLane::await_reads() {
    while (connection_->open_reads() > 0)
        if (const int code = make_progress())
            return code;
    return 0;
}

int FrameLane::confirm_writes() {
    if (const int code = post_directly([&] { return connection_->read(0, {}); }))
        return code;
    if (const int code = await_reads())
        return code;
    written_.clear();
    return 0;
}

// The device of the target does not wait until the target has copied the data of earlier frames, so
// this function does.
int FrameLane::read_directly(std::byte* destination, std::size_t offset, std::size_t length) {
    if (const int code = let_data_arrive())
        return code;
    const std::size_t max_size = std::min(max_read, connection_->abilities().max_bytes);
    while (length > 0) {
        const std::size_t size = std::min(length, max_size);
        if (const int code = post_directly([&] {
                return connection_->read(offset, {destination, size});
            }))
            return code;
        destination += size;
        offset += size;
        length -= size;
    }
    return await_reads();
}

int FrameLane::read_bounced(std::byte* destination, std::size_t offset, std::size_t length) {
    const std::span<std::byte> bounce_buffer = connection_->abilities().bounce_buffer;
    while (length > 0) {
        const std::size_t size = std::min(length, bounce_buffer.size());
        if (const int code = read_directly(bounce_buffer.data(), offset, size))
            return code;
        std::memcpy(destination, bounce_buffer.data(), size);
        destination += size;
        offset += size;
        length -= size;
    }
    return 0;
}

} // namespace rpmem::initiator
