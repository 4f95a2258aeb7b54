// The question and answer of which every limit of the network is made.
#pragma once

#include "base/result.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rpmem::bench {

struct Exchange {
    std::uint64_t request = 0; // bytes
    std::uint64_t answer = 0;
    std::uint64_t count = 0; // how often, one after the other
    bool spinning = false;
    std::uint32_t connections = 1; // in use at the same time, a thread for each
};

inline constexpr std::chrono::seconds exchange_timeout(20);

[[nodiscard]] inline Failure no_answer() {
    return fail(ErrorClass::link_lost, ETIMEDOUT,
                "the other process of the raw measurements did not answer in {} s",
                exchange_timeout.count());
}

} // namespace rpmem::bench
