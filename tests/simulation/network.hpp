// What two ends of a lane have between them: bytes that take their time, buffers that are full, and
// what goes wrong.
#pragma once

#include "tests/simulation/world.hpp"

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace rpmem::simulation {

struct Conditions {
    Time delay = 0;           // of a byte
    Time jitter = 0;          // at most so much more
    std::size_t capacity = 1; // bytes that were sent and not received, in each direction
    unsigned partial = 0;     // percent of the calls that move less than they could
};

enum class Side { initiator, target };

// A connection. Like a kernel's, it lives on when its ends have let go of it.
class Link {
public:
    Link(World& world, const Conditions& conditions);

    // As Stream's, for one side.
    ssize_t send(Side side, std::span<const iovec> pieces, bool more);
    ssize_t receive(Side side, std::span<const iovec> places);
    void finish(Side side);
    void reset(Side side);
    // As close(2): what was sent goes its way, but if something came that nobody has received, the
    // peer sees a reset.
    void close(Side side);

    // The buffers of a new connection take each message of a proof as a whole.
    [[nodiscard]] bool is_new(Side sender) const;
    [[nodiscard]] bool is_readable(Side side) const;
    [[nodiscard]] bool is_writable(Side side) const;
    // Whom to wake when that changes.
    void set_waiter(Side side, Fiber* fiber) { end(side).waiter = fiber; }
    // When bytes came to this side last.
    [[nodiscard]] Time last_arrival(Side side) const { return way_to(side).last_arrival; }

    // Connecting: nothing but packets of the kernels before open().
    void open() { is_open_ = true; }
    // Runs ACTION when a packet that is sent to RECEIVER now comes there; not if none does.
    void pass(Side receiver, std::function<void()> action);
    void wake(Side side) { world_.wake(end(side).waiter); }

    // Both sides see a reset; what is on its way is lost. To one that is not open yet it is a
    // packet that was lost, and is sent again.
    void cut();
    // Of what SIDE sends from now on, nothing arrives, and nobody is told.
    void silence(Side side);
    // The kernel of SIDE gives up on the other one.
    void time_out(Side side);
    // The next call of SIDE to send fails so; nothing else happens.
    void fail_send(Side side, int error) { end(side).send_error = error; }
    // Nothing arrives before TIME.
    void pause_until(Time time);

private:
    // One direction.
    struct Way {
        std::unique_ptr<std::byte[]> ring;
        std::size_t first = 0;
        std::size_t sent = 0;    // bytes so far
        std::size_t used = 0;    // those of them that were not received
        std::size_t arrived = 0; // the first of them
        std::size_t held = 0;    // the last of them, for which more was announced
        Time last_due = 0;       // nothing overtakes
        Time last_arrival = 0;
        bool is_silent = false;
        bool is_lost = false; // what is on its way does not arrive any more
        bool has_end = false; // all has arrived that will
    };
    struct End {
        int error = 0; // told once
        int send_error = 0;
        bool is_dead = false;
        bool is_closed = false; // by its owner
        Fiber* waiter = nullptr;
    };
    [[nodiscard]] End& end(Side side) { return ends_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] const End& end(Side side) const { return ends_[static_cast<std::size_t>(side)]; }
    // Ways are found by where they lead.
    [[nodiscard]] Way& way_to(Side side) { return ways_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] const Way& way_to(Side side) const {
        return ways_[static_cast<std::size_t>(side)];
    }
    [[nodiscard]] std::size_t room_of(Side sender) const;
    void append(Way& way, std::span<const iovec> pieces, std::size_t size);
    void release(Side receiver, std::size_t kept);
    void deliver(Side receiver, std::size_t size);
    [[nodiscard]] Time due(Way& way);
    void refuse(Side side);
    void fail(Side side, int error);
    [[nodiscard]] int take_error(Side side);

    World& world_;
    Conditions conditions_;
    std::size_t ring_size_;
    bool is_open_ = false;
    std::array<Way, 2> ways_;
    std::array<End, 2> ends_;
};

} // namespace rpmem::simulation
