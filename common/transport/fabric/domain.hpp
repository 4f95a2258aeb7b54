// SPDX-License-Identifier: BSD-3-Clause
// An opened provider, memory registered with it, and its queues: event queues (connections) and
// completion queues (data), with waits that have a bound and can be woken.
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
    local,       // source and destination of own operations
    remote,      // target of the peer's reads and writes, and what is sent
    remote_read, // of the peer's reads only, and what is sent
};

// Registered memory; empty where the provider needs no registration for local access.
class MemoryRegion {
public:
    MemoryRegion() = default;
    MemoryRegion(Handle<fid_mr> handle, std::uint64_t remote_base)
        : handle_(std::move(handle)), remote_base_(remote_base) {}

    [[nodiscard]] void* descriptor() const { return handle_ ? fi_mr_desc(handle_.get()) : nullptr; }
    [[nodiscard]] std::uint64_t key() const { return fi_mr_key(handle_.get()); }
    // A peer adds this to an offset to address this region.
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
    Info info{};                   // of `requested`: what to make the endpoint from
    std::string text{};            // of `failed`: why
    int code = 0;                  // of `failed`: a positive errno value
    std::vector<std::byte> data{}; // of `requested`: what the peer sent with it; zeros may follow
};

class EventQueue {
public:
    static Result<EventQueue> open(const Domain& domain);

    [[nodiscard]] fid_eq* get() const { return queue_.get(); }
    // To poll(2) on, after prepare_sleep() said true.
    [[nodiscard]] int fd() const { return fd_; }
    // False: something may be there to read already.
    bool prepare_sleep() const;
    Result<std::optional<ConnectionEvent>> read() const;
    // Nothing: the deadline passed, or WAKE became readable.
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

    // Number of entries read; 0: none there; negative: -errno of a failed operation.
    int read(std::span<Completion> entries) const;
    // The operation whose failure read() has returned last; null: libfabric does not say.
    [[nodiscard]] void* failed_context() const { return failed_context_; }
    // Sleeps at most TIMEOUT_MS (-1: without bound) until read() may find something or WAKE is
    // raised. False: WAKE is raised.
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
