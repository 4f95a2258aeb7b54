// SPDX-License-Identifier: BSD-3-Clause
// Which connections that have not proven themselves may stay. Strangers come at any rate: they must
// not keep honest lanes out, and not make the daemon hold more than this many connections. A value
// over a clock that the caller gives; ids are the caller's, each is used once at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rpmem::transport {

// The bytes of an honest first message come right behind its connection, so that a short stay is
// enough; a stranger holds none of these for longer than 64 other connections take to arrive.
inline constexpr std::size_t max_silent = 64;
// The steps that follow take round trips, and have their own slots: strangers cannot get there.
inline constexpr std::size_t max_known = 64;
// Since accept(2), whatever the peer does.
inline constexpr std::chrono::seconds unproven_timeout{10};
// For the round trips of an honest one, while others want its slot.
inline constexpr std::chrono::seconds shortest_known{1};

class UnprovenSlots {
public:
    using Id = std::uint64_t;
    using Time = std::chrono::steady_clock::time_point;

    UnprovenSlots();

    // A connection was accepted. Returns the silent one that has to make room, if any: end it at
    // once, by RST. Receive what has come before the next accept(2): honest ones are known then.
    [[nodiscard]] std::optional<Id> arrived(Id id, Time now);

    struct Admission {
        bool admitted = false;   // if not, refuse it as `busy`; it has no slot any more
        std::optional<Id> ended; // the known one that has to make room: refuse it as `too_late`
    };
    // Its first message was right.
    [[nodiscard]] Admission recognised(Id id, Time now);

    // It is proven, or ended by whomever.
    void left(Id id);

    struct Expired {
        Id id;
        bool known; // refuse it as `too_late`; otherwise end it by RST
    };
    // One whose time is over, which has no slot any more. Call it until there is none.
    [[nodiscard]] std::optional<Expired> expired(Time now);
    // When expired() will next have one, if nothing else happens.
    [[nodiscard]] std::optional<Time> deadline() const;

    [[nodiscard]] std::size_t silent() const { return silent_.size(); }
    [[nodiscard]] std::size_t known() const { return known_.size(); }

private:
    struct Slot {
        Id id = 0;
        Time arrived;
        Time since; // it is in this line
    };
    // The longest in it comes first; memory for all of them is taken once.
    using Queue = std::vector<Slot>;

    Queue silent_;
    Queue known_;
};

} // namespace rpmem::transport
