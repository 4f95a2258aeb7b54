// Stands for a target of protocol 0.1 on the lanes of a pool: a thread that takes what the lanes
// send, remembers it in the order in which it came, and answers. A test sees ranges and messages
// here, and nothing of the transport that brings them.
#pragma once

#include "common/wire/persist_message.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::test {

struct Recorded {
    // What the target was asked to do with the range. Nothing: it was only written, by the
    // initiator itself, and was seen when the target looked next.
    std::optional<wire::PersistMode> mode;
    unsigned lane = 0;
    std::size_t offset = 0; // in the pool
    std::size_t length = 0;
    std::vector<std::byte> bytes; // that the pool has there from then on

    [[nodiscard]] std::size_t end() const { return offset + length; }
};
using Record = std::vector<Recorded>;

struct Conduct {
    std::size_t pool_size;
    // What a message carries is copied late, so that writes behind it can come first.
    bool is_slow = false;
};

class RecordingTarget {
public:
    explicit RecordingTarget(const Conduct& conduct);
    ~RecordingTarget();
    RecordingTarget(const RecordingTarget&) = delete;
    RecordingTarget& operator=(const RecordingTarget&) = delete;

    // Where lanes connect, and how they address the pool.
    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] std::uint64_t remote_address() const;
    [[nodiscard]] std::uint64_t remote_key() const;

    // Until answers are let go again, messages are taken and not answered.
    void withhold_answers(bool withheld);
    [[nodiscard]] Record record() const;
    // Returns when IS_ENOUGH says so of what has come; false: it did not for long.
    bool wait_until(const std::function<bool(const Record&)>& is_enough) const;
    // The pool as it is now. No lane may be sending.
    [[nodiscard]] std::vector<std::byte> pool() const;
    // Why it takes no more messages; empty if it does.
    [[nodiscard]] std::string problem() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace rpmem::test
