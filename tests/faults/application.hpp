// SPDX-License-Identifier: BSD-3-Clause
// A program that uses a pool through the real library, and records what was promised to it. Lost
// promised bytes, an error without a reason, and anything that is left open are findings.
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
    // SEED selects the bytes that it writes.
    Application(const Place& place, std::uint64_t seed);
    ~Application();
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    // Calls of the API. Their system calls count after count(). They return false if they fail,
    // which is permitted.
    bool create();
    bool open();
    bool persist(std::size_t offset, std::size_t length, unsigned lane);
    bool deep_persist(std::size_t offset, std::size_t length, unsigned lane);
    bool flush(std::size_t offset, std::size_t length, unsigned lane);
    bool drain(unsigned lane);
    bool read(std::size_t offset, std::size_t length, unsigned lane);
    bool set_attributes();
    // Returns false without a call if there is no pool.
    bool close();
    bool remove(int flags);
    // Waits, while threads of both ends send heartbeats.
    void sleep();

    // From now on system calls count: those of the library during calls of the API, those of
    // daemons always.
    void count();
    void stop_counting();
    // Sends SIGKILL.
    void kill_daemon() const;

    // Expects all daemons to end, and their locks to be released.
    void expect_daemons_gone() const;
    // Expects the promised bytes in the parts.
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
    // Records that all flushed ranges of the lane are promised to be durable.
    void promise_flushed(unsigned lane);

    const Place& place_;
    bool counts_ = false;
    std::byte* memory_ = nullptr;
    RPMEMpool* pool_ = nullptr;
    std::vector<Range> flushed_;
    std::vector<Range> promised_;
    std::vector<std::byte> buffer_;
    // The major versions that the pool may have. It is empty if they are unknown.
    std::vector<std::uint32_t> majors_;
    std::uint32_t next_major_;
    std::set<std::string> descriptors_;
};

} // namespace rpmem::faults
