// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/frame_lane.hpp"

#include "common/base/hot.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rpmem::initiator {
namespace {

using transport::More;
using transport::PostResult;
using transport::WaitResult;
using wire::FrameHeader;
using wire::FrameType;

// Small ranges are held back until there are max_coalesced bytes of them, because a system call to
// send takes as long as copying some tens of kilobytes. With their headers they fit into 64 KiB,
// the maximum that the kernel passes to a device at once.
constexpr std::size_t max_coalesced = std::size_t{60} * 1024;
constexpr std::size_t small_range = std::size_t{16} * 1024;

constexpr std::size_t whole_word = 8;

} // namespace

// Several pieces of a large range are read at once, so that the target always has one to send.
std::size_t max_read_piece(std::size_t max_payload) {
    constexpr std::size_t min_pieces = 4;
    return std::max<std::size_t>(max_payload / min_pieces / whole_word * whole_word, whole_word);
}

FrameLane::FrameLane(std::unique_ptr<transport::LaneConnection> connection,
                     std::unique_ptr<transport::Group> group, const wire::LaneTerms& terms,
                     std::byte* pool, WaitInterrupt interrupt, std::chrono::milliseconds timeout,
                     const DirectRanges& direct_ranges)
    : group_(std::move(group)), connection_(std::move(connection)), responses_(terms), pool_(pool),
      interrupt_(std::move(interrupt)), operation_timeout_(timeout), timeout_(timeout),
      method_(!terms.direct     ? Method::frames
              : terms.appliance ? Method::appliance
                                : Method::direct),
      direct_ranges_(direct_ranges), answers_each_(terms.credits.frames == 1) {
    // With the appliance method all relaxed ranges are written directly, because that makes them
    // durable without the target's processor.
    if (method_ == Method::appliance) {
        direct_ranges_.relaxed = 0;
        written_.reserve(max_unconfirmed_writes);
    }
}

void FrameLane::add_unconfirmed(std::vector<PoolRange>& ranges) const {
    ranges.insert(ranges.end(), written_.begin(), written_.end());
    responses_.each_unacknowledged([&](std::uint64_t offset, std::uint64_t length) {
        ranges.push_back({offset, length});
    });
}

// Sends what was held back, then a bye. Does not wait, so bytes that the network does not accept at
// once are lost.
FrameLane::~FrameLane() { connection_->close(); }

int FrameLane::flush(std::size_t offset, std::size_t length, bool relaxed) {
    if (goes_directly(length, relaxed))
        return write_directly(offset, length, 0);
    const bool waits = length <= small_range && coalesced_ + length < max_coalesced;
    coalesced_ = waits ? coalesced_ + length : 0;
    return send(offset, length, 0, waits ? More::follows : More::none);
}

int FrameLane::drain() {
    if (!has_unacknowledged())
        return 0;
    if (const int code = ask_for_ack())
        return code;
    return wait_for_acks();
}

// Requests an ack for everything that was sent, unless that was done already.
int FrameLane::ask_for_ack() {
    return ack_is_asked_
               ? 0
               : post(FrameType::persist, wire::frame_flag::answer_wanted, 0, 0, More::none);
}

RPMEM_NO_CANARY int FrameLane::persist(std::size_t offset, std::size_t length, bool relaxed) {
    if (goes_directly(length, relaxed)) {
        if (const int code = write_directly(offset, length, wire::frame_flag::answer_wanted))
            return code;
        return drain();
    }
    if (const int code = send(offset, length, wire::frame_flag::answer_wanted, More::none))
        return code;
    return wait_for_acks();
}

int FrameLane::deep_persist(std::size_t offset, std::size_t length) {
    constexpr std::uint8_t flags = wire::frame_flag::answer_wanted | wire::frame_flag::deep;
    constexpr std::size_t max_piece = UINT32_MAX / whole_word * whole_word; // maximum of a frame
    const int sent = goes_directly(length, false) ? write_directly(offset, length, 0)
                                                  : send(offset, length, 0, More::follows);
    if (sent != 0)
        return sent;
    if (!written_.empty())
        if (const int code = confirm_writes())
            return code;
    for (std::size_t done = 0; done < length;) {
        const std::size_t size = std::min(length - done, max_piece);
        if (const int code = post(FrameType::persist, flags, offset + done,
                                  static_cast<std::uint32_t>(size), More::none))
            return code;
        done += size;
    }
    return wait_for_acks();
}

[[gnu::always_inline]] inline int FrameLane::send(std::size_t offset, std::size_t length,
                                                  std::uint8_t last_flags, More last_more) {
    if (length <= responses_.max_payload() - whole_word) [[likely]]
        return post_now(FrameType::write, last_flags, offset, static_cast<std::uint32_t>(length),
                        last_more);
    return send_pieces(offset, length, last_flags, last_more);
}

// Sends frames that end between aligned words of the pool, so that the target stores each word as a
// whole.
int FrameLane::send_pieces(std::size_t offset, std::size_t length, std::uint8_t last_flags,
                           More last_more) {
    const std::size_t whole = responses_.max_payload() / whole_word * whole_word;
    while (length > 0) {
        const std::size_t size = std::min(length, whole - offset % whole_word);
        const bool is_last = size == length;
        if (const int code =
                post(FrameType::write, is_last ? last_flags : std::uint8_t{0}, offset,
                     static_cast<std::uint32_t>(size), is_last ? last_more : More::none))
            return code;
        offset += size;
        length -= size;
    }
    return 0;
}

