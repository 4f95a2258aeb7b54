// SPDX-License-Identifier: BSD-3-Clause
// A pool on the target and the operations on it, through the public interface.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/mapping.hpp"
#include "tools/bench/measuring.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/processes.hpp"

#include <librpmem.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace rpmem::bench {

// Returns the last error of the library in this thread, preceded by WHAT.
[[nodiscard]] Failure library_failure(const std::string& what);

enum class OperationKind { persist, deep_persist, flush, read };

struct Operation {
    OperationKind kind{};
    bool relaxed = false;
    std::size_t size = 0;

    // Returns the bytes of one operation. Those of a flush are the bytes of all flushes before a
    // drain.
    [[nodiscard]] std::size_t bytes() const {
        return kind == OperationKind::flush ? size * flushes_before_drain : size;
    }
};

struct Measurement {
    Operation operation;
    unsigned lanes = 1; // each with a thread
    Pace pace;
};

enum class Opening { creates_for_itself, creates, opens };

class Pool {
public:
    // The destructor closes the pool, and removes it if OPENING is creates_for_itself.
    static Result<std::unique_ptr<Pool>> open(const Options& options, Opening opening,
                                              unsigned lanes);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    [[nodiscard]] unsigned lanes() const { return lanes_; } // as granted
    [[nodiscard]] pid_t daemon() const { return daemon_; }  // 0 if it is not on this machine
    [[nodiscard]] Nanoseconds opening_time() const { return opening_time_; }
    // Returns whether measure() gives each end a processor of its own.
    [[nodiscard]] bool places_ends(unsigned lanes) const { return lanes == 1 && daemon_ != 0; }
    [[nodiscard]] Result<Round> measure(const Measurement& measurement) const;
    // Persists 64 bytes on each of LANES lanes, so that the lanes are connected.
    [[nodiscard]] Result<> use_lanes(unsigned lanes) const;

private:
    Pool(const Options& options, Opening opening) : options_(options), opening_(opening) {}
    [[nodiscard]] Result<> perform(const Operation& operation, unsigned lane) const;

    const Options& options_;
    Opening opening_;
    Mapping memory_;
    RPMEMpool* handle_ = nullptr;
    unsigned lanes_ = 0;
    pid_t daemon_ = 0;
    Nanoseconds opening_time_{};
    cpu_set_t allowed_ = allowed_processors();
};

[[nodiscard]] Result<> remove_pool(const Options& options);

// Durations in milliseconds.
struct Start {
    double call = 0; // rpmem_create() or rpmem_open()
    double use = 0;  // the first use of each lane
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Start, call, use)

// Opens the pool in a new process, uses each lane once, and returns the durations.
[[nodiscard]] Result<Start> start_once(const Options& options, Opening opening, unsigned lanes);

} // namespace rpmem::bench
