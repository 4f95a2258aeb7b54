// The target's pool: what the real Medium asks of libpmem comes here (medium_functions.cpp), takes
// its time on the simulated clock, and becomes durable, or fails.
#pragma once

#include "rpmemd/durability/medium.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/world.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rpmem::simulation {

// A file in memory, mapped once: each simulation puts its first content there.
class PoolFile {
public:
    PoolFile();
    ~PoolFile();
    PoolFile(const PoolFile&) = delete;
    PoolFile& operator=(const PoolFile&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
    std::span<std::byte> bytes_;
};

class SimulatedMedium {
public:
    SimulatedMedium(World& world, const PoolFile& file, Kind kind, Planted planted);
    ~SimulatedMedium();
    SimulatedMedium(const SimulatedMedium&) = delete;
    SimulatedMedium& operator=(const SimulatedMedium&) = delete;

    // Of the simulation that runs: the functions of libpmem have no place for it.
    static SimulatedMedium& current();

    [[nodiscard]] const target::Medium& medium() const { return medium_; }
    [[nodiscard]] std::span<std::byte> durable() { return durable_; }
    [[nodiscard]] unsigned syncs() const { return syncs_; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }

    // From now on a sync fails, or one takes long.
    void fail_next() { fails_next_ = true; }
    void slow_next() { slow_next_ = true; }

    // What libpmem is asked for. Of a sync what is there when it begins becomes durable until it
    // ends. Returns 0 or an errno value.
    int sync_file(const void* address, std::size_t size);
    int sync_device(const void* address, std::size_t size);
    void persist(const void* address, std::size_t size);
    // Becomes durable with the next drain of the same fiber.
    void flush(const void* address, std::size_t size);
    void drain();
    World& world() { return world_; }

private:
    struct Copy {
        const Fiber* fiber;
        std::size_t offset;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] Copy copy_of(const void* address, std::size_t size) const;
    void put(const Copy& copy);
    void take_time();
    [[nodiscard]] Copy begin_sync(const void* address, std::size_t size);
    void end_sync(const Copy& copy);
    [[nodiscard]] int failed();

    World& world_;
    std::span<std::byte> pool_;
    Planted planted_;
    std::vector<std::byte> durable_;
    std::vector<Copy> flushed_;
    std::vector<Copy> put_off_; // by a planted fault
    target::Medium medium_;
    Time slowest_;
    unsigned syncs_ = 0;
    unsigned file_syncs_ = 0;    // that are under way
    bool is_error_left_ = false; // for one of them to be told
    bool fails_next_ = false;
    bool slow_next_ = false;
    bool has_failed_ = false;
};

} // namespace rpmem::simulation
