// One lane of a pool, as the pool uses it. By one thread at a time.
#pragma once

#include "common/base/hot.hpp"

#include <cstddef>
#include <string>

namespace rpmem::initiator {

// All operations return 0, or a positive errno value after which the lane is of no more use:
// EBADMSG if the target broke the rules, ETIMEDOUT, ECONNRESET. They take effect in the order of
// the calls. RELAXED: the target need not store aligned words of the range as a whole.
class Lane {
public:
    Lane() = default;
    virtual ~Lane() = default;
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // Starts to send a range; it may wait for others, or for drain().
    [[nodiscard]] virtual int flush(std::size_t offset, std::size_t length, bool relaxed) = 0;
    // All that was flushed is durable.
    [[nodiscard]] virtual int drain() = 0;
    [[nodiscard]] virtual int persist(std::size_t offset, std::size_t length, bool relaxed) = 0;
    [[nodiscard]] virtual int deep_persist(std::size_t offset, std::size_t length) = 0;
    // When it has returned, nothing more comes to DESTINATION.
    [[nodiscard]] virtual int read(std::byte* destination, std::size_t offset,
                                   std::size_t length) = 0;

    // Something was flushed and is not known to be durable.
    [[nodiscard]] virtual bool owes() const = 0;
    // How the target broke the rules, or why it has ended the lane.
    [[nodiscard]] virtual std::string complaint() const = 0;
    // What the target said when it ended the lane; empty: nothing.
    [[nodiscard]] virtual std::string output() const { return {}; }
    // In a child made by fork(2): lets go of descriptors, which the parent goes on using.
    virtual void release_in_child() = 0;
};

} // namespace rpmem::initiator
