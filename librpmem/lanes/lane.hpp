// One lane: a connected endpoint with its completion queue and message buffers. Used by one thread
// at a time. Nothing here allocates, locks or throws once the lane is open, unless the alarm goes
// off.
#pragma once

#include "base/hot.hpp"
#include "fabric/adaptive_wait.hpp"
#include "fabric/endpoint.hpp"
#include "lanes/alarm.hpp"
#include "lanes/gathered_ranges.hpp"
#include "lanes/messages.hpp"
#include "wire/persist_message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rpmem {

// Both ends of the pool, as the lanes of a connection see them.
struct PoolMemory {
    std::byte* local;
    std::size_t size;
    void* local_descriptor;
    fabric::RemoteAddress remote; // of offset 0
    bool messages_only;           // the remote key is that of the lanes' windows, not of the pool
};

struct LaneLimits {
    std::size_t queue_size;    // operations in flight
    std::size_t max_transfer;  // bytes of one operation
    std::size_t inject_size;   // bytes of a message that the provider copies at once
    std::size_t inline_worth;  // bytes up to which a message with data beats a write and a message
    std::size_t strict_inline; // bytes up to which strict ranges go in messages
    std::size_t gathered_size; // bytes of a message for small ranges together; 0: each has its own
    wire::MessageRules messages;
    bool local_registration;
    fabric::WaitPolicy wait;
};

// Of a request: it is waited for, or others follow at once and one answer for all will do.
enum class Answer { wanted, may_wait };

// All operations return 0, or a positive errno value after which the lane is of no more use.
class Lane {
public:
    static Result<std::unique_ptr<Lane>> open(const fabric::Domain& domain,
                                              const fabric::Provider& provider,
                                              const fabric::EventQueue& events, unsigned index,
                                              const PoolMemory& memory, const LaneLimits& limits,
                                              const Alarm& alarm);

    [[nodiscard]] fabric::Endpoint& endpoint() { return endpoint_; }
    // The endpoint has connected.
    void become_ready();
    [[nodiscard]] std::size_t inline_size() const { return limits_.messages.inline_size; }
    // Whether a range goes in messages, and not by a write.
    [[nodiscard]] bool goes_inline(std::size_t length, bool relaxed) const {
        return length <= (relaxed ? limits_.inline_worth : limits_.strict_inline);
    }

    // What is started here reaches the target's memory in the order of the calls.

    // Starts to write a range of the local pool to the same range of the target's.
    [[nodiscard]] int write(std::size_t offset, std::size_t length);
    // Also asks the target to make it durable.
    [[nodiscard]] int write_and_request(std::size_t offset, std::size_t length, Answer answer);
    // Asks the target to act on a range. In mode inline_data the range (at most inline_size()
    // bytes) travels in the message, straight from the pool. WINDOW: of those of the lane, for mode
    // fetch.
    [[nodiscard]] RPMEM_HOT int request(wire::PersistMode mode, std::size_t offset,
                                        std::size_t length, Answer answer, unsigned window = 0);
    // As a request of mode inline_data whose answer may wait, but the range may wait as well, for
    // others to share a message.
    [[nodiscard]] int gather(std::size_t offset, std::size_t length);
    [[nodiscard]] bool gathers(std::size_t length) const { return gathered_.is_for(length); }
    // All requests have been answered: what they asked for is done.
    [[nodiscard]] RPMEM_HOT int wait_for_answers();
    // Reads a word behind everything written before: it has then reached the target's memory.
    [[nodiscard]] int read_behind_writes();
    // When it has returned, nothing more comes to DESTINATION.
    [[nodiscard]] int read(std::byte* destination, std::size_t offset, std::size_t length);

