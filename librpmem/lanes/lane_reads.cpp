// How a lane reads: at once where the destination and the pool can be reached, otherwise in pieces,
// of which several are on their way.
#include "base/cache_line.hpp"
#include "lanes/lane.hpp"

#include <algorithm>
#include <cstring>

namespace rpmem {
namespace {

// Bytes of one read: large ones are quick, and the next should follow before it has ended.
constexpr std::size_t most_read = std::size_t{1024} * 1024;

// Halves of less take as long as the whole.
constexpr std::size_t least_halved = std::size_t{64} * 1024;

} // namespace

// A piece is fetched into a window, if the pool itself is out of reach; read; and copied from where
// it landed, if that is not its destination.
struct Lane::PiecewiseRead {
    std::byte* destination;
    void* descriptor;
    std::size_t offset;
    std::size_t length;
    std::size_t piece_size;
    std::size_t pieces_under_way;
    bool lands_elsewhere;

    [[nodiscard]] std::size_t pieces() const { return (length + piece_size - 1) / piece_size; }
    [[nodiscard]] std::size_t begin(std::size_t piece) const { return piece * piece_size; }
    [[nodiscard]] std::size_t size(std::size_t piece) const {
        return std::min(length - begin(piece), piece_size);
    }
};

int Lane::read_behind_writes() {
    constexpr std::size_t word_size = sizeof(std::uint64_t);
    if (const int code =
            read_at_once(landing_, buffers_region_.descriptor(), memory_.remote.address, word_size))
        return code;
    has_unconfirmed_writes_ = false;
    return 0;
}

int Lane::read(std::byte* destination, std::size_t offset, std::size_t length) {
    const int code = read_range(destination, offset, length);
    if (code != 0)
        endpoint_.close(); // what is still on its way must not come after the caller went on
    return code;
}

int Lane::read_range(std::byte* destination, std::size_t offset, std::size_t length) {
    // The target's provider, or device, answers a READ by itself: it does not wait until a worker
    // has copied what messages brought before.
    if (const int code = wait_for_answers())
        return code;
    // The pool itself is registered; so a read back into its own place needs no copy anywhere.
    const bool in_pool =
        destination >= memory_.local && destination + length <= memory_.local + memory_.size;
    const bool lands_elsewhere = limits_.local_registration && !in_pool;
    void* const descriptor = in_pool ? memory_.local_descriptor : nullptr;
    if (!lands_elsewhere && !memory_.messages_only)
        return read_at_once(destination, descriptor, memory_.remote.address + offset, length);
    PiecewiseRead read{.destination = destination,
                       .descriptor = descriptor,
                       .offset = offset,
                       .length = length,
                       .piece_size = landing_size,
                       .pieces_under_way = landing_places,
                       .lands_elsewhere = lands_elsewhere};
    if (memory_.messages_only) {
        read.piece_size = lands_elsewhere ? std::min(inline_size(), landing_size) : inline_size();
        read.pieces_under_way = limits_.messages.windows;
        if (read.pieces_under_way > 1)
            read.piece_size = std::min(read.piece_size,
                                       std::max(up_to_cache_lines((length + 1) / 2), least_halved));
    }
    return read_piecewise(read);
}

int Lane::read_at_once(std::byte* destination, void* descriptor, std::uint64_t address,
                       std::size_t length) {
    while (length > 0) {
        const std::size_t size = std::min({length, most_read, limits_.max_transfer});
        if (const int code = start_read(destination, size, descriptor, address, nullptr))
            return code;
        destination += size;
        address += size;
        length -= size;
    }
    return wait_for_operations();
}

int Lane::read_piecewise(const PiecewiseRead& read) {
    const std::uint64_t before = answered_;
    const std::size_t pieces = read.pieces();
    std::size_t fetched = 0;
    std::size_t started = 0;
    std::size_t finished = 0;
    while (finished < pieces) {
        const std::size_t place = finished % read.pieces_under_way;
        int code = 0;
        if (fetched < pieces && fetched - finished < read.pieces_under_way) {
            if (memory_.messages_only)
                code = request(wire::PersistMode::fetch, read.offset + read.begin(fetched),
                               read.size(fetched), Answer::wanted,
                               static_cast<unsigned>(fetched % read.pieces_under_way));
            ++fetched;
        } else if (started < fetched && (!memory_.messages_only || answered_ - before > started)) {
            code = start_piece(read, started++);
        } else if (finished < started && landed_[place]) {
            if (read.lands_elsewhere)
                std::memcpy(read.destination + read.begin(finished),
                            landing_ + place * landing_size, read.size(finished));
            ++finished;
        } else {
            code = make_progress();
        }
        if (code != 0)
            return code;
    }
    return 0;
}

int Lane::start_piece(const PiecewiseRead& read, std::size_t piece) {
    const std::size_t place = piece % read.pieces_under_way;
    const std::uint64_t source =
        memory_.messages_only
            ? (std::size_t{index_} * limits_.messages.windows + place) * inline_size()
            : read.offset + read.begin(piece);
    landed_[place] = false;
    return start_read(read.lands_elsewhere ? landing_ + place * landing_size
                                           : read.destination + read.begin(piece),
                      read.size(piece),
                      read.lands_elsewhere ? buffers_region_.descriptor() : read.descriptor,
                      memory_.remote.address + source, &landed_[place]);
}

} // namespace rpmem
