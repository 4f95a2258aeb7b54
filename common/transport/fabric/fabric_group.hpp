// SPDX-License-Identifier: BSD-3-Clause
// Waits for connections over libfabric, which share one completion queue.
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

// The context of an operation: libfabric returns it when the operation has ended.
struct FabricOperation {
    enum class Kind : std::uint8_t { receive, send, write, read };
    FabricConnection* connection = nullptr;
    Kind kind = Kind::receive;
    std::byte* place = nullptr; // of a message
};

class FabricGroup final : public Group {
public:
    // OPERATIONS: of all connections that are under way at once.
    static Result<std::unique_ptr<FabricGroup>>
    open(const fabric::Domain& domain, std::size_t operations, std::chrono::microseconds spin_time);

    // For FabricConnection.
    [[nodiscard]] const fabric::CompletionQueue& completions() const { return completions_; }
    // Tells the connections what has ended, for a bounded time.
    void look();
    // The provider had no room for an operation, and does not tell when it has.
    void expect_room() { expects_room_ = true; }

    // Those of FabricConnection only. It begins to receive, and a target's end is accepted.
    Result<> add(Connection& connection) override;
    // It is closed, and leaves nothing in the queue.
    void remove(Connection& connection) override;
    WaitResult wait(std::chrono::milliseconds limit, int wake) override;
    [[nodiscard]] std::span<Connection* const> ready() const override { return ready_; }

private:
    using Clock = std::chrono::steady_clock;
    using Entries = std::array<fabric::Completion, 16>;

    FabricGroup(fabric::CompletionQueue completions, std::chrono::microseconds spin_time)
        : completions_(std::move(completions)), policy_(spin_time) {}
    int read_in_time(Entries& entries, int wake, std::chrono::milliseconds limit);
    void tell(const Entries& entries, int got);
    void tell_of_failure(int code);
    void note(FabricConnection& connection);
    [[nodiscard]] bool has_news();
    void mark_all_ready();

    fabric::CompletionQueue completions_;
    SpinPolicy policy_;
    std::vector<FabricConnection*> members_;
    std::vector<FabricConnection*> noted_; // something has ended for them since wait() returned
    std::vector<Connection*> ready_;
    Clock::time_point since_{}; // of the wait that is under way
    bool expects_room_ = false;
    unsigned failures_ = 0; // in a row
};

} // namespace rpmem::transport
