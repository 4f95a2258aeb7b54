// SPDX-License-Identifier: BSD-3-Clause
// The lanes of a pool over tcp.
#pragma once

#include "common/transport/tls/tls_context.hpp"
#include "librpmem/lanes/connection_lanes.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace rpmem::initiator {

class TcpLanes final : public ConnectionLanes {
public:
    // Connects the first lane within FIRST_TIME, which shows that the target can be reached.
    static Result<std::unique_ptr<ConnectionLanes>> open(const LanesRequest& request,
                                                         const Settings& settings,
                                                         std::chrono::milliseconds first_time);

private:
    TcpLanes(const LanesRequest& request, const Settings& settings)
        : ConnectionLanes(request, settings) {}
    Result<std::unique_ptr<FrameLane>> connect(unsigned index,
                                               std::chrono::milliseconds time) override;

    std::optional<transport::TlsContext> tls_;
};

} // namespace rpmem::initiator
