#include "lanes/frame_lane.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rpmem {
namespace {

using transport::More;
using transport::Posted;
using transport::Waited;
using wire::FrameHeader;
using wire::FrameType;

// Small ranges wait for others until there are so many bytes of them: a call to the network takes
// as long as to copy some tens of kilobytes.
constexpr std::size_t most_gathered = std::size_t{32} * 1024;
constexpr std::size_t small_range = most_gathered / 2;

// So many pieces of a large range are under way that the target is always busy.
constexpr std::size_t least_pieces = 4;

constexpr std::size_t word = 8;

} // namespace

FrameLane::FrameLane(std::unique_ptr<transport::Connection> connection,
                     std::unique_ptr<transport::Group> group, const wire::LaneTerms& terms,
                     std::byte* pool, Alarm alarm, std::chrono::milliseconds timeout)
    : group_(std::move(group)), connection_(std::move(connection)), responses_(terms), pool_(pool),
      alarm_(std::move(alarm)), timeout_(timeout) {}

int FrameLane::flush(std::size_t offset, std::size_t length) {
    const bool waits = length <= small_range && gathered_ + length <= most_gathered;
    gathered_ = waits ? gathered_ + length : 0;
    return send(offset, length, 0, waits ? More::follows : More::none);
}

int FrameLane::drain() {
    if (!owes())
        return 0;
    if (!ack_is_asked_)
        if (const int code =
                post(FrameType::persist, wire::frame_flag::answer_wanted, 0, 0, More::none))
            return code;
    return wait_for_acks();
}

int FrameLane::persist(std::size_t offset, std::size_t length) {
    if (const int code = send(offset, length, wire::frame_flag::answer_wanted, More::none))
        return code;
    return wait_for_acks();
}

int FrameLane::deep_persist(std::size_t offset, std::size_t length) {
    constexpr std::uint8_t flags = wire::frame_flag::answer_wanted | wire::frame_flag::deep;
    constexpr std::size_t most = UINT32_MAX / word * word; // of one frame
    if (const int code = send(offset, length, 0, More::follows))
        return code;
    for (std::size_t done = 0; done < length;) {
        const std::size_t size = std::min(length - done, most);
        if (const int code = post(FrameType::persist, flags, offset + done,
                                  static_cast<std::uint32_t>(size), More::none))
            return code;
        done += size;
    }
    return wait_for_acks();
}

// In frames that end at a word of the pool, which the target then stores as a whole.
int FrameLane::send(std::size_t offset, std::size_t length, std::uint8_t last_flags,
                    More last_more) {
    const std::size_t whole = responses_.most_payload() / word * word;
    while (length > 0) {
        const std::size_t size = std::min(length, whole - offset % word);
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

int FrameLane::post(FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
                    More more) {
    while (!responses_.has_room(type, length))
        if (const int code = make_progress())
            return code;
    const FrameHeader header = responses_.add(type, flags, offset, length);
    if (type != FrameType::read)
        ack_is_asked_ = (flags & wire::frame_flag::answer_wanted) != 0;
    const std::span<const std::byte> piece(pool_ + offset, wire::payload_of(header));
    while (true) {
        const Posted posted = connection_->post(header, piece, more);
        if (posted == Posted::yes)
            return 0;
        // The connection tells why it has ended when what has come is taken.
        if (const int code = make_progress())
            return code;
    }
}

int FrameLane::wait_for_acks() {
    gathered_ = 0;
    while (owes())
        if (const int code = make_progress())
            return code;
    return 0;
}

int FrameLane::make_progress() {
    if (connection_->poll(*this) > 0) {
        group_->progressed();
        return connection_->ended() ? after_the_end() : 0;
    }
    if (connection_->ended())
        return after_the_end();
    switch (group_->wait(timeout_, alarm_.fd)) {
    case Waited::look:
        break;
    case Waited::woken:
        return alarm_.is_lost() ? ECONNRESET : 0;
    case Waited::timed_out:
        return ETIMEDOUT;
    }
    return 0;
}

int FrameLane::after_the_end() const {
    return connection_->failure().fault == transport::Fault::broke_protocol ? EBADMSG : ECONNRESET;
}

int FrameLane::read(std::byte* destination, std::size_t offset, std::size_t length) {
    const int code = read_pieces(destination, offset, length);
    if (code != 0)
        connection_->let_go(); // DESTINATION is the caller's again
    return code;
}

int FrameLane::read_pieces(std::byte* destination, std::size_t offset, std::size_t length) {
    const std::size_t most =
        std::max<std::size_t>(responses_.most_payload() / least_pieces / word * word, word);
    while (length > 0) {
        const auto size = static_cast<std::uint32_t>(std::min(length, most));
        while (!responses_.has_room(FrameType::read, size))
            if (const int code = make_progress())
                return code;
        places_[(responses_.reads_ended() + responses_.reads()) % wire::most_reads] = {destination,
                                                                                       size};
        if (const int code = post(FrameType::read, 0, offset, size, More::none))
            return code;
        destination += size;
        offset += size;
        length -= size;
    }
    while (responses_.reads() > 0)
        if (const int code = make_progress())
            return code;
    return 0;
}

bool FrameLane::begin(const FrameHeader& header, std::span<std::byte>& place, std::string& why) {
    if (!responses_.check(header, why))
        return false;
    if (header.type == FrameType::data)
        place = places_[responses_.reads_ended() % wire::most_reads];
    return true;
}

// The text of an error; nothing else has a payload without a place.
void FrameLane::take(const FrameHeader&, std::size_t, std::span<const std::byte> chunk) {
    last_words_.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
}

bool FrameLane::end(const FrameHeader& header, std::string&) {
    if (header.type == FrameType::data)
        responses_.read_complete();
    return true;
}

const std::string& FrameLane::complaint() const {
    return last_words_.empty() ? connection_->failure().text : last_words_;
}

} // namespace rpmem
