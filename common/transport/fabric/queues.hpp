// Event queues (connections) and completion queues (data), with waits that have a bound and can
// be woken.
#pragma once

#include "common/base/deadline.hpp"
#include "common/transport/fabric/domain.hpp"
#include "common/transport/fabric/library.hpp"

#include <rdma/fi_eq.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::fabric {

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
