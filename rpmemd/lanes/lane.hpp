// The target's side of one lane: an endpoint, buffers for the messages that may be on their way,
// and what has been done and not yet been answered. Used by one worker's thread at a time.
#pragma once

#include "fabric/endpoint.hpp"
#include "lanes/persister.hpp"
#include "lanes/taken_ranges.hpp"
#include "wire/persist_message.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// The pool as messages address it.
struct ServedMemory {
    std::byte* address;
    std::size_t size;
    std::uint64_t remote_base; // what peers add to an offset
    // Where peers read what they cannot reach: the windows of all lanes. Null: they reach it all.
    std::byte* windows = nullptr;
    std::size_t window_size = 0;
    bool read_only = false; // the memory must not be stored to: messages that write are refused
};

class Lane {
public:
    // A message's place, and whose; the context of its receive.
    struct MessageBuffer {
        Lane* lane;
        std::byte* data;
    };

    static Result<std::unique_ptr<Lane>> open(const fabric::Domain& domain,
                                              const fabric::Provider& provider, fi_info* info,
                                              const fabric::EventQueue& events,
                                              const fabric::CompletionQueue& completions,
                                              unsigned index, const wire::MessageRules& rules);

    // Bytes of data in the messages that each lane has buffers for.
    [[nodiscard]] static std::size_t most_data(const fabric::Provider& provider,
                                               const wire::MessageRules& rules);

    [[nodiscard]] unsigned index() const { return index_; }
    [[nodiscard]] fabric::Endpoint& endpoint() { return endpoint_; }
    bool connected = false;
    // As the last message told it, see wire::processor_shift.
    [[nodiscard]] unsigned processor_of_initiator() const {
        return rules_.processors ? last_flags_ >> wire::processor_shift : 0;
    }

    // Does what the message of RECEIVED bytes in BUFFER says, except for making its range durable,
    // and gets ready for the next one, now or when it has answered. Returns a text if the peer
    // broke the rules or the medium failed: there must be no answer then.
    [[nodiscard]] std::string take(const MessageBuffer& buffer, std::size_t received,
                                   const ServedMemory& memory, const Persister& persister);
    // What was taken must be durable now: its answer is due, or the time until then is well used.
    [[nodiscard]] bool is_due(const Persister& persister) const {
        return answer_wanted_ || persister.means() == FlushMeans::pmem_persist;
    }
    // Makes all that was taken durable.
    [[nodiscard]] std::string persist_taken(const Persister& persister) {
        return taken_.persist(persister);
    }
    // Answers what was taken, unless the last message said that this may wait. False: not now, the
    // queue is full.
    [[nodiscard]] bool answer();

private:
    Lane(unsigned index, const wire::MessageRules& rules) : index_(index), rules_(rules) {}
    Result<> set_up(const fabric::Domain& domain, const fabric::Provider& provider, fi_info* info,
                    const fabric::EventQueue& events, const fabric::CompletionQueue& completions);
    int post(const MessageBuffer& buffer);
    void get_ready();
    [[nodiscard]] std::string act(const wire::PersistMessage& message,
                                  std::span<const std::byte> data, const ServedMemory& memory,
                                  const Persister& persister);
    [[nodiscard]] std::string fetch(const std::byte* address, const wire::PersistMessage& message,
                                    const ServedMemory& memory) const;

    unsigned index_;
    wire::MessageRules rules_;
    std::size_t message_size_ = 0;
    std::unique_ptr<std::byte[]> memory_;
    fabric::MemoryRegion region_;
    std::vector<MessageBuffer> buffers_;
    const MessageBuffer* spent_ = nullptr; // to be posted again when the answer is on its way
    bool posts_late_ = false;              // what finds no buffer waits, and there is more than one
    fabric::Endpoint endpoint_;
    unsigned unanswered_ = 0;
    std::uint32_t last_flags_ = 0;
    bool answer_wanted_ = false;
    TakenRanges taken_;
};

} // namespace rpmem::target
