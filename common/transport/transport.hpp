// SPDX-License-Identifier: BSD-3-Clause
// The interface between lanes and transports, the same at both ends. It sends and receives frames
// in order. docs/transport.md gives the reasons for these rules.
//
//  1. Buffers. A piece is the payload of a frame, as the caller of post() passes it. Its memory
//     must stay valid until released() has reached the number of the frame. Memory that is neither
//     in the pool nor lent may change as soon as unsent() is false. Lent memory must stay as it is
//     until the peer has acknowledged the frame. A chunk is a part of a payload that has arrived.
//     It is valid for a Receiver until take() returns.
//  2. Order. Frames arrive in the order of post(). A transport reads a piece only when it passes
//     the piece to the network. If post() copied it, the copy could overwrite newer bytes that
//     another lane has made durable in the meantime.
//  3. Failures. The first failure ends the connection and is kept. Frames that arrived before it
//     are delivered first, because one of them may be the error of the peer.
//  4. Waiting. Only Group::wait() blocks.
//  5. Bounds. Sizes from a peer are checked before their use. The Receiver checks them against the
//     type of the frame and against the pool.
//  6. Threads. One thread at a time uses a group and its connections. Connections of different
//     groups may be used at the same time.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/frame.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rpmem::transport {

enum class Fault {
    none,
    closed,         // the peer sent a bye and closed the connection
    lost,           // the connection ended without a bye, or the socket failed
    silent,         // the peer's kernel acknowledged nothing for TCP_USER_TIMEOUT
    broke_protocol, // the peer sent an invalid frame
    damaged,        // a checksum or a TLS record is wrong: bytes changed in transit
    medium,         // the pool at this end has memory that cannot be read
    local,          // a limit of this system, or this end abandoned the connection
};

// After these faults an error frame can still be sent.
[[nodiscard]] constexpr bool can_notify_peer(Fault fault) {
    return fault == Fault::broke_protocol || fault == Fault::damaged;
}

struct ConnectionFailure {
    Fault fault = Fault::none;
    int code = 0;     // a positive errno value
    std::string text; // the connection, the event, and the number of unsent frames
};

// NAME identifies the connection. The text is empty if there is no memory for it.
[[nodiscard]] inline ConnectionFailure abandoned(const std::string& name) noexcept {
    ConnectionFailure failure{Fault::local, ECANCELED, {}};
    try {
        failure.text = name + ": was abandoned by this end";
    } catch (const std::bad_alloc&) {
    }
    return failure;
}

// The owner of a connection, to which poll() delivers frames: begin(), then take() for each chunk
// unless begin() has set PLACE, then end().
class Receiver {
public:
    virtual ~Receiver() = default;
    // A header has arrived. Only its checksum was checked. Set PLACE to where the whole payload is
    // to be stored, or leave it empty to get the payload by take(). Return false and set WHY if the
    // frame violates the protocol.
    virtual bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
                       std::string& why) = 0;
    // A chunk has arrived. It begins at byte POSITION of the payload. Each chunk except the last
    // ends at an offset in the pool that is a multiple of 8.
    virtual void take(const wire::FrameHeader& header, std::size_t position,
                      std::span<const std::byte> chunk) = 0;
    // The frame is complete. Returns like begin().
    virtual bool end(const wire::FrameHeader& header, std::string& why) = 0;
};

// Whether post(), write() or read() has accepted the operation.
enum class PostResult {
    yes,
    full, // the queue of the connection is full until the network accepts some frames
    ended,
};

// Whether the caller posts another frame at once. The transport may then send both together.
enum class More { none, follows };

// Direct access: RDMA writes and reads of the peer's registered memory, without the peer's
// processor.
struct Abilities {
    bool direct = false;
    std::size_t max_bytes = 0; // maximum size of one direct write or read
    // Registered memory for direct reads into memory that is not registered. If it is empty, such
    // reads use frames.
    std::span<std::byte> bounce_buffer{};
    // Limit of a payload that is neither in the pool nor in lent memory. post() fails with a larger
    // one.
    std::size_t max_copy = std::numeric_limits<std::size_t>::max();
};

class LaneConnection {
public:
    LaneConnection() = default;
    // Ends the connection at once. Over TCP the peer sees a reset, unless close() was called and
    // all frames were sent. Afterwards no piece is read, and nothing is stored for a read.
    virtual ~LaneConnection() = default;
    LaneConnection(const LaneConnection&) = delete;
    LaneConnection& operator=(const LaneConnection&) = delete;

