// SPDX-License-Identifier: BSD-3-Clause
// Random numbers from a seed. They are the same with every compiler and library, unlike those of
// the standard distributions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpmem::simulation {

class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (std::uint64_t& word : state_) // splitmix64
            word = mixed(seed += 0x9e3779b97f4a7c15);
    }
    // xoshiro256**
    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }
    // Returns 0 to BOUND - 1. The small bias of the modulo does not matter here.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    std::uint64_t between(std::uint64_t first, std::uint64_t last) {
        return first + below(last - first + 1);
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    template <typename T, std::size_t Size>
    const T& one_of(const std::array<T, Size>& values) {
        return values[below(Size)];
    }

    static constexpr std::uint64_t mixed(std::uint64_t value) {
        value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
        value = (value ^ value >> 27) * 0x94d049bb133111eb;
        return value ^ value >> 31;
    }

private:
    std::array<std::uint64_t, 4> state_;
};

} // namespace rpmem::simulation
