// SPDX-License-Identifier: BSD-3-Clause
// The contract between lanes and transports, the same at both ends: frames go out and come in, in
// order. docs/transport.md has the reasons.
//
//  1. Buffers. The bytes of a piece stay readable until released() has reached the number of its
//     frame. A chunk that a Receiver is given is gone when take() returns.
//  2. Order. Frames arrive in the order of post(). A piece is read only when it is handed to the
//     network: a copy that is made earlier could overwrite newer bytes that another lane has made
//     durable meanwhile.
//  3. Failures. The first one ends the connection and is kept. What has come before it is taken
//     first, so that the peer's own explanation goes before the end of the connection.
//  4. Waiting. Nothing waits but Group::wait().
//  5. Bounds. Sizes of a peer are checked before they are used: by the connection against what the
//     frame's type may have, by the Receiver against the pool.
//  6. Threads. One thread at a time uses a connection or a group. Two of them share nothing.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/frame.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace rpmem::transport {

enum class Fault {
    none,
    closed,         // a bye came, then the end
    lost,           // the end without a bye, or an error of the socket
    silent,         // the peer's kernel acknowledged nothing for the time of TCP_USER_TIMEOUT
    broke_protocol, // a frame that the session has not agreed on
    damaged,        // a checksum or a TLS record is wrong: bytes were altered on their way
    medium,         // memory of the pool at this end cannot be read
    local,          // a limit of this system
};

// After these faults an error frame can still be sent.
[[nodiscard]] constexpr bool may_be_told(Fault fault) {
    return fault == Fault::broke_protocol || fault == Fault::damaged;
}

struct ConnectionFailure {
    Fault fault = Fault::none;
    int code = 0;     // a positive errno value
    std::string text; // the connection, what happened, and how far it had come
};

// The receiver of the frames that arrive at this end.
class Receiver {
public:
    virtual ~Receiver() = default;
    // A header has come: nothing of it has been checked but its checksum. PLACE: where the payload
    // shall go, as a whole; if it is left empty, take() gets it. False: the frame breaks the rules,
    // and WHY.
    virtual bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
                       std::string& why) = 0;
    // The payload, or what there is of it from POSITION on. Each chunk but the last ends at a
    // multiple of 8 bytes of the pool.
    virtual void take(const wire::FrameHeader& header, std::size_t position,
                      std::span<const std::byte> chunk) = 0;
    // All of the frame has come. False: as begin().
    virtual bool end(const wire::FrameHeader& header, std::string& why) = 0;
};

// One that has ended because the peer broke the rules can still tell the peer why.
enum class PostResult {
    yes,
    full, // the connection keeps as many frames as it can until the network has taken some
    ended,
};

// Whether another frame is about to be posted: then both go to the network together.
enum class More { none, follows };

// What a connection can do besides frames: memory of the peer that is registered for it is written
// and read without the peer's processor.
struct Abilities {
    bool direct = false;
    std::size_t max_bytes = 0; // of one direct write or read
    // Reaches a direct read, where others may not; empty: frames read instead.
    std::span<std::byte> bounce_buffer{};
};

class Connection {
public:
    Connection() = default;
    // At once; the peer sees a reset. Nothing touches pieces or places afterwards.
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Takes the whole frame or nothing. PIECE is its payload.
    virtual PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                            More more) = 0;
    // The network did not take all that was posted. poll() tries again.
    [[nodiscard]] virtual bool unsent() const = 0;
    // Frames posted by this end whose pieces are read no more, counted from the first. The last
    // ones may be missing until another is posted, or close() is called.
    [[nodiscard]] virtual std::uint64_t released() const = 0;
    // Sends what is unsent, and hands what has come to RECEIVER, for a bounded time. Returns how
    // many bytes have come, those of direct writes and reads that have ended, too. 0: there is
    // nothing now, or the connection has ended. If it ended
    // because the peer broke the rules, this sends what is unsent, and drops what comes until the
    // peer ends, too: then fd() is -1.
    virtual std::size_t poll(Receiver& receiver) = 0;
    // Sends a bye behind all that was posted, and nothing afterwards.
    virtual void close() = 0;
    // In a child made by fork(2): lets go of descriptors, which the parent goes on using.
    virtual void release_in_child() = 0;
    // At once, as the destructor: nothing touches pieces or places afterwards.
    virtual void abandon() { release_in_child(); }

    [[nodiscard]] virtual Abilities abilities() const { return {}; }
    // Whether a direct read may go to PLACE.
    [[nodiscard]] virtual bool reaches(std::span<const std::byte>) const { return false; }
    // Places PIECE at OFFSET of the peer's pool before any frame arrives that is posted later, but
    // maybe before the peer has taken frames that were posted earlier.
    virtual PostResult write(std::uint64_t, std::span<const std::byte>) {
        return PostResult::ended;
    }
    // Reads the peer's pool at OFFSET, behind all that was written before. Without a PLACE it reads
    // a word that nobody wants: when it has come, all that was written is in the peer's memory.
    virtual PostResult read(std::uint64_t, std::span<std::byte>) { return PostResult::ended; }
    // Of those reads, how many have not come yet.
    [[nodiscard]] virtual std::size_t open_reads() const { return 0; }

    [[nodiscard]] virtual bool ended() const = 0;
    [[nodiscard]] virtual const ConnectionFailure& failure() const = 0;
    // For the group: the descriptor to sleep on, and the memory in which it may receive.
    [[nodiscard]] virtual int fd() const = 0;
    virtual void receive_in(std::span<std::byte> buffer) = 0;
};

// Of a session, for whoever waits for its lanes.
struct LossWatch {
    int fd = -1; // readable: it may be lost
    // Looks, for a moment at least. From any thread; must not throw.
    std::function<bool()> is_lost{};
};

// Of connecting a lane.
struct ConnectLimits {
    std::chrono::milliseconds time; // for all tries together
    LossWatch watch{};
};

enum class WaitResult { look, woken, timed_out };

// The connections that one thread serves: of an initiator those of a lane, of a target those of a
// worker.
class Group {
public:
    Group() = default;
    virtual ~Group() = default;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    virtual Result<> add(Connection& connection) = 0;
    virtual void remove(Connection& connection) = 0;
    // Returns when it is worth while to poll those in ready(), when WAKE (a descriptor) is
    // readable, or when LIMIT has passed since progressed() was called last.
    virtual WaitResult wait(std::chrono::milliseconds limit, int wake) = 0;
    [[nodiscard]] virtual std::span<Connection* const> ready() const = 0;
    // Something has come: what follows is another wait.
    void progressed() {
        if (std::exchange(is_waiting_, false)) [[unlikely]]
            wait_has_ended();
    }

protected:
    virtual void wait_has_ended() {}

    bool is_waiting_ = false; // set by wait()
};

} // namespace rpmem::transport
