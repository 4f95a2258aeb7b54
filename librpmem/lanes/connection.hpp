// The in-band connection of a pool: a provider, registered memory, and lanes.
#pragma once

#include "base/settings.hpp"
#include "fabric/endpoint.hpp"
#include "lanes/lane.hpp"
#include "wire/hello.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem {

struct ConnectionRequest {
    std::string host;
    std::uint16_t port;
    std::byte* pool;
    std::size_t pool_size;
    fabric::RemoteAddress remote; // of the pool on the target
    unsigned lanes;
    std::size_t inline_size;
    unsigned messages;    // in flight on a lane
    bool counted_answers; // see wire::capability_pipelining
    int lost_fd;          // raised when the session is lost
    int session_fd;       // readable when the session ends while lanes are being connected
    std::optional<wire::Token> token; // lanes say who they are; none: a peer of protocol 0.1
};

class Connection {
public:
    static Result<std::unique_ptr<Connection>>
    open(fabric::ProviderKind kind, const ConnectionRequest& request, const Settings& settings);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] Lane& lane(unsigned index) { return *lanes_[index]; }
    [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(lanes_.size()); }
    [[nodiscard]] const fabric::EventQueue& events() const { return *events_; }

private:
    Connection() = default;
    Result<> set_up(fabric::ProviderKind kind, const ConnectionRequest& request,
                    const Settings& settings);
    Result<> start_to_connect(unsigned index, const ConnectionRequest& request);
    // Until COUNT lanes are connected.
    Result<> await_connected(unsigned count, const ConnectionRequest& request,
                             const Settings& settings);

    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::unique_ptr<fabric::EventQueue> events_;
    fabric::MemoryRegion pool_region_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    unsigned connected_ = 0;
};

} // namespace rpmem