    // Accepts the whole frame or nothing. PIECE is its payload.
    virtual PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                            More more) = 0;
    // Returns true while posted frames, or a failure to send them, wait for poll(). Over libfabric:
    // returns true after close(), while the bye is in the send queue.
    [[nodiscard]] virtual bool unsent() const = 0;
    // Returns a number N: the pieces of frames 1 to N are no longer needed. N may be too low until
    // another frame is posted or close() is called.
    [[nodiscard]] virtual std::uint64_t released() const = 0;
    // Sends unsent frames and delivers received ones to RECEIVER, for a bounded time. Returns the
    // number of bytes received, plus one for each completed direct write or read. Returns 0 if
    // nothing has arrived or the connection has ended.
    // After a protocol violation it still sends unsent frames, and drops input. When the peer has
    // closed the connection, fd() is -1.
    virtual std::size_t poll(Receiver& receiver) = 0;
    // Sends a bye after all posted frames. No frame may be posted afterwards.
    virtual void close() = 0;
    // Call it in a child made by fork(2). Closes the descriptors of the child, or over libfabric
    // leaves them alone. Makes only async-signal-safe calls. The parent is not affected.
    virtual void release_in_child() = 0;
    // Ends the connection at once. Afterwards no piece is read, and nothing is stored for a read.
    // Does not throw.
    virtual void abandon() = 0;

    [[nodiscard]] virtual Abilities abilities() const { return {}; }
    // Lends MEMORY to the connection, so that pieces in it are sent without a copy. MEMORY replaces
    // the memory that was lent before. If MEMORY is empty, nothing is lent any more. The peer must
    // have acknowledged all frames with pieces in the former memory, or this end must have
    // abandoned the connection. Returns false if nothing is lent, for example because MEMORY cannot
    // be locked.
    virtual bool lend(std::span<std::byte> memory) { return !memory.empty(); }
    // Returns whether a direct read may store into PLACE.
    [[nodiscard]] virtual bool reaches(std::span<const std::byte>) const { return false; }
    // Writes PIECE to OFFSET in the peer's pool. The bytes arrive before every frame that is posted
    // later, and possibly before the peer has processed frames that were posted earlier.
    virtual PostResult write(std::uint64_t, std::span<const std::byte>) {
        return PostResult::ended;
    }
    // Reads from OFFSET in the peer's pool, after all earlier writes. If PLACE is empty, it reads
    // one word and discards it: its completion means that all earlier writes are in the peer's
    // memory.
    virtual PostResult read(std::uint64_t, std::span<std::byte>) { return PostResult::ended; }
    // Returns the number of direct reads in progress.
    [[nodiscard]] virtual std::size_t open_reads() const { return 0; }

    [[nodiscard]] virtual bool ended() const = 0;
    [[nodiscard]] virtual const ConnectionFailure& failure() const = 0;
    // Returns the descriptor for which the group waits, or -1. Over libfabric only its sign has a
    // meaning.
    [[nodiscard]] virtual int fd() const = 0;
    // Gives the connection a buffer for received bytes. The group calls this.
    virtual void receive_in(std::span<std::byte> buffer) = 0;
};

// Interrupts a wait on a lane when the session of the lane is lost. A transport does not know about
// sessions, so the initiator detects the loss. See librpmem/connection/monitor.hpp.
struct WaitInterrupt {
    int fd = -1; // readable if the session may be lost
    // Checks for the loss, for a few milliseconds at most. Thread-safe. Must not throw.
    std::function<bool()> is_lost{};
};

// Names the setting behind ConnectLimits::time in messages.
inline constexpr std::string_view connect_setting =
    "RPMEM_CONNECT_TIMEOUT, or less while reconnecting";

// How long connecting a lane may take, and what interrupts it.
struct ConnectLimits {
    std::chrono::milliseconds time; // including all retries
    WaitInterrupt interrupt{};
};

enum class WaitResult { look, woken, timed_out };

// The connections that one thread serves. An initiator has a group for each lane. A target has a
// group for each worker.
class Group {
public:
    Group() = default;
    virtual ~Group() = default;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    virtual Result<> add(LaneConnection& connection) = 0;
    virtual void remove(LaneConnection& connection) = 0;
    // Returns when the connections in ready() should be polled, when the descriptor WAKE is
    // readable, or when LIMIT has passed since the first wait() after progressed().
    virtual WaitResult wait(std::chrono::milliseconds limit, int wake) = 0;
    [[nodiscard]] virtual std::span<LaneConnection* const> ready() const = 0;
    // Call it when bytes have arrived. LIMIT then counts from the next wait().
    void progressed() {
        if (std::exchange(is_waiting_, false)) [[unlikely]]
            wait_has_ended();
    }

protected:
    virtual void wait_has_ended() {}

    bool is_waiting_ = false; // set by wait()
};

} // namespace rpmem::transport
