// A pool on the target, through the public interface, and the operations on it.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/mapping.hpp"
#include "tools/bench/measuring.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/processes.hpp"

#include <librpmem.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

namespace rpmem::bench {

[[nodiscard]] rpmem_pool_attr pool_attributes();
// What the library said last, with WHAT before it.
[[nodiscard]] Failure library_failure(const std::string& what);
[[nodiscard]] Result<> remove_pool(const Options& options);
// The least that can be made durable on each of LANES once, so that they are connected.
[[nodiscard]] Result<> use_lanes(RPMEMpool* pool, unsigned lanes);

enum class OperationKind { persist, deep_persist, flush, read };

struct Operation {
    OperationKind kind{};
    bool relaxed = false;
    std::size_t size = 0;

    // With those of all flushes before a drain.
    [[nodiscard]] std::size_t bytes() const {
        return kind == OperationKind::flush ? size * flushes_before_drain : size;
    }
};

struct Measurement {
    Operation operation;
    unsigned lanes = 1; // a thread for each
    Pace pace;
};

class Pool {
public:
    // Makes it. It is closed and removed when the object goes.
    static Result<std::unique_ptr<Pool>> create(const Options& options, unsigned lanes);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    [[nodiscard]] RPMEMpool* handle() const { return handle_; }
    [[nodiscard]] unsigned lanes() const { return lanes_; } // in force
    [[nodiscard]] pid_t daemon() const { return daemon_; }  // 0 if it is not on this machine
    // Each end has a processor of its own.
    [[nodiscard]] bool places_ends(unsigned lanes) const { return lanes == 1 && daemon_ != 0; }
    [[nodiscard]] Result<Round> measure(const Measurement& measurement) const;

private:
    explicit Pool(const Options& options) : options_(options) {}
    [[nodiscard]] Result<> perform(const Operation& operation, unsigned lane) const;

    const Options& options_;
    Mapping memory_;
    Mapping read_; // where reads go
    RPMEMpool* handle_ = nullptr;
    unsigned lanes_ = 0;
    pid_t daemon_ = 0;
    cpu_set_t allowed_ = allowed_processors();
};

} // namespace rpmem::bench
