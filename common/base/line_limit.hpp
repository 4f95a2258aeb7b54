// SPDX-License-Identifier: BSD-3-Clause
// Limits the rate of log lines of one kind. A peer that causes a thousand errors a second must
// neither fill the disk nor hide the other lines.
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
        bool write;       // write this line
        unsigned dropped; // and before it, report this many lines of its kind as dropped
    };

    // KIND must outlive this object.
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

    // Calls BODY with each kind and the number of its lines that were dropped and not reported yet.
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

    std::map<std::string_view, Kind> kinds_; // bounded: one for each format string of the sources
};

} // namespace rpmem
