// The two ends of ways.cpp: one that has the pool, and one that makes data persistent there.
#pragma once

#include "clock.hpp"
#include "support/bare_end.hpp"

#include <libpmem.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rpmem::bench {

using test::value_of;
using EventKind = fabric::ConnectionEvent::Kind;

inline constexpr std::size_t pool_size = std::size_t{16} << 20;
inline constexpr fabric::QueueSizes queues{16, 16};

enum class Way { send, write_and_message, write_and_read, delivery, commit };
inline constexpr std::array ways{Way::send, Way::write_and_message, Way::write_and_read,
                                 Way::delivery, Way::commit};
inline constexpr std::size_t way_count = ways.size();
inline constexpr std::array<const char*, way_count> names_of_ways{
    "send, copy, answer", "write, message, flush, answer", "write, read", "delivery complete",
    "commit complete"};

inline void require(bool condition, const char* what) {
    if (!condition)
        throw std::runtime_error(what);
}

inline void require(const Result<>& result) {
    if (!result)
        throw std::runtime_error(result.error().text);
}

enum class Task : std::uint64_t { copy, flush };

// In front of the data, if they are sent.
struct Header {
    Task task;
    std::uint64_t offset; // in the pool
    std::uint64_t size;
};
using Answer = std::uint64_t;

// How the asking process finds the other.
struct Introduction {
    std::uint64_t base;
    std::uint64_t key;
    std::uint16_t port;
};

// Seen by both processes, so that the asking one can look whether its data have arrived.
class Pool {
public:
    Pool()
        : address_(::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
        require(address_ != MAP_FAILED, "cannot map the pool");
    }
    ~Pool() { ::munmap(address_, pool_size); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    [[nodiscard]] std::byte* at(std::uint64_t offset) const {
        return static_cast<std::byte*>(address_) + offset;
    }

private:
    void* address_;
};

class End : public test::BareEnd {
public:
    End(fabric::Provider found, std::size_t size)
        : BareEnd(std::move(found)), buffer_(size),
          region_(value_of(fabric::register_memory(domain, provider, buffer_.data(), buffer_.size(),
                                                   fabric::Access::local))) {}

protected:
    // POST is called again while the queue is full. False: the provider does not do such a thing.
    template <typename Post>
    bool offer(Post post) {
        const Deadline deadline(test::fabric_patience);
        int status = -FI_EAGAIN;
        while ((status = post()) == -FI_EAGAIN) {
            collect();
            require(!deadline.passed(), "the queue stays full");
        }
        const bool refused =
            status == -FI_EOPNOTSUPP || status == -FI_EBADFLAGS || status == -FI_ENOSYS;
        require(status == 0 || refused, "an operation cannot be posted");
        return !refused;
    }
    template <typename Post>
    void post(Post post) {
        require(offer(post), "the provider refuses an operation");
    }
    void post_receive(std::size_t size) {
        post([&] {
            return endpoint.post_receive(buffer_.data(), size, region_.descriptor(), nullptr);
        });
    }
    void await_completion() {
        constexpr unsigned look_at_clock = 1U << 16;
        const Deadline deadline(test::fabric_patience);
        for (unsigned i = 1; completed_ == 0; ++i) {
            collect();
            require(i % look_at_clock != 0 || !deadline.passed(), "nothing completed in time");
        }
        --completed_;
    }

    // What is received, and in the asking process behind it what is sent.
    std::vector<std::byte> buffer_;
    fabric::MemoryRegion region_;

private:
    void collect() {
        fabric::Completion entry;
        const int got = completions.read({&entry, 1});
        require(got >= 0, "an operation failed");
        completed_ += got;
    }

    int completed_ = 0;
};

class AnsweringEnd : public End {
public:
    AnsweringEnd(fabric::ProviderKind kind, const Pool& pool, std::size_t most)
        : End(value_of(fabric::find_to_listen(kind, test::loopback, "0", queues)),
              sizeof(Header) + most),
          pool_(pool), shared_(register_pool()),
          listener_(value_of(fabric::PassiveEndpoint::listen(domain, provider, *events))) {}

    [[nodiscard]] Introduction introduction() const {
        return {shared_.remote_base(), shared_.key(), listener_.port()};
    }

    void accept() {
        const auto request = await(EventKind::requested, [] {});
        endpoint =
            value_of(fabric::Endpoint::open(domain, request.info.get(), *events, completions));
        post_receive(buffer_.size());
        require(endpoint.accept());
        await(EventKind::connected, [] {});
    }

