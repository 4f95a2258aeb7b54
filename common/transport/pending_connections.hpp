// SPDX-License-Identifier: BSD-3-Clause
// Decides which unauthenticated connections may stay. They may arrive at any rate. They must
// neither keep genuine lanes out, nor make the daemon hold more than max_silent + max_known
// connections. The caller provides the time and unique ids.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rpmem::transport {

// Maximum number of connections whose first message has not arrived. A genuine lane sends it at
// once, so it needs its slot only briefly. If all slots are taken, a new connection takes the slot
// of the oldest.
inline constexpr std::size_t max_silent = 64;
// Maximum number of connections whose first message was valid. The next steps of the handshake take
// round trips. These slots are separate, so that connections without a valid first message cannot
// take them.
inline constexpr std::size_t max_known = 64;
// Maximum time from accept(2) to the end of the handshake.
inline constexpr std::chrono::seconds unproven_timeout{10};
// A known connection keeps its slot for at least this time, even if others need one.
inline constexpr std::chrono::seconds shortest_known{1};

class PendingConnections {
public:
    using Id = std::uint64_t;
    using Time = std::chrono::steady_clock::time_point;

    PendingConnections();

    // A connection was accepted. Returns the silent connection that loses its slot, if any; the
    // caller resets it. The caller must receive pending bytes before the next accept(2), so that
    // genuine lanes become known.
    [[nodiscard]] std::optional<Id> arrived(Id id, Time now);

    struct Admission {
        bool admitted = false; // if false, the caller refuses it as `busy`; it has no slot any more
        std::optional<Id> ended; // the known connection that lost its slot: refuse it as `too_late`
    };
    // The first message of ID was valid.
    [[nodiscard]] Admission recognised(Id id, Time now);

    // ID is authenticated or has ended.
    void left(Id id);

    struct Expired {
        Id id;
        bool known; // if true, refuse it as `too_late`; else reset it
    };
    // Returns a connection that has timed out and lost its slot. Call it until it returns nothing.
    [[nodiscard]] std::optional<Expired> expired(Time now);
    // Returns when expired() will return the next one.
    [[nodiscard]] std::optional<Time> deadline() const;

    [[nodiscard]] std::size_t silent() const { return silent_.size(); }
    [[nodiscard]] std::size_t known() const { return known_.size(); }

private:
    struct Slot {
        Id id = 0;
        Time arrived;
        Time since; // when it entered its queue
    };
    // Sorted by `since`. The constructor allocates all memory.
    using Queue = std::vector<Slot>;

    Queue silent_;
    Queue known_;
};

} // namespace rpmem::transport
