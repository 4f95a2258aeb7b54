// SPDX-License-Identifier: BSD-3-Clause
// The part of CatchUp that reports how far it is.
#include "librpmem/replica/catch_up.hpp"
#include "librpmem/replica/progress.hpp"

#include <algorithm>

namespace rpmem::initiator {

using wire::digest_block;

void CatchUp::log_closed_alone() const {
    log_.error("{}: the pool is closed without its replica, which lacks {}; the next session that "
               "can open the replica compares both before it writes",
               terms_.name, amount(replica_.map().count()));
}

std::size_t CatchUp::behind_bytes() const {
    return must_compare_ ? terms_.pool_size
                         : std::min(replica_.map().count() * digest_block, terms_.pool_size);
}

std::string CatchUp::describe_outpaced() const {
    const std::uint64_t limit = max_rate_;
    return fmt::format("rate below writes: the program writes faster than the replica is sent "
                       "{}, so its calls are slowed down by up to {} us",
                       limit > 0 ? fmt::format("(RPMEM_CATCH_UP_RATE: {} bytes/s)", limit)
                                 : std::string("(no RPMEM_CATCH_UP_RATE)"),
                       replica_.pause().count());
}

// A pool that has joined meanwhile lacks nothing.
void CatchUp::show_figures() {
    shown_ = Clock::now();
    if (!replica_.lacks_calls())
        return;
    const bool catches_up = replica_.state() == ReplicaState::catching_up;
    link_.show_figures({.behind_bytes = behind_bytes(),
                        .rate = catches_up ? bytes_per_second() : 0,
                        .is_outpaced = is_outpaced()});
}

void CatchUp::report_progress(const char* what, std::size_t done) {
    if (Clock::now() - shown_ >= show_interval)
        show_figures();
    if (Clock::now() - logged_ < progress_interval)
        return;
    logged_ = Clock::now();
    log_.warning("{}: the replica catches up: {} were {}, {} are left{}", terms_.name, amount(done),
                 what, amount(replica_.map().count()),
                 is_outpaced() ? "; " + describe_outpaced() : std::string());
}

} // namespace rpmem::initiator
