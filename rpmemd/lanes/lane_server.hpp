// The in-band side of a session: listens, accepts one connection per lane, and hands the lanes to
// workers. Used by the control loop only. On persistent memory that has the first worker serve in
// its own thread: while no other has a lane there is no second one, and the kernel need not count
// who uses a descriptor in each system call. A medium that must be synced may stall, and what waits
// for it is a thread of its own.
#pragma once

#include "base/io.hpp"
#include "base/log.hpp"
#include "base/paging_policy.hpp"
#include "fabric/endpoint.hpp"
#include "lanes/half_open.hpp"
#include "lanes/lane_worker.hpp"
#include "lanes/persister.hpp"
#include "wire/hello.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// How the peer's memory accesses may reach the pool.
enum class PoolAccess {
    direct,        // by RDMA
    direct_if_can, // the same, unless the kernel does not let this memory be registered
    messages,      // not at all: only messages are served
};

struct LaneServerOptions {
    fabric::ProviderKind provider;
    std::string address; // local address to listen on
    std::string device;  // RDMA devices that may serve, see rdma/choice.hpp; empty: all
    unsigned lanes;      // wanted by the peer
    wire::MessageRules messages;
    unsigned workers; // 0: as many as fit
    std::chrono::microseconds spin_time;
    PagingPolicy paging;
    std::optional<wire::Token> token; // that lanes must bring; none: lanes of protocol 0.1
    PoolAccess access;
    bool read_only = false; // the pool is mapped so, and peers get no right to write to it
    // Further ones to listen on, at the same port. RDMA, whose devices each have addresses of their
    // own, is served at the first of all that has it.
    std::vector<std::string> further_addresses{};
};

class LaneServer {
public:
    // POOL, or what stands for it, is registered before anything listens. Its memory must outlive
    // the server.
    static Result<std::unique_ptr<LaneServer>> start(const LaneServerOptions& options,
                                                     std::byte* pool, std::size_t pool_size,
                                                     Persister persister, Log log);
    ~LaneServer();
    LaneServer(const LaneServer&) = delete;
    LaneServer& operator=(const LaneServer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return passive_->port(); }
    [[nodiscard]] std::uint64_t key() const { return shared_.region.key(); }
    [[nodiscard]] std::uint64_t remote_base() const { return shared_.region.remote_base(); }
    [[nodiscard]] bool messages_only() const { return windows_ != nullptr; }
    [[nodiscard]] unsigned lanes() const { return lane_count_; }
    [[nodiscard]] const fabric::Provider& provider() const { return provider_; }
    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(workers_.size()); }

    [[nodiscard]] unsigned connected() const { return connected_; }
    // All lanes are connected; with a token one will do: the others come when they are used.
    [[nodiscard]] bool ready() const { return connected_ >= (token_ ? 1 : lane_count_); }

    // To poll on: connection events, and the workers' failures.
    [[nodiscard]] const fabric::EventQueue& events() const { return *shared_.events; }
    [[nodiscard]] int failure_fd() const { return failure_event_.fd(); }
    [[nodiscard]] std::string failure() const;

    // Takes in what happened to the connections.
    Result<> handle_events();
    // Ends connections that come to nothing, see HalfOpen.
    void end_half_open();
    // When to call that again though nothing happens.
    [[nodiscard]] std::chrono::milliseconds until_next_look() const {
        return provider_.kind == fabric::ProviderKind::tcp
                   ? half_open_.until_next()
                   : std::chrono::milliseconds(std::numeric_limits<int>::max());
    }

    // Returns when WAKE is readable or LIMIT has passed. Until then the first worker serves here,
    // if it has no thread: see LaneWorker::serve_until().
    bool serve_until(int wake, std::chrono::milliseconds limit);

private:
    // A domain in which the pool, or the windows, are registered.
    struct Place {
        fabric::Domain domain;
        std::unique_ptr<fabric::EventQueue> events;
        fabric::MemoryRegion region;
    };

    struct Freed {
        void operator()(std::byte* memory) const { std::free(memory); }
    };

    LaneServer(Event failure_event, Log log)
        : failure_event_(std::move(failure_event)), log_(std::move(log)) {}
    Result<> set_up(const LaneServerOptions& options, std::byte* pool, std::size_t pool_size,
                    Persister persister);
    Result<> expose(const LaneServerOptions& options, std::byte* pool, std::size_t pool_size);
    void listen_further(const LaneServerOptions& options);
    Result<> make_workers(const LaneServerOptions& options, ServedMemory memory,
                          Persister persister);
    Result<Place> open_place() const;
    Result<> register_in(Place& place) const;
    const Place& place_of(std::size_t worker) const {
        return places_.empty() ? shared_ : places_[worker];
    }
    Result<> accept(fabric::ConnectionEvent request);
    Result<std::unique_ptr<Lane>> open_lane(unsigned index, fi_info* info);
    // The lane that a connection request is for; nothing if there is none for it.
    std::optional<unsigned> lane_of(const fabric::ConnectionEvent& request) const;
    Result<> handle(fabric::ConnectionEvent event);
    Lane* find(fid_t endpoint) const;
    void note_connected(Lane& lane);
    bool can_vacate() const;
    void vacate(unsigned index);

    // In the order in which they are made; destroyed in reverse.
    Event failure_event_;
    Log log_;
    mutable std::mutex failure_mutex_;
    std::string failure_;
    fabric::Provider provider_{};
    std::unique_ptr<std::byte[], Freed> windows_; // null: the pool itself is registered
    std::size_t window_size_ = 0;
    std::span<std::byte> exposed_; // what is registered
    fabric::Access rights_ = fabric::Access::remote;
    Place shared_;              // listens
    std::vector<Place> places_; // of the workers, where they share none
    unsigned lane_count_ = 0;
    wire::MessageRules messages_{};
    bool first_has_thread_ = false; // worker
    std::vector<std::unique_ptr<LaneWorker>> workers_;
    std::vector<std::unique_ptr<Lane>> lanes_; // by number; null: not connected
    // Whose connections have ended: a worker may still find their messages in its queue.
    std::vector<std::unique_ptr<Lane>> former_lanes_;
    std::optional<wire::Token> token_;
    std::unique_ptr<fabric::PassiveEndpoint> passive_;
    std::vector<fabric::PassiveEndpoint> further_; // at other addresses, on the same port
    unsigned connected_ = 0;
    HalfOpen half_open_;
};

} // namespace rpmem::target
