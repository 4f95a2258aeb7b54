// What travels on a lane (protocol 0.1): host byte order, natural alignment. A persist message may
// be followed by inline data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rpmem::wire {

// The low bits of the flags of a persist message.
inline constexpr std::uint32_t persist_mode_mask = 0x3;
// Another one: the answer may wait until a message without this bit is answered. Only with
// capability_late_answers.
inline constexpr std::uint32_t answer_may_wait = 0x4;
// Two more: which of the lane's windows a fetch is for. Only with capability_windows.
inline constexpr unsigned window_shift = 3;
inline constexpr std::uint32_t window_mask = 0x3;
// One more of a message of mode inline_data: behind its data, at the next multiple of 8 bytes from
// its beginning, comes another of that mode. Together they count as one, and the last one's other
// flags are those of all. Only with capability_gathering.
inline constexpr std::uint32_t another_follows = 0x20;
inline constexpr std::size_t most_gathered = 128;

// The high bits of an initiator on the target's machine: the number of the processor that it has to
// share while it waits, counted from 1; 0: none, or one of a larger number. The target may prefer
// another. Only with capability_processors.
inline constexpr unsigned processor_shift = 16;
inline constexpr std::uint32_t most_processors = 0xffff;

enum class PersistMode : std::uint32_t {
    persist_written = 0, // the data came by RDMA WRITE: make the range durable
    deep_persist = 1,    // the same, down to the lowest persistence domain
    inline_data = 2,     // the data follows the message: copy it to addr, make it durable
    fetch = 3, // copy the range to a window of the lane; only with PersistMethod::messages
};

struct PersistMessage {
    std::uint32_t flags;
    std::uint32_t lane; // index of the lane in the order of connection
    std::uint64_t addr; // virtual address on the target
    std::uint64_t size;
};

struct PersistResponse {
    std::uint32_t flags;
    std::uint32_t lane;
};

// Of a message with LENGTH bytes of data that another one follows.
constexpr std::size_t size_among_others(std::size_t length) {
    constexpr std::size_t word_size = 8;
    return sizeof(PersistMessage) + (length + word_size - 1) / word_size * word_size;
}

// How persist messages travel on the lanes of a session; with peers of protocol 0.1 one by one.
struct MessageRules {
    std::size_t inline_size; // bytes of data in one message, at most
    unsigned in_flight;      // messages that may be on their way on a lane
    bool counted_answers;    // an answer says how many messages it answers; else: one
    bool late_answers;       // messages may have the bit answer_may_wait
    unsigned windows = 1;    // of a lane, where the peer does not reach the pool
    bool processors = false; // messages may have a number in the bits from processor_shift
    bool gathering = false;  // messages may have the bit another_follows
};

// The windows of a lane with capability_windows, for messages of INLINE_SIZE bytes of data; each
// has as many. One is filled while another is read. A small one passes in less than the time of a
// round trip: there are more of them.
constexpr unsigned window_count(std::size_t inline_size) {
    constexpr std::size_t small_size = std::size_t{32} * 1024;
    return inline_size <= small_size ? 4 : 2;
}

static_assert(window_count(0) == window_mask + 1);
static_assert(sizeof(PersistMessage) == 24 && std::is_trivially_copyable_v<PersistMessage>);
static_assert(offsetof(PersistMessage, flags) == 0 && offsetof(PersistMessage, lane) == 4);
static_assert(offsetof(PersistMessage, addr) == 8 && offsetof(PersistMessage, size) == 16);
static_assert(sizeof(PersistResponse) == 8 && std::is_trivially_copyable_v<PersistResponse>);
static_assert(offsetof(PersistResponse, flags) == 0 && offsetof(PersistResponse, lane) == 4);

} // namespace rpmem::wire
