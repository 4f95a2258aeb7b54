// SPDX-License-Identifier: BSD-3-Clause
// A program that uses a pool, in a process of its own, and keeps account of what it was promised.
#pragma once

#include "tests/faults/place.hpp"

#include <librpmem.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::faults {

class Application {
public:
    // SEED: of what it writes.
    Application(const Place& place, std::uint64_t seed);
    ~Application();
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    // Calls of the interface, which count from count() on. False: it has failed, as it may.
    bool create();
    bool open();
    bool persist(std::size_t offset, std::size_t length, unsigned lane);
    bool deep_persist(std::size_t offset, std::size_t length, unsigned lane);
    bool flush(std::size_t offset, std::size_t length, unsigned lane);
    bool drain(unsigned lane);
    bool read(std::size_t offset, std::size_t length, unsigned lane);
    bool set_attributes();
    // Nothing to do if there is no pool.
    bool close();
    bool remove(int flags);
    // Waits, while threads of both ends do what they do by themselves.
    void sleep();

    // From now on calls count: those of the library during its calls, those of daemons always.
    void count();
    void stop_counting();
    // With SIGKILL.
    void kill_daemon() const;

    // No daemon is there any more, nor a lock of one.
    void expect_daemons_gone() const;
    // What was promised is in the parts.
    void expect_promises_kept() const;
    void expect_nothing_open() const;
    void find(const std::string& what) const;

private:
    struct Range {
        std::size_t offset;
        std::size_t length;
        unsigned lane;
    };
    template <typename Call>
    bool call(const char* name, Call call);
    void tell(const std::string& what) const;
    // All that this lane has flushed is durable.
    void promise_flushed(unsigned lane);

    const Place& place_;
    bool counts_ = false;
    std::byte* memory_ = nullptr;
    RPMEMpool* pool_ = nullptr;
    std::vector<Range> flushed_;
    std::vector<Range> promised_;
    std::vector<std::byte> buffer_;
    // Those that the pool may have; empty: nobody has seen them.
    std::vector<std::uint32_t> majors_;
    std::uint32_t next_major_;
    std::set<std::string> descriptors_;
};

} // namespace rpmem::faults