    // Until nobody has asked for long.
    [[noreturn]] void serve() {
        while (true) {
            await_completion();
            Header header;
            std::memcpy(&header, buffer_.data(), sizeof(header));
            if (header.task == Task::copy)
                pmem_memcpy_persist(pool_.at(header.offset), buffer_.data() + sizeof(header),
                                    header.size);
            else
                pmem_persist(pool_.at(header.offset), header.size);
            post_receive(buffer_.size());
            const Answer answer = header.offset;
            post([&] { return endpoint.inject(&answer, sizeof(answer)); });
        }
    }

private:
    // As memory that has to be flushed, which register_memory() says of none.
    fabric::MemoryRegion register_pool() {
        const std::uint64_t flags = provider.info->caps & FI_RMA_PMEM;
        constexpr std::uint64_t key = 1; // unless the provider chooses it
        fid_mr* region = nullptr;
        require(fi_mr_reg(domain.domain.get(), pool_.at(0), pool_size,
                          FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, flags, &region, nullptr) == 0,
                "cannot register the pool");
        return {fabric::Handle<fid_mr>(region),
                provider.virtual_addressing ? reinterpret_cast<std::uintptr_t>(pool_.at(0)) : 0};
    }

    const Pool& pool_;
    fabric::MemoryRegion shared_;
    fabric::PassiveEndpoint listener_;
};

class AskingEnd : public End {
public:
    AskingEnd(fabric::ProviderKind kind, const Pool& pool, const Introduction& other,
              std::size_t most)
        : End(value_of(fabric::find_to_connect(kind, test::loopback, std::to_string(other.port),
                                               queues)),
              sizeof(Answer) + sizeof(Header) + most),
          pool_(pool), other_(other) {
        endpoint =
            value_of(fabric::Endpoint::open(domain, provider.info.get(), *events, completions));
        post_receive(sizeof(Answer));
        require(endpoint.connect(provider.info->dest_addr));
        await(EventKind::connected, [] {});
    }

    // Whether the provider promises to do so; some take any flag in an operation, and ignore it.
    [[nodiscard]] bool offers(Way way) const {
        if (flags_of(way) == 0)
            return true;
        const fabric::Info hints(fi_dupinfo(provider.info.get()));
        require(hints != nullptr, "out of memory");
        hints->tx_attr->op_flags |= flags_of(way);
        fi_info* found = nullptr;
        const int status = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
        const fabric::Info owned(found);
        return status == 0;
    }

    // Other data each time, at another place. False: the provider does not do it this way.
    bool persist(Way way, std::size_t size, std::vector<std::uint64_t>& nanoseconds) {
        offset_ = offset_ + 2 * size > pool_size ? 0 : offset_ + size;
        std::memset(data(), ++value_, size);
        const Nanoseconds begin = now();
        if (!ask(way, size))
            return false;
        await_completion();
        if (way == Way::send || way == Way::write_and_message)
            post_receive(sizeof(Answer));
        nanoseconds.push_back(static_cast<std::uint64_t>((now() - begin).count()));
        return true;
    }
    // What was made persistent last.
    void check_arrived(std::size_t size) {
        require(std::memcmp(pool_.at(offset_), data(), size) == 0, "the data are not in the pool");
    }

private:
    static std::uint64_t flags_of(Way way) {
        return way == Way::delivery ? FI_DELIVERY_COMPLETE
               : way == Way::commit ? FI_COMMIT_COMPLETE
                                    : 0;
    }
    [[nodiscard]] std::byte* header() { return buffer_.data() + sizeof(Answer); }
    [[nodiscard]] std::byte* data() { return header() + sizeof(Header); }

    // One completion follows: of the answer, the read, or the write itself.
    bool ask(Way way, std::size_t size) {
        switch (way) {
        case Way::send:
            send(Task::copy, size);
            return true;
        case Way::write_and_message:
            if (!write(size, 0))
                return false;
            send(Task::flush, size);
            return true;
        case Way::write_and_read:
            if (!write(size, 0))
                return false;
            read();
            return true;
        case Way::delivery:
        case Way::commit:
            return write(size, flags_of(way) | FI_COMPLETION);
        }
        return false;
    }

    void send(Task task, std::size_t size) {
        const Header message{task, offset_, size};
        std::memcpy(header(), &message, sizeof(message));
        const std::array<iovec, 2> pieces{iovec{header(), sizeof(Header)}, iovec{data(), size}};
        std::array<void*, 2> descriptors{region_.descriptor(), region_.descriptor()};
        const std::size_t count = task == Task::copy ? 2 : 1;
        post([&] {
            return endpoint.post_send(std::span(pieces).first(count),
                                      std::span(descriptors).first(count));
        });
    }

    // Endpoint::post_write() knows no such flags.
    bool write(std::size_t size, std::uint64_t flags) {
        auto* const bare = reinterpret_cast<fid_ep*>(endpoint.id()); // its first member
        const iovec local{data(), size};
        void* descriptor = region_.descriptor();
        const fi_rma_iov there{other_.base + offset_, size, other_.key};
        const fi_msg_rma message{&local, &descriptor, 1, 0, &there, 1, nullptr, 0};
        return offer([&] { return static_cast<int>(fi_writemsg(bare, &message, flags)); });
    }

    // To where the header of a message would be: none is on its way.
    void read() {
        post([&] {
            return endpoint.post_read(header(), sizeof(Answer), region_.descriptor(),
                                      {other_.base + offset_, other_.key}, nullptr);
        });
    }

    const Pool& pool_;
    Introduction other_;
    std::uint64_t offset_ = 0;
    unsigned char value_ = 0;
};

} // namespace rpmem::bench
