// SPDX-License-Identifier: BSD-3-Clause
// Unauthenticated connections to the target's port. They send nothing, random bytes, or replays of
// messages of real lanes. A connection that the target does not close in time is a finding.
#pragma once

#include "common/base/unique_fd.hpp"
#include "common/transport/pending_connections.hpp"
#include "tests/simulation/daemon.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

namespace rpmem::simulation {

class UnauthenticatedConnections {
public:
    // PORT is that of the path for these connections.
    UnauthenticatedConnections(World& world, unsigned number, std::uint16_t port)
        : world_(world), number_(number), port_(port) {}

    // Records the bytes that an authentic initiator sends before frames, for replays.
    void record(const Link& link, std::span<const iovec> pieces) {
        auto found =
            std::ranges::find(recorded_, &link, [](const auto& each) { return each->link; });
        if (found == recorded_.end()) {
            if (recorded_.size() == max_recorded)
                return;
            recorded_.push_back(std::make_unique<RecordedMessages>(RecordedMessages{&link, {}}));
            found = recorded_.end() - 1;
        }
        std::vector<std::byte>& bytes = (*found)->bytes;
        for (const iovec& piece : pieces) {
            const auto* const from = static_cast<const std::byte*>(piece.iov_base);
            const std::size_t size = std::min(piece.iov_len, proof_size - bytes.size());
            bytes.insert(bytes.end(), from, from + size);
        }
    }
    // Returns when all connections were made and the target has closed them.
    void run() {
        const Time max_stall = world_.random().one_of(max_stalls);
        keeps_slots_ = world_.random().chance(50);
        world_.sleep(world_.random().below(latest_arrival)); // lanes may connect meanwhile
        for (unsigned came = 0; came < number_ || !here_.empty();) {
            const bool all_have_come = came == number_;
            world_.sleep(all_have_come ? tick : world_.random().below(max_stall));
            if (!all_have_come && world_.random().chance(50)) {
                come();
                ++came;
            }
            for (unsigned i = 0; i < voices && !here_.empty(); ++i)
                speak(here_[world_.random().below(here_.size())]);
            std::erase_if(here_, [this](Connection& each) { return is_ended(each); });
        }
    }

private:
    // Number of messages that are sent between two new connections.
    static constexpr unsigned voices = 3;
    static constexpr std::size_t max_recorded = 32;
    // The short pauses make all connections at almost the same time, the long ones one by one.
    static constexpr std::array<Time, 3> max_stalls{20 * microsecond, millisecond,
                                                    100 * millisecond};
    // A margin for the delay of the network, and for a late accept without descriptors.
    static constexpr Time test_timeout = 5 * second;
    static constexpr Time latest_arrival = 100 * millisecond;
    static constexpr Time tick = 100 * millisecond;

    static constexpr std::size_t proof_size =
        transport::first_message_size + transport::third_message_size;
    struct RecordedMessages {
        const Link* link;
        std::vector<std::byte> bytes;
    };
    struct Connection {
        UniqueFd socket;
        Time connected;
        const RecordedMessages* says = nullptr; // the messages that it replays
        std::size_t said = 0;
        bool is_silent = false;
    };
    void come() {
        UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_port = htons(port_);
        static_cast<void>(
            ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)));
        here_.push_back({.socket = std::move(socket),
                         .connected = world_.now(),
                         .is_silent = !keeps_slots_ && world_.random().chance(30)});
    }
    void speak(Connection& connection) {
        if (connection.is_silent)
            return;
        if (keeps_slots_ || world_.random().chance(70))
            return repeat(connection);
        std::array<std::byte, 200> garbage;
        for (std::byte& each : garbage)
            each = static_cast<std::byte>(world_.random().next());
        say(connection, std::span(garbage).first(1 + world_.random().below(garbage.size())));
        connection.is_silent = world_.random().chance(50);
    }
    void say(Connection& connection, std::span<const std::byte> bytes) {
        const ssize_t sent =
            ::send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        connection.said += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
    // Replays the next part of the messages. Sometimes a bit is changed, or the rest is from
    // another connection.
    void repeat(Connection& connection) {
        if (!recorded_.empty() && (!connection.says || world_.random().chance(10)))
            connection.says = recorded_[world_.random().below(recorded_.size())].get();
        if (!connection.says || connection.said >= connection.says->bytes.size())
            return;
        if (keeps_slots_ && connection.said >= transport::first_message_size)
            return;
        const std::size_t end = connection.said < transport::first_message_size
                                    ? transport::first_message_size
                                    : proof_size;
        const std::size_t left = std::min(end, connection.says->bytes.size()) - connection.said;
        if (left == 0)
            return;
        const std::size_t size =
            world_.random().chance(80) ? left : 1 + world_.random().below(left);
        const auto from =
            connection.says->bytes.begin() + static_cast<std::ptrdiff_t>(connection.said);
        std::vector<std::byte> bytes(from, from + static_cast<std::ptrdiff_t>(size));
        if (world_.random().chance(10))
            bytes[world_.random().below(size)] ^= std::byte{4};
        say(connection, bytes);
    }
    // The target must close the connection. Returns whether it has.
    [[nodiscard]] bool is_ended(Connection& connection) {
        constexpr Time longest = static_cast<Time>(transport::unproven_timeout.count()) * second;
        std::array<std::byte, 256> place;
        while (true) {
            const ssize_t got = ::recv(connection.socket.get(), place.data(), place.size(), 0);
            if (got == 0 || (got < 0 && errno != EAGAIN))
                return true;
            if (got < 0)
                break;
        }
        if (world_.now() < connection.connected + longest + test_timeout)
            return false;
        world_.find("a connection without a proof is not ended");
        return true;
    }

    World& world_;
    unsigned number_;
    std::uint16_t port_;
    std::vector<std::unique_ptr<RecordedMessages>> recorded_;
    std::vector<Connection> here_;
    bool keeps_slots_ = false; // send the first message and then nothing, to occupy slots
};

} // namespace rpmem::simulation
