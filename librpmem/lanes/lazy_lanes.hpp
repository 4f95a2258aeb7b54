// SPDX-License-Identifier: BSD-3-Clause
// The lanes of a pool. A lane at this end is a slot; put() alone changes it:
//   empty -> connected  when it is used first, or before; an attempt that fails leaves it empty
// A lane that ends then ends the session, see librpmem/monitor.hpp.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/fabric/endpoint.hpp"
#include "common/transport/proof.hpp"
#include "common/wire/control_messages.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "librpmem/settings/settings.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

namespace rpmem::initiator {

struct LanesRequest {
    std::optional<fabric::ProviderKind> kind; // none: tcp
    std::string host;
    std::uint16_t port;
    std::byte* pool;
    std::size_t pool_size;
    std::optional<fabric::RemoteAddress> remote; // of the target's pool; none: it is not reached
    wire::PersistMethod method;
    unsigned lanes;
    LossWatch watch;
    // The secret by which lanes prove themselves; null: a peer of protocol 0.1.
    std::shared_ptr<const transport::ProofSession> proof{};
    bool read_only = false;
    std::size_t inline_size = 0; // most bytes of a frame that was asked for, over fabrics
    bool tls = false;            // over tcp
};

class LazyLanes {
public:
    LazyLanes(const LanesRequest& request, const Settings& settings)
        : request_(request), settings_(settings), slots_(std::make_unique<Slot[]>(request.lanes)) {}
    virtual ~LazyLanes() = default;
    LazyLanes(const LazyLanes&) = delete;
    LazyLanes& operator=(const LazyLanes&) = delete;

    [[nodiscard]] unsigned lanes() const { return request_.lanes; }
    // Null: not connected yet.
    [[nodiscard]] FrameLane* lane(unsigned index) const {
        return slots_[index].ready.load(std::memory_order_acquire);
    }
    // The lane, connected now if it was not, which may take TIME. From any thread.
    Result<FrameLane*> use_lane(unsigned index, std::chrono::milliseconds time);
    // In a child made by fork(2).
    void release_in_child();

    // Tells of the end of lanes while nobody uses them. Null: a lane notices by itself, when it is
    // used.
    [[nodiscard]] virtual const fabric::EventQueue* events() const { return nullptr; }

protected:
    // One thread at a time for each lane.
    virtual Result<std::unique_ptr<FrameLane>> connect(unsigned index,
                                                       std::chrono::milliseconds time) = 0;
    void put(unsigned index, std::unique_ptr<FrameLane> lane);
    // For those who own what lanes need.
    void end_all() { slots_.reset(); }

    LanesRequest request_;
    Settings settings_;

private:
    struct Slot {
        std::mutex connecting; // never taken by an operation on a connected lane
        std::unique_ptr<FrameLane> lane;
        std::atomic<FrameLane*> ready = nullptr;
    };

    std::unique_ptr<Slot[]> slots_;
};

} // namespace rpmem::initiator
