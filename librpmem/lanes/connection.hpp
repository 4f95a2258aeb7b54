// The in-band connection of a pool: a provider, registered memory, and lanes.
#pragma once

#include "base/settings.hpp"
#include "fabric/endpoint.hpp"
#include "lanes/lane.hpp"
#include "lanes/messages.hpp"
#include "wire/hello.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace rpmem {

struct ConnectionRequest {
    std::string host;
    std::uint16_t port;
    std::byte* pool;
    std::size_t pool_size;
    fabric::RemoteAddress remote; // of the pool on the target, or of the windows
    bool messages_only;           // see wire::PersistMethod::messages
    unsigned lanes;
    wire::MessageRules messages;
    Alarm alarm;
    int session_fd; // readable when the session ends while the first lanes are being connected
    std::optional<wire::Token> token;       // lanes say who they are; none: a peer of protocol 0.1
    std::chrono::milliseconds first_time{}; // for each lane that open() connects; 0: as for others
};

// With peers of protocol 0.1 all lanes are connected at once, in order; with newer ones the first
// is, and each of the others when it is used first.
class Connection {
public:
    static Result<std::unique_ptr<Connection>>
    open(fabric::ProviderKind kind, const ConnectionRequest& request, const Settings& settings);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] unsigned lanes() const { return request_.lanes; }
    // Null: not connected yet.
    [[nodiscard]] Lane* lane(unsigned index) const {
        return slots_[index].ready.load(std::memory_order_acquire);
    }
    // The lane, connected now if it was not. From any thread.
    Result<Lane*> use_lane(unsigned index);
    // Of the lanes that were connected by open(), where lanes share a domain. Null elsewhere: a
    // lane notices by itself that it has ended, when it is used.
    [[nodiscard]] const fabric::EventQueue* events() const { return events_.get(); }

private:
    struct Place {
        std::unique_ptr<fabric::Domain> domain;     // where lanes share none
        std::unique_ptr<fabric::EventQueue> events; // of a lane that nobody else watches
    };
    struct Slot {
        Place place;
        std::unique_ptr<Lane> lane;
        std::atomic<Lane*> ready = nullptr;
    };
    enum class Events { shared, own };

    Connection(const ConnectionRequest& request, const Settings& settings)
        : request_(request), later_timeout_(settings.connect_timeout),
          timeout_(request.first_time.count() > 0 ? request.first_time : later_timeout_) {}
    Result<> set_up(fabric::ProviderKind kind, const Settings& settings);
    Result<> connect(unsigned index, Events events, const Alarm& alarm);
    Result<Place> open_place() const;
    Result<> await_connected(unsigned index, const fabric::EventQueue& events,
                             const Alarm& alarm) const;

    ConnectionRequest request_;
    std::chrono::milliseconds later_timeout_; // of lanes that are connected when they are used
    std::chrono::milliseconds timeout_;       // of a lane that is being connected
    fabric::Provider provider_{};
    fabric::Domain domain_;
    std::unique_ptr<fabric::EventQueue> events_; // of lanes that share a domain
    fabric::MemoryRegion pool_region_;
    LaneLimits limits_{};
    std::mutex connecting_; // never taken by an operation on a connected lane
    std::unique_ptr<Slot[]> slots_;
};

} // namespace rpmem
