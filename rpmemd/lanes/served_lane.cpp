// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/lanes/served_lane.hpp"

#include "common/base/probes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rpmem::target {
namespace {

// Limits the reads to the size of the ring.
wire::LaneTerms bounded(wire::LaneTerms terms) {
    terms.credits.reads = std::min<std::uint32_t>(terms.credits.reads, wire::max_reads);
    return terms;
}

} // namespace

using transport::Fault;
using transport::More;
using transport::PostResult;
using wire::FrameHeader;
using wire::FrameType;

ServedLane::ServedLane(unsigned index, std::unique_ptr<transport::LaneConnection> connection,
                       const wire::LaneTerms& terms, std::byte* pool, const Medium& medium,
                       WorkerCounters& counters)
    : index_(index), connection_(std::move(connection)), pool_(pool), medium_(medium),
      counters_(counters), requests_(bounded(terms)), dirty_(medium, pool, counters) {}

bool ServedLane::serve() {
    served_bytes_ = connection_->poll(*this);
    const transport::ConnectionFailure& failure = connection_->failure();
    if (failure.fault == Fault::medium)
        find_unreadable_page();
    if (transport::can_notify_peer(failure.fault) || failure.fault == Fault::medium)
        set_error_text(failure.text);
    if (!error_text_.empty() || connection_->ended())
        return false;
    answer_reads();
    // Persistent memory is flushed at once, because the worker would only wait for the next frame
    // otherwise.
    if (requests_.owes_ack() && (requests_.ack_is_due() || medium_.is_pmem()))
        acknowledge();
    return error_text_.empty();
}

bool ServedLane::begin(const FrameHeader& header, std::span<std::byte>&, std::string& why) {
    return requests_.check(header, why);
}

void ServedLane::take(const FrameHeader& header, std::size_t position,
                      std::span<const std::byte> chunk) {
    if (error_text_.empty())
        set_error_text(dirty_.copy(pool_ + header.offset + position, chunk));
}

bool ServedLane::end(const FrameHeader& header, std::string&) {
    requests_.complete(header);
    count(header);
    if (header.type == FrameType::persist)
        make_durable(header);
    if (!wire::is_acknowledged(header.type))
        reads_[(first_read_ + read_count_++) % wire::max_reads] = header;
    return true;
}

void ServedLane::count(const FrameHeader& header) {
    if (header.type == FrameType::write)
        return counters_.count(RequestKind::write, header.length);
    if (header.type == FrameType::read)
        return counters_.count(RequestKind::read, header.length);
    if (header.type != FrameType::persist) {
        if (header.type == FrameType::digest)
            counters_.count(RequestKind::digest, header.length);
        return;
    }
    const bool is_deep = (header.flags & wire::frame_flag::deep) != 0;
    counters_.count(header.length == 0 ? RequestKind::drain
                    : is_deep          ? RequestKind::deep_persist
                                       : RequestKind::persist,
                    header.length);
}

// A persist frame without a range only requests an ack.
void ServedLane::make_durable(const FrameHeader& header) {
    if (header.length == 0 || !error_text_.empty())
        return;
    std::byte* const address = pool_ + header.offset;
    if ((header.flags & wire::frame_flag::deep) == 0)
        return set_error_text(dirty_.add(address, header.length));
    set_error_text(dirty_.deep_persist(address, header.length));
}

void ServedLane::acknowledge() {
    std::string error_text = dirty_.persist();
    if (medium_.failure_code() != 0) // possibly of another lane, or of a header
        error_text = medium_.failure_text();
    set_error_text(std::move(error_text));
    if (!error_text_.empty() || !requests_.ack_is_due())
        return;
    const FrameHeader ack{.type = FrameType::ack, .number = requests_.last_complete()};
    if (connection_->post(ack, {}, More::none) != PostResult::yes)
        return; // the queue is full: the ack stays due
    RPMEM_PROBE(rpmemd, acknowledge, index_, ack.number);
    counters_.acknowledgements.add(1);
    requests_.acknowledged();
}

void ServedLane::answer_reads() {
    while (read_count_ > 0) {
        const FrameHeader& read = reads_[first_read_];
        const bool is_digest = read.type == FrameType::digest;
        const std::span<const std::byte> payload =
            is_digest ? digests_of(read) : std::span(pool_ + read.offset, read.length);
        const FrameHeader data{.type = FrameType::data,
                               .length = payload.size(),
                               .offset = read.offset,
                               .number = read.number};
        if (payload.empty() || connection_->post(data, payload, More::none) != PostResult::yes)
            return;
        digests_used_ += is_digest ? 1 : 0;
        requests_.answered(payload.size());
        first_read_ = (first_read_ + 1) % wire::max_reads;
        --read_count_;
    }
}

// Returns the payload that answers REQUEST. Returns nothing while all memory for it is in use by
// frames that are not sent. Hashes in this thread: a page that cannot be read raises SIGBUS here,
// and the fault handler reports it.
std::span<const std::byte> ServedLane::digests_of(const FrameHeader& request) {
    if (digests_used_ == digests_.size()) {
        if (connection_->unsent())
            return {};
        digests_used_ = 0;
    }
    const std::span digests =
        std::span(digests_[digests_used_]).first(wire::digest_count(request.length));
    // If the queue of the connection was full, the digests are there already.
    if (std::exchange(digested_, request.number) != request.number)
        digest(pool_ + request.offset, request.length, digests);
    return std::as_bytes(digests);
}

// Does not read holes: a read would allocate their pages.
void ServedLane::digest(std::byte* range, std::size_t size,
                        std::span<wire::BlockDigest> digests) const {
    for (std::size_t done = 0; !digests.empty();) {
        const std::size_t holes = medium_.hole_size(range + done, size - done) / wire::digest_block;
        std::ranges::fill(digests.first(holes), wire::digest_of_zeros);
        const std::size_t count = std::max<std::size_t>(holes, 1);
        if (holes == 0)
            wire::digest_blocks({range + done, size - done}, digests.first(1));
        digests = digests.subspan(count);
        done += count * wire::digest_block;
    }
}

void ServedLane::set_error_text(std::string error_text) {
    if (error_text_.empty())
        error_text_ = std::move(error_text);
}

void ServedLane::send_error() {
    const bool broke_rules = transport::can_notify_peer(connection_->failure().fault);
    send_error(broke_rules ? wire::ErrorKind::protocol : wire::ErrorKind::medium,
               broke_rules ? EBADMSG : EIO, error_text_);
}

void ServedLane::send_error(wire::ErrorKind kind, int code, const std::string& why) {
    sent_text_ = why.substr(0, wire::max_error_text);
    set_error_text(why);
    static_cast<void>(
        connection_->post({.type = FrameType::error,
                           .length = static_cast<std::uint32_t>(sent_text_.size()),
                           .offset = wire::offset_of_error(kind, static_cast<std::uint32_t>(code))},
                          std::as_bytes(std::span(sent_text_)), More::none));
    connection_->close();
}

// Reads the pages that the kernel could not copy from the pool. The fault handler then reports
// which page is unreadable: see rpmemd/durability/fault_handler.hpp.
void ServedLane::find_unreadable_page() const {
    constexpr std::size_t min_page = 4096; // the pool begins on a page
    for (const FrameHeader& read : reads_)
        for (std::size_t at = read.offset; at < read.offset + read.length;
             at = (at / min_page + 1) * min_page)
            static_cast<void>(*static_cast<volatile const std::byte*>(pool_ + at));
}

} // namespace rpmem::target
