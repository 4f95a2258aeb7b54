// The lanes of a pool over tcp.
#pragma once

#include "common/transport/proof.hpp"
#include "common/transport/tls/tls_context.hpp"
#include "common/wire/lane_rules.hpp"
#include "librpmem/lanes/lane_set.hpp"
#include "librpmem/lanes/loss_watch.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace rpmem::initiator {

struct TcpLanesRequest {
    std::string host;
    std::uint16_t port;
    std::byte* pool;
    std::size_t pool_size;
    bool read_only;
    unsigned lanes;
    LossWatch watch;
    int session_fd; // readable when the session ends while the first lane is being connected
    std::shared_ptr<const transport::ProofSession> proof; // what lanes prove themselves by
    bool tls;
};

class TcpLanes final : public LaneSet {
public:
    // Connects the first lane, within FIRST_TIME, which shows that the way is there.
    static Result<std::unique_ptr<LaneSet>> open(const TcpLanesRequest& request,
                                                 const Settings& settings,
                                                 std::chrono::milliseconds first_time);

private:
    TcpLanes(const TcpLanesRequest& request, const Settings& settings)
        : LaneSet(request.lanes), request_(request), settings_(settings) {}
    Result<std::unique_ptr<Lane>> connect(unsigned index) override;
    Result<std::unique_ptr<Lane>> connect(unsigned index, std::chrono::milliseconds time,
                                          const LossWatch& watch) const;

    TcpLanesRequest request_;
    Settings settings_;
    std::optional<transport::TlsContext> tls_;
};

} // namespace rpmem::initiator
