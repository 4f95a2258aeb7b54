// SPDX-License-Identifier: BSD-3-Clause
// The directory of a run, with its files and a pool set of two parts.
#pragma once

#include "tests/faults/failing_calls.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace rpmem::faults {

inline constexpr const char* pool_set = "pool.set";
inline constexpr unsigned parts = 2;
inline constexpr std::size_t part_size = std::size_t{2} * 1024 * 1024;
inline constexpr std::size_t header_size = 4096; // in each part
inline constexpr std::size_t pool_size = part_size + part_size / 2;

struct Place {
    std::filesystem::path directory;
    FailingCalls* calls;

    [[nodiscard]] std::filesystem::path part(unsigned number) const {
        return directory / ("part" + std::to_string(number));
    }
    [[nodiscard]] std::filesystem::path state() const { return directory / "state"; }
    // The process ids of all daemons of the run, one per line.
    [[nodiscard]] std::filesystem::path daemons() const { return directory / "daemons"; }
    // The script that replaces ssh writes the exit status of each daemon to this file.
    [[nodiscard]] std::filesystem::path statuses() const { return directory / "statuses"; }
    [[nodiscard]] std::filesystem::path daemon_log() const { return directory / "log"; }
    // The output of the program.
    [[nodiscard]] std::filesystem::path output() const { return directory / "output"; }
    // The findings of the program, and the errors of its calls.
    [[nodiscard]] std::filesystem::path findings() const { return directory / "findings"; }
    [[nodiscard]] std::filesystem::path story() const { return directory / "story"; }
};

} // namespace rpmem::faults
