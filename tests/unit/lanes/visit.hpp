// One lane of a server, and a bare libfabric peer that has connected to it.
#pragma once

#include "guarded_pool.hpp"
#include "lanes/lane_server.hpp"
#include "serving_thread.hpp"
#include "support/bare_end.hpp"
#include "wire/persist_message.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpmem::target {

using test::BareEnd;
using test::value_of;
using wire::PersistMessage;
using wire::PersistMode;

inline constexpr std::size_t message_header = sizeof(PersistMessage);
inline constexpr std::size_t inline_size = 1024;

class Visit {
public:
    explicit Visit(PoolAccess access, bool late_answers = false, std::size_t data = inline_size,
                   unsigned window_count = 1, bool gathering = true,
                   const std::vector<Share>& shares = one_file, bool read_only = false)
        : pool(shares),
          server_(value_of(LaneServer::start(
              options(access, {data, 4, true, late_answers, window_count, true, gathering},
                      read_only),
              pool.begin(), pool_size, Persister(pool.medium()), Log()))),
          thread_(*server_),
          peer_(value_of(fabric::find_to_connect(fabric::ProviderKind::tcp, test::loopback,
                                                 std::to_string(server_->port()), {16, 16}))) {
        peer_.endpoint = value_of(fabric::Endpoint::open(peer_.domain, peer_.provider.info.get(),
                                                         *peer_.events, peer_.completions));
        if (!peer_.endpoint.connect(peer_.provider.info->dest_addr))
            throw std::runtime_error("no connection");
        const auto serve = [this] {
            if (!server_->handle_events())
                throw std::runtime_error("the server failed");
        };
        peer_.await(fabric::ConnectionEvent::Kind::connected, serve);
        for (const Deadline deadline(test::fabric_patience);
             server_->connected() == 0 && !deadline.passed();)
            serve();
    }

    GuardedPool pool;

    // OFFSET: in the pool; wraps around as the peer's arithmetic would.
    [[nodiscard]] PersistMessage message(PersistMode mode, std::uint64_t offset,
                                         std::uint64_t size) const {
        return {static_cast<std::uint32_t>(mode), 0, server_->remote_base() + offset, size};
    }

    // Sends the first SIZE bytes of MESSAGE and of what follows it, all ones.
    void send(const PersistMessage& message, std::size_t size) {
        std::fill(sent_.begin(), sent_.end(), std::byte{1});
        std::memcpy(sent_.data(), &message, sizeof(message));
        send_bytes(size);
    }

    void send_bytes(std::size_t size) {
        const iovec place{sent_.data(), size};
        void* descriptor = nullptr;
        if (peer_.endpoint.post_receive(&answer_, sizeof(answer_), nullptr, nullptr) != 0 ||
            peer_.endpoint.post_send({&place, 1}, {&descriptor, 1}) != 0)
            throw std::runtime_error("cannot send");
    }

    // One message of several, each with as many bytes of data as it says, or 64. The last CUT are
    // missing.
    void send_together(std::span<const PersistMessage> messages, std::size_t cut = 0) {
        std::fill(sent_.begin(), sent_.end(), std::byte{1});
        std::size_t begin = 0;
        std::size_t end = 0;
        for (const PersistMessage& message : messages) {
            const std::size_t size = std::min<std::uint64_t>(message.size, 64);
            std::memcpy(sent_.data() + begin, &message, sizeof(message));
            end = begin + sizeof(message) + size;
            begin += wire::size_among_others(size);
        }
        send_bytes(end - cut);
    }

    bool is_answered() const { return peer_.await_completions(1); }
    // How many messages the last answer was for.
    [[nodiscard]] std::uint32_t count_answered() const { return answer_.flags; }

    // The connection's end of the peer.
    fabric::Endpoint& end() { return peer_.endpoint; }

    // What the workers say of it; empty if they have nothing to say for a long time.
    std::string failure() const {
        pollfd failed{server_->failure_fd(), POLLIN, 0};
        const auto patience = std::chrono::milliseconds(test::fabric_patience).count();
        return ::poll(&failed, 1, static_cast<int>(patience)) == 1 ? server_->failure() : "";
    }

    // The first bytes of the lane's windows, read as the peer does.
    std::vector<std::byte> in_windows(std::size_t size) {
        std::vector<std::byte> bytes(size);
        if (peer_.endpoint.post_read(bytes.data(), size, nullptr,
                                     {server_->remote_base(), server_->key()}, nullptr) != 0 ||
            !peer_.await_completions(1))
            bytes.clear();
        return bytes;
    }

    // Writes ones to the first SIZE bytes of the pool, or the windows, as RDMA does. False: the
    // server did not take them; it serves a read behind them if it did.
    bool write_directly(std::size_t size) {
        std::fill(sent_.begin(), sent_.end(), std::byte{1});
        return peer_.endpoint.post_write(sent_.data(), size, nullptr,
                                         {server_->remote_base(), server_->key()}, nullptr) == 0 &&
               peer_.await_completions(1) && !in_windows(size).empty();
    }

private:
    static LaneServerOptions options(PoolAccess access, const wire::MessageRules& rules,
                                     bool read_only) {
        return {fabric::ProviderKind::tcp,    test::loopback,      "", 1,      rules,    1,
                std::chrono::microseconds(0), PagingPolicy::never, {}, access, read_only};
    }

    std::unique_ptr<LaneServer> server_;
    ServingThread thread_;
    std::vector<std::byte> sent_ = std::vector<std::byte>(sizeof(PersistMessage) + 8 * inline_size);
    wire::PersistResponse answer_{};
    BareEnd peer_;
};

} // namespace rpmem::target
