// SPDX-License-Identifier: BSD-3-Clause
// An open provider, the memory registered with it, and its queues: event queues for connections and
// completion queues for data. Their waits are bounded and can be interrupted.
#pragma once

#include "common/base/deadline.hpp"
#include "common/transport/fabric/provider.hpp"

#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::fabric {

struct Domain {
    Handle<fid_fabric> fabric;
    Handle<fid_domain> domain;
};

Result<Domain> open_domain(const Provider& provider);

enum class Access {
    local,       // only operations of this end use it
    remote,      // the peer reads and writes it, and this end sends from it
    remote_read, // the peer reads it, and this end sends from it
};

// Registered memory; empty where the provider needs no registration for local access.
class MemoryRegion {
public:
    MemoryRegion() = default;
    MemoryRegion(Handle<fid_mr> handle, std::uint64_t remote_base)
        : handle_(std::move(handle)), remote_base_(remote_base) {}

    [[nodiscard]] void* descriptor() const { return handle_ ? fi_mr_desc(handle_.get()) : nullptr; }
    [[nodiscard]] std::uint64_t key() const { return fi_mr_key(handle_.get()); }
    // The peer adds this to an offset to get the address of a byte of this region.
    [[nodiscard]] std::uint64_t remote_base() const { return remote_base_; }

private:
    Handle<fid_mr> handle_;
    std::uint64_t remote_base_ = 0;
};

Result<MemoryRegion> register_memory(const Domain& domain, const Provider& provider, void* address,
                                     std::size_t size, Access access);

struct ConnectionEvent {
    enum class Kind { requested, connected, shut_down, failed };
    Kind kind;
    fid_t object;                  // the endpoint; the passive endpoint for `requested`
    Info info{};                   // requested: for Endpoint::open()
    std::string text{};            // failed: the reason
    int code = 0;                  // failed: a positive errno value
    std::vector<std::byte> data{}; // requested: data of the connection request; zeros may follow
};

class EventQueue {
public:
    static Result<EventQueue> open(const Domain& domain);

    [[nodiscard]] fid_eq* get() const { return queue_.get(); }
    // A descriptor for poll(2). Use it after prepare_sleep() has returned true.
    [[nodiscard]] int fd() const { return fd_; }
    // Returns false if there may be an event to read already.
    bool prepare_sleep() const;
    Result<std::optional<ConnectionEvent>> read() const;
    // Returns nothing if DEADLINE passes or WAKE becomes readable.
    Result<std::optional<ConnectionEvent>> wait(const Deadline& deadline, int wake) const;

private:
    EventQueue(Handle<fid_eq> queue, const Domain& domain, int fd)
        : queue_(std::move(queue)), fabric_(domain.fabric.get()), fd_(fd) {}
    Handle<fid_eq> queue_;
    fid_fabric* fabric_;
    int fd_;
};

using Completion = fi_cq_msg_entry;

class CompletionQueue {
public:
    CompletionQueue() = default;
    static Result<CompletionQueue> open(const Domain& domain, std::size_t size);

    [[nodiscard]] fid_cq* get() const { return queue_.get(); }

    // Returns the number of entries read, possibly 0, or the negative errno value of a failed
    // operation.
    int read(std::span<Completion> entries) const;
    // Returns the context of the operation whose failure read() has returned last. It may be null.
    [[nodiscard]] void* failed_context() const { return failed_context_; }
    // Sleeps until read() may return something or WAKE is readable, for at most TIMEOUT_MS (-1:
    // without a limit). Returns false if WAKE is readable.
    bool sleep(int timeout_ms, int wake) const;

private:
    CompletionQueue(Handle<fid_cq> queue, fid_fabric* fabric, int fd)
        : queue_(std::move(queue)), fabric_(fabric), fd_(fd) {}
    Handle<fid_cq> queue_;
    fid_fabric* fabric_ = nullptr;
    int fd_ = -1;
    mutable void* failed_context_ = nullptr;
};

} // namespace rpmem::fabric
