// A pool on the target, through the public interface, and the operations on it.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/buffer.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/samples.hpp"

#include <librpmem.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace rpmem::bench {

struct PoolPlace {
    std::string target;
    std::string pool_set;
    std::size_t size = 0;
};

[[nodiscard]] rpmem_pool_attr pool_attributes();
// What the library said last, with WHAT before it.
[[nodiscard]] Failure library_failure(const std::string& what);
[[nodiscard]] Result<> remove_pool(const PoolPlace& place);

enum class OperationKind { persist, flush, read };

struct Operation {
    OperationKind kind{};
    bool relaxed = false;
    std::size_t size = 0;
    unsigned flushes = 1; // for flush, before the drain
};

struct Measurement {
    Operation operation;
    unsigned lanes = 1;      // a thread for each
    bool divided = false;    // the size is divided among the lanes
    bool apart = false;      // each end has a processor of its own; the daemon is on this machine
    Nanoseconds duration{};  // about
    std::uint64_t least = 1; // operations of each thread, even if it takes longer
};

// After the last operation, before what stays is looked at.
inline constexpr std::chrono::milliseconds settling_time{100};

// Operations of a round, however slow.
inline constexpr std::uint64_t least_operations = 8;

class Pool {
public:
    // Makes it. It is closed and removed when the object goes.
    static Result<std::unique_ptr<Pool>> create(const PoolPlace& place, unsigned lanes);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    [[nodiscard]] unsigned lanes() const { return lanes_; } // in force
    [[nodiscard]] pid_t daemon() const { return daemon_; }  // 0 if it is not on this machine
    [[nodiscard]] Result<Samples> measure(const Measurement& measurement) const;
    // Once, without looking at the time.
    [[nodiscard]] Result<> perform(const Operation& operation) const {
        return perform(operation, pool_header_size, 0);
    }

    // Each once, so that it is connected.
    [[nodiscard]] Result<> use_lanes() const;

private:
    Pool(PoolPlace place, Buffer memory) : place_(std::move(place)), memory_(std::move(memory)) {}
    [[nodiscard]] Result<> perform(const Operation& operation, std::size_t offset,
                                   unsigned lane) const;

    PoolPlace place_;
    Buffer memory_;
    Buffer read_; // where reads go
    RPMEMpool* handle_ = nullptr;
    unsigned lanes_ = 0;
    pid_t daemon_ = 0;
};

} // namespace rpmem::bench
