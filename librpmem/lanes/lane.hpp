// One lane: a connected endpoint with its completion queue and message buffers. Used by one thread
// at a time. Nothing here allocates, locks or throws once the lane is open.
#pragma once

#include "fabric/endpoint.hpp"
#include "wire/persist_message.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rpmem {

// Both ends of the pool, as the lanes of a connection see them.
struct PoolMemory {
    std::byte* local;
    std::size_t size;
    void* local_descriptor;
    fabric::RemoteAddress remote; // of offset 0
};

struct LaneLimits {
    std::size_t queue_size;   // operations in flight
    std::size_t max_transfer; // bytes of one operation
    std::size_t inline_size;  // bytes of data in one message
    bool local_registration;
    fabric::WaitPolicy wait;
};

// All operations return 0, or a positive errno value after which the lane is of no more use.
class Lane {
public:
    static Result<std::unique_ptr<Lane>> open(const fabric::Domain& domain,
                                              const fabric::Provider& provider,
                                              const fabric::EventQueue& events, unsigned index,
                                              const PoolMemory& memory, const LaneLimits& limits,
                                              int lost_fd);

    [[nodiscard]] fabric::Endpoint& endpoint() { return endpoint_; }
    [[nodiscard]] std::size_t inline_size() const { return limits_.inline_size; }
    [[nodiscard]] const PoolMemory& memory() const { return memory_; }

    // Starts to write a range of the local pool to the same range of the target's.
    [[nodiscard]] int write(std::size_t offset, std::size_t length);
    // All that was started has completed.
    [[nodiscard]] int wait_for_all();
    // Reads a word behind everything written before: it has then reached the target's memory.
    [[nodiscard]] int read_behind_writes();
    [[nodiscard]] int read(std::byte* destination, std::size_t offset, std::size_t length);
    // Has the target act on a range, and waits for its answer. In mode inline_data the range (at
    // most inline_size() bytes) travels in the message.
    [[nodiscard]] int request(wire::PersistMode mode, std::size_t offset, std::size_t length);

    // Writes that no read or request has confirmed yet.
    bool has_unconfirmed_writes = false;

private:
    Lane(unsigned index, const PoolMemory& memory, const LaneLimits& limits, int lost_fd)
        : index_(index), memory_(memory), limits_(limits), lost_fd_(lost_fd) {}
    Result<> set_up(const fabric::Domain& domain, const fabric::Provider& provider,
                    const fabric::EventQueue& events);
    template <typename Post>
    int post(Post post_operation);
    int make_progress();
    int read_bounced(std::byte* destination, std::size_t offset, std::size_t length);
    int read_into(std::byte* destination, void* descriptor, std::size_t offset, std::size_t length);
    [[nodiscard]] bool answer_fits() const;

    unsigned index_;
    PoolMemory memory_;
    LaneLimits limits_;
    int lost_fd_;
    fabric::CompletionQueue completions_;
    std::unique_ptr<std::byte[]> buffers_;
    fabric::MemoryRegion buffers_region_;
    std::byte* message_ = nullptr;            // header and inline data
    wire::PersistResponse* answer_ = nullptr; // where the target's answer lands
    std::byte* landing_ = nullptr; // where reads land that cannot go to their destination
    fabric::Endpoint endpoint_;
    std::size_t in_flight_ = 0; // sends, writes and reads
    unsigned answers_ = 0;      // received and not yet looked at
};

} // namespace rpmem
