// SPDX-License-Identifier: BSD-3-Clause
// A fake target of protocol 0.1 for the lanes of a pool. A thread receives the messages of the
// lanes, records them in the order of arrival, and responds. A test examines ranges and messages,
// whatever the transport is. It may also select an invalid response.
#pragma once

#include "common/wire/persist_message.hpp"
#include "tests/support/bare_end.hpp"

#include <list>
#include <mutex>

namespace rpmem::test {

struct Recorded {
    // The request of the message for the range. It is empty for a direct write of the initiator,
    // which the target has found in its memory.
    std::optional<wire::PersistMode> mode;
    unsigned lane = 0;
    std::size_t offset = 0; // in the pool
    std::size_t length = 0;
    std::vector<std::byte> bytes; // contents of the range in the pool at that time

    [[nodiscard]] std::size_t end() const { return offset + length; }
};
using Record = std::vector<Recorded>;

struct TargetOptions {
    std::size_t pool_size;
    // Delay each message, so that later direct writes can arrive before its data are copied.
    bool is_slow = false;
    // The response to each message, in place of a valid one.
    std::optional<std::vector<std::byte>> response{};
};

class RecordingTarget {
public:
    explicit RecordingTarget(const TargetOptions& options)
        : options_(options), pool_(options.pool_size), seen_(options.pool_size),
          end_(value_of(fabric::find_to_listen(fabric::ProviderKind::sockets, loopback, "0",
                                               {queue_size, queue_size})),
               max_lanes * 2 * queue_size),
          region_(value_of(fabric::register_memory(end_.domain, end_.provider, pool_.data(),
                                                   pool_.size(), fabric::Access::remote))),
          listener_(
              value_of(fabric::PassiveEndpoint::listen(end_.domain, end_.provider, *end_.events))),
          thread_([this] { run(); }) {}

    ~RecordingTarget() {
        stopping_ = true;
        thread_.join();
    }
    RecordingTarget(const RecordingTarget&) = delete;
    RecordingTarget& operator=(const RecordingTarget&) = delete;

    // The port to which lanes connect, and the address and key of the pool.
    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    [[nodiscard]] std::uint64_t remote_address() const { return region_.remote_base(); }
    [[nodiscard]] std::uint64_t remote_key() const { return region_.key(); }

    // While WITHHELD, messages are received and recorded, and the responses are postponed.
    void withhold_answers(bool withheld) { withheld_ = withheld; }
    [[nodiscard]] Record record() const {
        const std::lock_guard lock(mutex_);
        return record_;
    }
    // Waits until IS_ENOUGH returns true for the record. Returns false after a timeout.
    [[nodiscard]] bool wait_until(const std::function<bool(const Record&)>& is_enough) const {
        for (const Deadline deadline(fabric_timeout); !deadline.passed();
             std::this_thread::sleep_for(between_looks)) {
            const std::lock_guard lock(mutex_);
            if (is_enough(record_))
                return true;
        }
        return false;
    }
    // The pool as it is now. No lane may be sending.
    [[nodiscard]] std::vector<std::byte> pool() const {
        const std::lock_guard lock(mutex_);
        return pool_;
    }
    // Returns why the thread of the target has ended, or an empty text while it runs.
    [[nodiscard]] std::string problem() const {
        const std::lock_guard lock(mutex_);
        return problem_;
    }

private:
    static constexpr unsigned max_lanes = 4;
    static constexpr std::uint16_t queue_size = 64;
    // Protocol 0.1 allows one message in progress. More buffers make an additional message visible,
    // which would otherwise wait in the network.
    static constexpr unsigned spare_buffers = 2;
    static constexpr std::chrono::microseconds between_looks{50};
    // How long a slow target delays a message, if no direct write arrives.
    static constexpr std::chrono::milliseconds slowness{10};
    // Bytes that the search for direct writes compares at once.
    static constexpr std::size_t block_size = 4096;

    struct Lane;
    struct Buffer {
        Lane* lane;
        std::vector<std::byte> bytes;
    };
    struct Lane {
        fabric::Endpoint endpoint;
        std::list<Buffer> buffers;
        unsigned index = 0; // the lane in its messages
        unsigned unanswered = 0;
    };

    void run() try {
        while (!stopping_) {
            if (auto event = value_of(end_.events->read());
                event && event->kind == fabric::ConnectionEvent::Kind::requested)
                accept(event->info.get());
            if (take_what_came() == 0)
                std::this_thread::sleep_for(between_looks);
            answer();
        }
    } catch (const std::exception& exception) {
        const std::lock_guard lock(mutex_);
        problem_ = exception.what();
    }

    void accept(fi_info* info) {
        if (lanes_.size() == max_lanes)
            throw std::runtime_error("too many lanes");
        Lane& lane = lanes_.emplace_back();
        lane.endpoint =
            value_of(fabric::Endpoint::open(end_.domain, info, *end_.events, end_.completions));
        constexpr std::size_t size = sizeof(wire::PersistMessage) + wire::inline_size_of_0_1;
        for (unsigned i = 0; i < 1 + spare_buffers; ++i)
            post(lane.buffers.emplace_back(Buffer{&lane, std::vector<std::byte>(size)}));
        if (!lane.endpoint.accept())
            throw std::runtime_error("a lane cannot be accepted");
    }

