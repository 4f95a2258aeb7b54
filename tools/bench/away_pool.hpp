// SPDX-License-Identifier: BSD-3-Clause
// A pool of a program that goes on without its target, in a file of this machine. rpmemctl steers
// it, as an operator would.
#pragma once

#include "common/base/child_process.hpp"
#include "common/base/result.hpp"
#include "tools/bench/away.hpp"
#include "tools/bench/mapping.hpp"
#include "tools/bench/measuring.hpp"

#include <librpmem.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rpmem::bench {

class AwayPool {
public:
    // Both fail with ENOTSUP if the library or the target does not support RPMEM_ON_LOSS=alone.
    static Result<std::unique_ptr<AwayPool>> create(const AwayTask& task);
    static Result<std::unique_ptr<AwayPool>> open(const AwayTask& task);
    AwayPool(const AwayPool&) = delete;
    AwayPool& operator=(const AwayPool&) = delete;
    ~AwayPool(); // closes the pool

    // The destructor also removes the pool.
    void remove_at_end() { removes_ = true; }
    // Makes the pool equal to its file with rpmemctl push, after all bytes of the file have been
    // changed. The pool must be closed. Returns for how many milliseconds it has copied.
    [[nodiscard]] static Result<double> push_file(const AwayTask& task);
    // Persists the whole pool. Returns the duration in milliseconds.
    [[nodiscard]] Result<double> persist_all();
    // Stores a word, and persists 64 bytes. The calls go round through 16 blocks.
    [[nodiscard]] Result<> persist_next();
    // The same as persist_next(), but flushes the bytes locally instead.
    void flush_next() { pmem_persist(store_next(), call_size); }

    // Return when the program has answered, which takes up to a second.
    [[nodiscard]] Result<> pause();
    [[nodiscard]] Result<> limit_rate(std::uint64_t bytes_per_second);
    // Returns at once. Call finish() when the replica is in sync.
    [[nodiscard]] Result<ChildProcess> start_resume() const;
    [[nodiscard]] static Result<> finish(ChildProcess& steering);

    [[nodiscard]] Result<unsigned> state() const;
    [[nodiscard]] Result<> wait_in_sync() const;

private:
    static constexpr std::size_t call_size = 64;

    explicit AwayPool(const AwayTask& task) : task_(task) {}
    [[nodiscard]] Result<> require_handle() const;
    [[nodiscard]] std::byte* store_next();
    [[nodiscard]] Result<ChildProcess> steer(const std::string& verb,
                                             const std::string& value = {}) const;

    AwayTask task_;
    Mapping memory_;
    RPMEMpool* handle_ = nullptr;
    bool removes_ = false;
    std::uint64_t calls_ = 0;
};

} // namespace rpmem::bench
