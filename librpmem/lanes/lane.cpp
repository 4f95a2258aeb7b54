#include "lanes/lane.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rpmem {
namespace {

constexpr std::size_t landing_size = std::size_t{64} * 1024;
constexpr std::size_t cache_line = 64;

std::size_t aligned(std::size_t size) { return (size + cache_line - 1) / cache_line * cache_line; }

} // namespace

Result<std::unique_ptr<Lane>> Lane::open(const fabric::Domain& domain,
                                         const fabric::Provider& provider,
                                         const fabric::EventQueue& events, unsigned index,
                                         const PoolMemory& memory, const LaneLimits& limits,
                                         int lost_fd) {
    std::unique_ptr<Lane> lane(new Lane(index, memory, limits, lost_fd));
    RPMEM_TRY(lane->set_up(domain, provider, events));
    return lane;
}

Result<> Lane::set_up(const fabric::Domain& domain, const fabric::Provider& provider,
                      const fabric::EventQueue& events) {
    // One more for the answer.
    auto completions = fabric::CompletionQueue::open(domain, limits_.queue_size + 1);
    if (!completions)
        return propagate(std::move(completions));
    completions_ = std::move(*completions);

    const std::size_t message_size = aligned(sizeof(wire::PersistMessage) + limits_.inline_size);
    const std::size_t size =
        message_size + cache_line + (limits_.local_registration ? landing_size : cache_line);
    buffers_ = std::make_unique<std::byte[]>(size);
    message_ = buffers_.get();
    answer_ = reinterpret_cast<wire::PersistResponse*>(message_ + message_size);
    landing_ = message_ + message_size + cache_line;
    auto region =
        fabric::register_memory(domain, provider, buffers_.get(), size, fabric::Access::local);
    if (!region)
        return propagate(std::move(region));
    buffers_region_ = std::move(*region);

    auto endpoint = fabric::Endpoint::open(domain, provider.info.get(), events, completions_);
    if (!endpoint)
        return propagate(std::move(endpoint));
    endpoint_ = std::move(*endpoint);
    return {};
}

// Takes in what has completed, waiting if there is nothing.
int Lane::make_progress() {
    std::array<fabric::Completion, 16> entries;
    const int got = completions_.wait(entries, limits_.wait, lost_fd_);
    if (got == 0)
        return ECONNRESET; // the monitor raised the flag: the session is lost
    if (got < 0)
        return got == -ETIMEDOUT ? ETIMEDOUT : ECONNRESET;
    for (int i = 0; i < got; ++i) {
        const fabric::Completion& entry = entries[static_cast<std::size_t>(i)];
        if ((entry.flags & FI_RECV) == 0)
            --in_flight_;
        else if (entry.len == sizeof(wire::PersistResponse))
            ++answers_;
        else
            return EBADMSG;
    }
    return 0;
}

template <typename Post>
int Lane::post(Post post_operation) {
    while (true) {
        if (in_flight_ < limits_.queue_size) {
            const int status = post_operation();
            if (status == 0) {
                ++in_flight_;
                return 0;
            }
            if (status != -FI_EAGAIN || in_flight_ == 0)
                return ECONNRESET;
        }
        if (const int code = make_progress())
            return code;
    }
}

int Lane::write(std::size_t offset, std::size_t length) {
    has_unconfirmed_writes = true;
    while (length > 0) {
        const std::size_t size = std::min(length, limits_.max_transfer);
        const int code = post([&] {
            return endpoint_.post_write(memory_.local + offset, size, memory_.local_descriptor,
                                        {memory_.remote.address + offset, memory_.remote.key},
                                        nullptr);
        });
        if (code != 0)
            return code;
        offset += size;
        length -= size;
    }
    return 0;
}

int Lane::wait_for_all() {
    while (in_flight_ > 0)
        if (const int code = make_progress())
            return code;
    return 0;
}

int Lane::read_behind_writes() {
    constexpr std::size_t word_size = sizeof(std::uint64_t);
    const int code = post([&] {
        return endpoint_.post_read(landing_, word_size, buffers_region_.descriptor(),
                                   memory_.remote, nullptr);
    });
    if (code != 0)
        return code;
    if (const int waited = wait_for_all())
        return waited;
    has_unconfirmed_writes = false;
    return 0;
}

int Lane::read(std::byte* destination, std::size_t offset, std::size_t length) {
    // The pool itself is registered; so a read back into its own place needs no copy anywhere.
    const bool in_pool =
        destination >= memory_.local && destination + length <= memory_.local + memory_.size;
    if (limits_.local_registration && !in_pool)
        return read_bounced(destination, offset, length);
    return read_into(destination, in_pool ? memory_.local_descriptor : nullptr, offset, length);
}

int Lane::read_into(std::byte* destination, void* descriptor, std::size_t offset,
                    std::size_t length) {
    while (length > 0) {
        const std::size_t size = std::min(length, limits_.max_transfer);
        const int code = post([&] {
            return endpoint_.post_read(destination, size, descriptor,
                                       {memory_.remote.address + offset, memory_.remote.key},
                                       nullptr);
        });
        if (code != 0)
            return code;
        destination += size;
        offset += size;
        length -= size;
    }
    return wait_for_all();
}

int Lane::read_bounced(std::byte* destination, std::size_t offset, std::size_t length) {
    while (length > 0) {
        const std::size_t size = std::min(length, landing_size);
        if (const int code = read_into(landing_, buffers_region_.descriptor(), offset, size))
            return code;
        std::memcpy(destination, landing_, size);
        destination += size;
        offset += size;
        length -= size;
    }
    return 0;
}

// Only the lane is looked at: 1.12.1's daemon never sets the flags of its answers.
bool Lane::answer_fits() const { return answer_->lane == index_; }

int Lane::request(wire::PersistMode mode, std::size_t offset, std::size_t length) {
    // A peer of protocol 0.1 has one receive posted: one message at a time, and the answer must
    // find its buffer.
    const int received =
        endpoint_.post_receive(answer_, sizeof(*answer_), buffers_region_.descriptor(), nullptr);
    if (received != 0)
        return ECONNRESET;
    const auto flags = static_cast<std::uint32_t>(mode);
    const wire::PersistMessage message{flags, index_, memory_.remote.address + offset, length};
    std::memcpy(message_, &message, sizeof(message));
    std::size_t size = sizeof(message);
    if (mode == wire::PersistMode::inline_data) {
        std::memcpy(message_ + size, memory_.local + offset, length);
        size += length;
    }
    const int code = post(
        [&] { return endpoint_.post_send(message_, size, buffers_region_.descriptor(), nullptr); });
    if (code != 0)
        return code;
    while (answers_ == 0)
        if (const int waited = make_progress())
            return waited;
    --answers_;
    return answer_fits() ? 0 : EBADMSG;
}

} // namespace rpmem