    [[nodiscard]] bool awaits_answers() const {
        return answered_ != requested_ || !gathered_.empty();
    }
    // What was wrong with the answer for which an operation returned EBADMSG.
    [[nodiscard]] std::string complaint() const;
    // Writes that no read has confirmed yet.
    [[nodiscard]] bool has_unconfirmed_writes() const { return has_unconfirmed_writes_; }

private:
    Lane(unsigned index, const PoolMemory& memory, const LaneLimits& limits, const Alarm& alarm)
        : index_(index), memory_(memory), limits_(limits), alarm_(alarm), wait_(limits.wait),
          gathered_(limits.gathered_size) {}
    Result<> set_up(const fabric::Domain& domain, const fabric::Provider& provider,
                    const fabric::EventQueue& events);
    template <typename Post>
    int post(Post post_operation);
    int let_data_arrive();
    inline int await_room_for_message();
    inline int count_request();
    inline std::uint32_t flags_of_request(Answer answer, std::size_t length);
    int send_gathered(Answer answer);
    [[nodiscard]] std::uint32_t processor_flags() const;
    inline int post_message(std::byte* slot, const std::byte* data, std::size_t size);
    RPMEM_HOT int make_progress();
    int wait_after_alarm(std::span<fabric::Completion> entries);
    inline int take(const fabric::Completion& completion);
    inline int take_answer(const fabric::Completion& completion);
    int refuse_answer(const wire::PersistResponse& answer, std::size_t size);
    int post_answer_buffer(wire::PersistResponse* buffer);
    int wait_for_operations();
    int start_read(std::byte* destination, std::size_t size, void* descriptor,
                   std::uint64_t address, bool* done);
    int read_at_once(std::byte* destination, void* descriptor, std::uint64_t address,
                     std::size_t length);
    int read_range(std::byte* destination, std::size_t offset, std::size_t length);
    struct PiecewiseRead;
    int read_piecewise(const PiecewiseRead& read);
    int start_piece(const PiecewiseRead& read, std::size_t piece);

    // Where reads land that cannot go to their destination: this many places of this size.
    static constexpr std::size_t landing_places = 4;
    static constexpr std::size_t landing_size = std::size_t{32} * 1024;
    static_assert(wire::window_count(0) <= landing_places);

    // One message of gathered ranges is written while another may wait to be sent.
    static constexpr std::size_t gathered_places = 2;

    unsigned index_;
    PoolMemory memory_;
    LaneLimits limits_;
    Alarm alarm_;
    fabric::AdaptiveWait wait_;
    fabric::CompletionQueue completions_;
    std::unique_ptr<std::byte[]> buffers_;
    std::unique_ptr<std::byte[]> gathered_messages_; // gathered_places of them
    fabric::MemoryRegion buffers_region_;
    std::byte* slots_ = nullptr; // one for each message in flight
    std::size_t next_slot_ = 0;
    wire::PersistResponse* answers_ = nullptr; // where answers land, one for each message
    // To be posted again when the next message has been, which is sooner on its way so.
    wire::PersistResponse* spent_answer_ = nullptr;
    std::byte* landing_ = nullptr;
    std::array<bool, landing_places> landed_{}; // the pieces of a read that have come
    fabric::Endpoint endpoint_;
    GatheredRanges gathered_;
    std::array<bool, gathered_places> is_sent_{}; // may be used again
    std::size_t next_gathered_ = 0;
    std::size_t in_flight_ = 0;   // operations whose completion will come
    std::uint64_t requested_ = 0; // messages
    std::uint64_t answered_ = 0;  // of them
    // If it is requested_, no message that has no answer yet carries data.
    std::uint64_t last_without_data_ = 0;
    bool last_may_wait_ = false; // nobody asked yet for an answer to the last one
    std::size_t unasked_ = 0;    // bytes since an answer was asked for
    struct WrongAnswer {
        wire::PersistResponse content;
        std::size_t size;
    };
    WrongAnswer wrong_answer_{}; // see complaint()
    bool has_unconfirmed_writes_ = false;
    bool tells_processor_ = false;
};

} // namespace rpmem
