// SPDX-License-Identifier: BSD-3-Clause
// The simulated connection between the two ends of a lane: delays, buffers that fill up, partial
// calls, resets and losses.
#pragma once

#include "tests/simulation/world.hpp"

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace rpmem::simulation {

struct Conditions {
    Time delay = 0;           // delay of each byte
    Time jitter = 0;          // maximum additional delay
    std::size_t capacity = 1; // maximum of bytes sent and not received, in each direction
    unsigned partial = 0;     // percent of the calls that move fewer bytes than they could
};

enum class Side { initiator, target };

// tcp(7) has this limit for TCP_CORK. MSG_MORE has the same effect for one call.
inline constexpr Time max_held = 200 * millisecond;
inline constexpr std::size_t segment = 1448;

// See rpmem-protocol(7) for the messages of a proof. A welcome is the target's last one.
inline constexpr std::size_t proof_of_initiator = 96 + 32;
inline constexpr std::size_t proof_of_target = 72 + 48;
inline constexpr std::size_t new_capacity = 512;

inline Side other(Side side) { return side == Side::initiator ? Side::target : Side::initiator; }

inline std::size_t size_of(std::span<const iovec> pieces) {
    std::size_t size = 0;
    for (const iovec& piece : pieces)
        size += piece.iov_len;
    return size;
}

// A connection. Like in a kernel, it still exists after both ends have closed it.
class Link {
public:
    Link(World& world, const Conditions& conditions)
        : world_(world), conditions_(conditions),
          ring_size_(std::max(conditions.capacity, new_capacity)) {
        for (Way& way : ways_)
            way.ring.reset(new std::byte[ring_size_]);
    }

    // Like Stream::send() and receive(), but for one side.
    ssize_t send(Side side, std::span<const iovec> pieces, bool more) {
        if (side == Side::target && before_ack_ && !is_new(side))
            std::exchange(before_ack_, nullptr)();
        Way& way = way_to(other(side));
        if (const int error = take_error(side))
            return -error;
        if (end(side).is_dead)
            return -EPIPE;
        if (const int error = std::exchange(end(side).send_error, 0))
            return -error;
        const std::size_t room = room_of(side);
        const bool fills = size_of(pieces) >= room; // a full buffer is sent, also the held bytes
        std::size_t size = std::min(size_of(pieces), room);
        if (size == 0)
            return -EAGAIN;
        if (!is_new(side) && world_.random().chance(conditions_.partial))
            size = 1 + world_.random().below(size);
        way.sent += size;
        append(way, pieces, size);
        way.held += size;
        world_.note("sends {} bytes, {} are under way", size, way.used, more ? 1 : 0);
        release(other(side), more && !fills ? way.held % segment : 0);
        if (way.held > 0)
            world_.at(world_.now() + max_held,
                      [this, receiver = other(side)] { release(receiver, 0); });
        return static_cast<ssize_t>(size);
    }
    ssize_t receive(Side side, std::span<const iovec> places) {
        Way& way = way_to(side);
        if (way.arrived == 0) {
            if (const int error = take_error(side))
                return -error;
            return end(side).is_dead || way.has_end ? 0 : -EAGAIN;
        }
        std::size_t size = std::min(size_of(places), way.arrived);
        if (world_.random().chance(conditions_.partial))
            size = 1 + world_.random().below(size);
        std::size_t left = size;
        for (const iovec& place : places) {
            auto* to = static_cast<std::byte*>(place.iov_base);
            std::size_t length = std::min(left, place.iov_len);
            left -= length;
            while (length > 0) {
                const std::size_t count = std::min(length, ring_size_ - way.first);
                std::memcpy(to, way.ring.get() + way.first, count);
                way.first = (way.first + count) % ring_size_;
                to += count;
                length -= count;
            }
        }
        way.used -= size;
        way.arrived -= size;
        world_.note("receives {} bytes, {} more are there", size, way.arrived);
        if (is_writable(other(side)))
            wake(other(side));
        return static_cast<ssize_t>(size);
    }
    void finish(Side side) {
        release(other(side), 0);
        Way& way = way_to(other(side));
        if (way.is_silent)
            return;
        world_.at(due(way), [this, receiver = other(side)] {
            way_to(receiver).has_end = true;
            wake(receiver);
        });
    }
    // The peer may receive the bytes that were sent. Then it gets a reset.
    void reset(Side side) {
        if (std::exchange(end(side).is_closed, true))
            return;
        Way& way = way_to(other(side));
        way_to(side).is_lost = true;
        if (way.is_silent)
            return;
        const bool overtakes = world_.random().chance(30);
        if (overtakes)
            way.is_lost = true;
        world_.at(overtakes ? world_.now() + conditions_.delay : due(way),
                  [this, receiver = other(side)] { fail(receiver, ECONNRESET); });
    }
    // Like close(2): the bytes that were sent still arrive. If bytes have arrived that were not
    // received, the peer gets a reset instead.
    void close(Side side) {
        if (end(side).is_closed)
            return;
        if (way_to(side).arrived > 0)
            return reset(side);
        end(side).is_closed = true;
        way_to(side).is_lost = true;
        finish(side);
    }

    // The buffers of a new connection always have room for a complete message of the proof.
    [[nodiscard]] bool is_new(Side sender) const {
        return way_to(other(sender)).sent <
               (sender == Side::initiator ? proof_of_initiator : proof_of_target);
    }
    [[nodiscard]] bool is_readable(Side side) const {
        const Way& way = way_to(side);
        return way.arrived > 0 || way.has_end || end(side).error != 0 || end(side).is_dead;
    }
    // Returns whether the peer sends nothing more (POLLRDHUP). Received bytes may remain.
    [[nodiscard]] bool has_hung_up(Side side) const {
        return way_to(side).has_end || end(side).is_dead;
    }
    // Like a socket of Linux, it is writable when a third of the buffer is free.
    [[nodiscard]] bool is_writable(Side side) const {
        return room_of(side) * 3 >= conditions_.capacity || end(side).error != 0 ||
               end(side).is_dead;
    }
    // Registers a fiber, which is woken when the connection changes at SIDE.
    void add_waiter(Side side, Fiber* fiber) { end(side).waiters.push_back(fiber); }
    void remove_waiter(Side side, Fiber* fiber) {
        auto& waiters = end(side).waiters;
        if (const auto found = std::ranges::find(waiters, fiber); found != waiters.end())
            waiters.erase(found);
    }
    // The time of the last arrival of bytes at this side.
    [[nodiscard]] Time last_arrival(Side side) const { return way_to(side).last_arrival; }

    // Before open(), only the kernels exchange packets, by pass().
    void open() { is_open_ = true; }
    // Runs ACTION when a packet that is sent now arrives at RECEIVER. A lost packet never runs it.
    void pass(Side receiver, std::function<void()> action) {
        Way& way = way_to(receiver);
        if (!way.is_silent)
            world_.at(due(way), std::move(action));
    }
    void wake(Side side) {
        for (Fiber* const waiter : end(side).waiters)
            world_.wake(waiter);
    }

    // Both sides get a reset, and bytes on their way are lost. A connection that is not open yet is
    // not affected: TCP would send the lost packet again.
    void cut() {
        if (!is_open_)
            return;
        world_.note("a lane is cut");
        for (const Side side : {Side::initiator, Side::target}) {
            way_to(side).is_lost = true;
            fail(side, ECONNRESET);
        }
    }
    // Runs ACTION when the target is about to send the first frame.
    void before_ack(std::function<void()> action) { before_ack_ = std::move(action); }
    // Nothing that SIDE sends from now on arrives, and neither side gets an error.
    void silence(Side side) {
        world_.note("a lane is silent from side {}", static_cast<std::uint64_t>(side));
        way_to(other(side)).is_silent = true;
        way_to(other(side)).is_lost = world_.random().chance(50); // also bytes on their way
    }
    // The kernel of SIDE reports that the peer timed out.
    void time_out(Side side) { fail(side, ETIMEDOUT); }
    // The target's machine has restarted and does not know the connection, so it sends a reset.
    void fail_sender() { fail(Side::initiator, ECONNRESET); }
    // The next send of SIDE fails with ERROR. The connection stays intact.
    void fail_send(Side side, int error) { end(side).send_error = error; }
    // Nothing arrives before TIME.
    void pause_until(Time time) {
        for (Way& way : ways_)
            way.last_due = std::max(way.last_due, time);
    }

private:
    // One direction.
    struct Way {
        std::unique_ptr<std::byte[]> ring;
        std::size_t first = 0;
        std::size_t sent = 0;    // all bytes so far
        std::size_t used = 0;    // bytes that were sent and not received
        std::size_t arrived = 0; // bytes that have arrived, the first of the used ones
        std::size_t held = 0;    // bytes that are held back by MSG_MORE, the last of the used ones
        Time last_due = 0;       // later bytes do not arrive before this
        Time last_arrival = 0;
        bool is_silent = false;
        bool is_lost = false; // bytes on their way do not arrive
        bool has_end = false; // the end has arrived, after all bytes
    };
    struct End {
        int error = 0; // reported once
        int send_error = 0;
        bool is_dead = false;
        bool is_closed = false; // its owner has closed it
        std::vector<Fiber*> waiters{};
    };
    [[nodiscard]] End& end(Side side) { return ends_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] const End& end(Side side) const { return ends_[static_cast<std::size_t>(side)]; }
    // Returns the direction that leads to SIDE.
    [[nodiscard]] Way& way_to(Side side) { return ways_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] const Way& way_to(Side side) const {
        return ways_[static_cast<std::size_t>(side)];
    }
    [[nodiscard]] std::size_t room_of(Side sender) const {
        const std::size_t used = way_to(other(sender)).used;
        const std::size_t size = is_new(sender) ? ring_size_ : conditions_.capacity;
        return size - std::min(used, size);
    }
    void append(Way& way, std::span<const iovec> pieces, std::size_t size) {
        std::size_t left = size;
        for (const iovec& piece : pieces) {
            const auto* from = static_cast<const std::byte*>(piece.iov_base);
            std::size_t length = std::min(left, piece.iov_len);
            left -= length;
            while (length > 0) {
                const std::size_t place = (way.first + way.used) % ring_size_;
                const std::size_t count = std::min(length, ring_size_ - place);
                std::memcpy(way.ring.get() + place, from, count);
                way.used += count;
                from += count;
                length -= count;
            }
        }
    }
    // Sends all but KEPT of the bytes that are held.
    void release(Side receiver, std::size_t kept) {
        Way& way = way_to(receiver);
        if (way.held <= kept)
            return;
        std::size_t size = way.held - kept;
        way.held = kept;
        if (way.is_silent)
            return;
        if (size > 1 && world_.random().chance(conditions_.partial)) { // two packets
            const std::size_t first = 1 + world_.random().below(size - 1);
            size -= first;
            deliver(receiver, first);
        }
        deliver(receiver, size);
    }
    void deliver(Side receiver, std::size_t size) {
        Way& way = way_to(receiver);
        // The captures of an event must fit into two words, see World::block().
        const std::size_t key = size * 2 + static_cast<std::size_t>(receiver);
        world_.at(due(way), [this, key] {
            const auto side = static_cast<Side>(key % 2);
            Way& arriving = way_to(side);
            if (arriving.is_lost)
                return refuse(side);
            arriving.arrived += key / 2;
            arriving.last_arrival = world_.now();
            wake(side);
        });
    }
    [[nodiscard]] Time due(Way& way) {
        const Time late = conditions_.jitter > 0 ? world_.random().below(conditions_.jitter) : 0;
        way.last_due = std::max(way.last_due, world_.now() + conditions_.delay + late);
        return way.last_due;
    }
    // A closed end answers bytes that arrive with a reset.
    void refuse(Side side) {
        if (end(side).is_closed && !way_to(other(side)).is_silent)
            world_.at(world_.now() + conditions_.delay,
                      [this, sender = other(side)] { fail(sender, ECONNRESET); });
    }
    void fail(Side side, int error) {
        End& failed = end(side);
        if (failed.is_dead || failed.is_closed)
            return;
        failed.error = error;
        failed.is_dead = true;
        wake(side);
    }
    [[nodiscard]] int take_error(Side side) { return std::exchange(end(side).error, 0); }

    World& world_;
    Conditions conditions_;
    std::size_t ring_size_;
    bool is_open_ = false;
    std::function<void()> before_ack_; // may be empty
    std::array<Way, 2> ways_;
    std::array<End, 2> ends_;
};

} // namespace rpmem::simulation
