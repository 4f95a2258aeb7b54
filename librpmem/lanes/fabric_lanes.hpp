// The lanes of a pool over libfabric: a provider, registered memory, and connections.
#pragma once

#include "common/transport/fabric/endpoint.hpp"
#include "common/transport/proof.hpp"
#include "common/wire/control_messages.hpp"
#include "librpmem/lanes/lane_set.hpp"
#include "librpmem/lanes/loss_watch.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::initiator {

struct FabricLanesRequest {
    fabric::ProviderKind kind;
    std::string host;
    std::uint16_t port;
    std::byte* pool;
    std::size_t pool_size;
    std::optional<fabric::RemoteAddress> remote; // of the target's pool; none: it is not reached
    wire::PersistMethod method;
    unsigned lanes;
    LossWatch watch;
    int session_fd; // readable when the session ends while the first lanes are being connected
    // What lanes prove themselves by; null: a peer of protocol 0.1.
    std::shared_ptr<const transport::ProofSession> proof{};
    bool read_only = false;
    std::size_t inline_size = 0; // most bytes of a frame that was asked for
};

// With peers of protocol 0.1 all lanes are connected at once, in order; with newer ones the first
// is, and each of the others when it is used first.
class FabricLanes final : public LaneSet {
public:
    // FIRST_TIME: for each of the lanes that it connects.
    static Result<std::unique_ptr<LaneSet>> open(const FabricLanesRequest& request,
                                                 const Settings& settings,
                                                 std::chrono::milliseconds first_time);
    ~FabricLanes() override;

    // Of the lanes that were connected by open().
    [[nodiscard]] const fabric::EventQueue* events() const override { return events_.get(); }

private:
    // How a lane is connected.
    struct ConnectContext {
        const fabric::EventQueue& events;
        std::chrono::milliseconds time;
        LossWatch watch;
    };

    FabricLanes(const FabricLanesRequest& request, const Settings& settings)
        : LaneSet(request.lanes), request_(request), settings_(settings) {}
    Result<> set_up();
    Result<std::unique_ptr<Lane>> connect(unsigned index) override;
    Result<std::unique_ptr<Lane>> connect_by(unsigned index, const ConnectContext& context);

    FabricLanesRequest request_;
    Settings settings_;
    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::unique_ptr<fabric::EventQueue> events_; // of the first lanes
    fabric::MemoryRegion pool_region_;
    std::mutex connecting_;
    // Of lanes that are connected later, which nobody watches.
    std::vector<std::unique_ptr<fabric::EventQueue>> own_events_;
};

} // namespace rpmem::initiator