[[gnu::always_inline]] inline int FrameLane::post_now(FrameType type, std::uint8_t flags,
                                                      std::size_t offset, std::uint32_t length,
                                                      More more) {
    while (!responses_.has_room(type, length))
        if (const int code = wait_for_room())
            return code;
    const FrameHeader header = responses_.add(type, flags, offset, length);
    if (wire::is_acknowledged(type))
        ack_is_asked_ = answers_each_ || (flags & wire::frame_flag::answer_wanted) != 0;
    if (type == FrameType::write)
        last_data_ = header.number;
    const std::span<const std::byte> piece(pool_ + offset, wire::payload_of(header));
    // If the connection has ended, make_progress() first processes the frames that have arrived,
    // and then returns the reason.
    while (connection_->post(header, piece, more) != PostResult::yes)
        if (const int code = make_progress())
            return code;
    return 0;
}

int FrameLane::post(FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
                    More more) {
    return post_now(type, flags, offset, length, more);
}

[[gnu::always_inline]] inline int FrameLane::wait_for_acks() {
    coalesced_ = 0;
    if (!written_.empty())
        if (const int code = confirm_writes())
            return code;
    while (has_unacknowledged())
        if (const int code = make_progress())
            return code;
    return 0;
}

int FrameLane::wait_for_room() {
    ++*waits_;
    return make_progress();
}

int FrameLane::wait_for_news() {
    if (failure_ == 0)
        failure_ = sleep_for_news();
    return failure_;
}

int FrameLane::sleep_for_news() {
    if (connection_->ended())
        return after_the_end();
    switch (group_->wait(timeout_, interrupt_.fd)) {
    case WaitResult::look:
        break;
    case WaitResult::woken:
        return interrupt_.is_lost() ? ECONNRESET : 0;
    case WaitResult::timed_out:
        return wait_is_over();
    }
    return 0;
}

// A wait that limit_waits() has limited continues without that limit after progress.
int FrameLane::wait_is_over() {
    if (timeout_ == operation_timeout_ || progress() == limited_at_)
        return ETIMEDOUT;
    timeout_ = operation_timeout_;
    return 0;
}

int FrameLane::after_the_end() const {
    switch (connection_->failure().fault) {
    case transport::Fault::broke_protocol:
        return EBADMSG;
    case transport::Fault::medium:
        return EFAULT;
    default:
        return ECONNRESET;
    }
}

int FrameLane::read(std::byte* destination, std::size_t offset, std::size_t length) {
    const bool is_direct = method_ != Method::frames;
    const bool bounces = is_direct && !connection_->abilities().bounce_buffer.empty();
    const int code = is_direct && connection_->reaches({destination, length})
                         ? read_directly(destination, offset, length)
                     : bounces ? read_bounced(destination, offset, length)
                               : read_pieces(destination, offset, length);
    if (code != 0)
        connection_->abandon(); // DESTINATION belongs to the caller again
    return code;
}

int FrameLane::read_pieces(std::byte* destination, std::size_t offset, std::size_t length) {
    const std::size_t max_piece = max_read_piece(responses_.max_payload());
    while (length > 0) {
        const auto size = static_cast<std::uint32_t>(std::min(length, max_piece));
        if (const int code = request_data(FrameType::read, {destination, size}, offset, size))
            return code;
        destination += size;
        offset += size;
        length -= size;
    }
    return await_data();
}

int FrameLane::digests(std::span<wire::BlockDigest> digests, std::size_t offset, std::size_t length,
                       const std::function<void()>& meanwhile) try {
    if (!responses_.allows_digests())
        return ENOTSUP;
    if (offset % wire::digest_block != 0 || digests.size() != wire::digest_count(length))
        return EINVAL;
    int code = request_digests(std::as_writable_bytes(digests), offset, length);
    if (code == 0 && meanwhile)
        meanwhile();
    if (code == 0)
        code = await_data();
    if (code != 0)
        connection_->abandon(); // DIGESTS belong to the caller again
    return code;
} catch (...) {
    connection_->abandon();
    throw;
}

// Several frames are in progress at once, so that the target always has one to answer.
int FrameLane::request_digests(std::span<std::byte> place, std::size_t offset, std::size_t length) {
    while (length > 0) {
        const auto size = static_cast<std::uint32_t>(std::min(length, wire::max_digest_range));
        const std::size_t answer = wire::digest_count(size) * wire::digest_size;
        if (const int code = request_data(FrameType::digest, place.first(answer), offset, size))
            return code;
        place = place.subspan(answer);
        offset += size;
        length -= size;
    }
    return 0;
}

// Sends a request as soon as the credits allow it. Its data will be stored in PLACE.
int FrameLane::request_data(FrameType type, std::span<std::byte> place, std::size_t offset,
                            std::uint32_t length) {
    while (!responses_.has_room(type, length))
        if (const int code = wait_for_room())
            return code;
    places_[(responses_.reads_ended() + responses_.reads()) % wire::max_reads] = place;
    return post(type, 0, offset, length, More::none);
}

int FrameLane::await_data() {
    while (responses_.reads() > 0)
        if (const int code = make_progress())
            return code;
    return 0;
}

bool FrameLane::begin(const FrameHeader& header, std::span<std::byte>& place, std::string& why) {
    if (header.type == FrameType::data)
        place = places_[responses_.reads_ended() % wire::max_reads];
    return responses_.check(header, why);
}

// Receives the text of an error. All other payloads have a place.
void FrameLane::take(const FrameHeader&, std::size_t, std::span<const std::byte> chunk) {
    target_error_.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
}

// Only complete frames are progress, because an ack that arrives byte by byte must not extend a
// wait.
bool FrameLane::end(const FrameHeader& header, std::string&) {
    group_->progressed();
    if (header.type == FrameType::data)
        responses_.read_complete();
    return true;
}

std::string FrameLane::violation() const {
    return target_error_.empty() ? connection_->failure().text : target_error_;
}

} // namespace rpmem::initiator