    static void post(Buffer& buffer) {
        if (buffer.lane->endpoint.post_receive(buffer.bytes.data(), buffer.bytes.size(), nullptr,
                                               &buffer) != 0)
            throw std::runtime_error("no receive can be posted");
    }

    int take_what_came() {
        fabric::Completion entry;
        const int got = end_.completions.read({&entry, 1});
        // A lane that ends cancels its receives. Their errors are ignored.
        if (got == 1 && (entry.flags & FI_RECV) != 0) {
            if (options_.is_slow)
                let_writes_come();
            note_writes();
            auto& buffer = *static_cast<Buffer*>(entry.op_context);
            take(*buffer.lane, std::span(buffer.bytes).first(entry.len));
            post(buffer);
        } else {
            note_writes();
        }
        return std::max(got, 0);
    }

    // Waits for direct writes that were sent after the message just read. Reading the completion
    // queue makes the provider store them.
    void let_writes_come() {
        for (const Deadline deadline(slowness); !deadline.passed() && pool_ == seen_;) {
            fabric::Completion none;
            static_cast<void>(end_.completions.read({&none, 0}));
            std::this_thread::sleep_for(between_looks);
        }
    }

    // Records direct writes, which have no message: the bytes in which the pool differs from the
    // record.
    void note_writes() {
        if (pool_ == seen_)
            return;
        std::optional<std::size_t> begin;
        for (std::size_t at = 0; at <= pool_.size();) {
            if (!begin && at < pool_.size()) {
                const std::size_t size = std::min(block_size, pool_.size() - at);
                if (std::memcmp(&pool_[at], &seen_[at], size) == 0) {
                    at += size;
                    continue;
                }
            }
            const bool differs = at < pool_.size() && pool_[at] != seen_[at];
            if (differs)
                seen_[at] = pool_[at];
            if (differs && !begin)
                begin = at;
            if (!differs && begin)
                add_write(*std::exchange(begin, std::nullopt), at);
            ++at;
        }
    }

    void add_write(std::size_t begin, std::size_t end) {
        const auto bytes = std::span(seen_).subspan(begin, end - begin);
        Recorded entry;
        entry.offset = begin;
        entry.length = bytes.size();
        entry.bytes.assign(bytes.begin(), bytes.end());
        add(std::move(entry));
    }

    void take(Lane& lane, std::span<const std::byte> message) {
        wire::PersistMessage header{};
        if (message.size() < sizeof(header))
            throw std::runtime_error("a message is too short");
        std::memcpy(&header, message.data(), sizeof(header));
        act(header, message.subspan(sizeof(header)));
        lane.index = header.lane;
        ++lane.unanswered;
    }

    void act(const wire::PersistMessage& header, std::span<const std::byte> data) {
        const std::size_t offset = header.addr - region_.remote_base();
        if (offset > pool_.size() || header.size > pool_.size() - offset)
            throw std::runtime_error("a range is not within the pool");
        const auto mode = static_cast<wire::PersistMode>(header.flags & wire::persist_mode_mask);
        const auto place = std::span(pool_).subspan(offset, header.size);
        if (mode == wire::PersistMode::inline_data) {
            if (header.size > data.size())
                throw std::runtime_error("a message has less data than its header states");
            std::memcpy(place.data(), data.data(), place.size());
            std::memcpy(seen_.data() + offset, data.data(), place.size());
        }
        add({.mode = mode,
             .lane = header.lane,
             .offset = offset,
             .length = place.size(),
             .bytes = {place.begin(), place.end()}});
    }

    void add(Recorded entry) {
        const std::lock_guard lock(mutex_);
        record_.push_back(std::move(entry));
    }

    void answer() {
        for (Lane& lane : lanes_) {
            if (lane.unanswered == 0 || withheld_)
                continue;
            const wire::PersistResponse valid{0, lane.index};
            const auto response = options_.response ? std::span<const std::byte>(*options_.response)
                                                    : std::as_bytes(std::span(&valid, 1));
            if (lane.endpoint.inject(response.data(), response.size()) == 0)
                --lane.unanswered; // otherwise the lane is busy, or has ended
        }
    }

    const TargetOptions options_;
    std::vector<std::byte> pool_;
    std::vector<std::byte> seen_; // the pool as far as it was recorded
    BareEnd end_;
    fabric::MemoryRegion region_;
    fabric::PassiveEndpoint listener_;
    std::list<Lane> lanes_;
    std::atomic<bool> withheld_ = false;
    std::atomic<bool> stopping_ = false;
    mutable std::mutex mutex_;
    Record record_;
    std::string problem_;
    std::thread thread_;
};

} // namespace rpmem::test
