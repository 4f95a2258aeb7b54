// SPDX-License-Identifier: BSD-3-Clause
// Waits for connections over libfabric that share a completion queue.
#pragma once

#include "common/transport/fabric/domain.hpp"
#include "common/transport/spin_policy.hpp"
#include "common/transport/transport.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rpmem::transport {

class FabricConnection;

// The context of an operation. libfabric returns it with the completion.
struct FabricOperation {
    enum class Kind : std::uint8_t { receive, send, write, read };
    FabricConnection* connection = nullptr;
    Kind kind = Kind::receive;
    std::byte* place = nullptr; // buffer of a message
};

class FabricGroup final : public Group {
public:
    // OPERATIONS is the maximum number of operations in progress, for all connections together.
    static Result<std::unique_ptr<FabricGroup>>
    open(const fabric::Domain& domain, std::size_t operations, std::chrono::microseconds spin_time);

    // FabricConnection calls the following three functions.
    [[nodiscard]] const fabric::CompletionQueue& completions() const { return completions_; }
    // Passes completions to their connections, for a bounded time.
    void look();
    // Call it when a provider has no room for an operation. The next wait() is then short, because
    // the provider does not report when it has room again.
    void expect_room() { expects_room_ = true; }

    // CONNECTION must be a FabricConnection. Posts its receive buffers. At the target, also accepts
    // the connection request of the initiator.
    Result<> add(LaneConnection& connection) override;
    // Closes CONNECTION and drains its completions.
    void remove(LaneConnection& connection) override;
    WaitResult wait(std::chrono::milliseconds limit, int wake) override;
    [[nodiscard]] std::span<LaneConnection* const> ready() const override { return ready_; }

private:
    using Clock = std::chrono::steady_clock;
    using Entries = std::array<fabric::Completion, 16>;

    FabricGroup(fabric::CompletionQueue completions, std::size_t operations,
                std::chrono::microseconds spin_time)
        : completions_(std::move(completions)), operations_(operations), policy_(spin_time) {}
    // Passes completions to their connections until the queue is empty, for at most MAX_READS
    // reads.
    void read_completions(std::size_t max_reads);
    int read_in_time(Entries& entries, int wake, std::chrono::milliseconds limit);
    void dispatch(const Entries& entries, int got);
    void dispatch_failure(int code);
    void mark_ready(FabricConnection& connection);
    [[nodiscard]] bool has_news();
    void mark_all_ready();

    fabric::CompletionQueue completions_;
    std::size_t operations_; // maximum number in progress, for all connections together
    SpinPolicy policy_;
    std::vector<FabricConnection*> members_;
    std::vector<FabricConnection*> completed_; // had a completion since wait() returned
    std::vector<LaneConnection*> ready_;
    Clock::time_point since_{}; // start of the current wait
    bool expects_room_ = false;
    unsigned failures_ = 0; // failed reads of the completion queue in a row
};

} // namespace rpmem::transport
