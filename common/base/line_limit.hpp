// SPDX-License-Identifier: BSD-3-Clause
// How many lines of one kind a log takes: a peer that makes a thousand faults a second must fill no
// disk, and must not push out what else is told.
#pragma once

#include <chrono>
#include <map>
#include <string_view>

namespace rpmem {

class LineLimit {
public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr unsigned lines_in_a_period = 10;
    static constexpr std::chrono::seconds period{1};

    struct Answer {
        bool write;       // this line is written
        unsigned dropped; // and before it, how many like it were not
    };

    // KIND has to outlive this.
    Answer admit(std::string_view kind, Time now) {
        Kind& known = kinds_[kind];
        if (known.lines == 0 || now - known.began >= period) {
            const unsigned dropped = known.dropped;
            known = {now, 1, 0};
            return {true, dropped};
        }
        if (known.lines < lines_in_a_period) {
            ++known.lines;
            return {true, 0};
        }
        ++known.dropped;
        return {false, 0};
    }

    // Calls BODY with each kind, and with how many lines of it were dropped and not yet told.
    template <typename Body>
    void for_each_dropped(const Body& body) const {
        for (const auto& [kind, known] : kinds_)
            if (known.dropped > 0)
                body(kind, known.dropped);
    }

private:
    struct Kind {
        Time began;
        unsigned lines = 0;
        unsigned dropped = 0;
    };

    std::map<std::string_view, Kind> kinds_; // as many as there are formats in the sources
};

} // namespace rpmem
