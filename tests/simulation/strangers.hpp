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

class Strangers {
public:
    // PORT is that of the path for these connections.
    Strangers(World& world, unsigned number, std::uint16_t port)
        : world_(world), number_(number), port_(port) {}

    // Records the bytes that an authentic initiator sends before frames, for replays.
    void overhear(const Link& link, std::span<const iovec> pieces) {
        auto found =
            std::ranges::find(overheard_, &link, [](const auto& each) { return each->link; });
        if (found == overheard_.end()) {
            if (overheard_.size() == max_overheard)
                return;
            overheard_.push_back(std::make_unique<Overheard>(Overheard{&link, {}}));
            found = overheard_.end() - 1;
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
            std::erase_if(here_, [this](Stranger& each) { return is_ended(each); });
        }
    }

private:
    // Number of messages that are sent between two new connections.
    static constexpr unsigned voices = 3;
    static constexpr std::size_t max_overheard = 32;
    // The short pauses make all connections at almost the same time, the long ones one by one.
    static constexpr std::array<Time, 3> max_stalls{20 * microsecond, millisecond,
                                                    100 * millisecond};
    // A margin for the delay of the network, and for a late accept without descriptors.
    static constexpr Time patience = 5 * second;
    static constexpr Time latest_arrival = 100 * millisecond;
    static constexpr Time tick = 100 * millisecond;

    static constexpr std::size_t proof_size =
        transport::first_message_size + transport::third_message_size;
    struct Overheard {
        const Link* link;
        std::vector<std::byte> bytes;
    };
    struct Stranger {
        UniqueFd socket;
        Time connected;
        const Overheard* says = nullptr; // the messages that it replays
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
    void speak(Stranger& stranger) {
        if (stranger.is_silent)
            return;
        if (keeps_slots_ || world_.random().chance(70))
            return repeat(stranger);
        std::array<std::byte, 200> garbage;
        for (std::byte& each : garbage)
            each = static_cast<std::byte>(world_.random().next());
        say(stranger, std::span(garbage).first(1 + world_.random().below(garbage.size())));
        stranger.is_silent = world_.random().chance(50);
    }
    void say(Stranger& stranger, std::span<const std::byte> bytes) {
        const ssize_t sent =
            ::send(stranger.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        stranger.said += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
    // Replays the next part of the messages. Sometimes a bit is changed, or the rest is from
    // another connection.
    void repeat(Stranger& stranger) {
        if (!overheard_.empty() && (!stranger.says || world_.random().chance(10)))
            stranger.says = overheard_[world_.random().below(overheard_.size())].get();
        if (!stranger.says || stranger.said >= stranger.says->bytes.size())
            return;
        if (keeps_slots_ && stranger.said >= transport::first_message_size)
            return;
        const std::size_t end = stranger.said < transport::first_message_size
                                    ? transport::first_message_size
                                    : proof_size;
        const std::size_t left = std::min(end, stranger.says->bytes.size()) - stranger.said;
        if (left == 0)
            return;
        const std::size_t size =
            world_.random().chance(80) ? left : 1 + world_.random().below(left);
        const auto from = stranger.says->bytes.begin() + static_cast<std::ptrdiff_t>(stranger.said);
        std::vector<std::byte> bytes(from, from + static_cast<std::ptrdiff_t>(size));
        if (world_.random().chance(10))
            bytes[world_.random().below(size)] ^= std::byte{4};
        say(stranger, bytes);
    }
    // The target must close the connection. Returns whether it has.
    [[nodiscard]] bool is_ended(Stranger& stranger) {
        constexpr Time longest = static_cast<Time>(transport::unproven_timeout.count()) * second;
        std::array<std::byte, 256> place;
        while (true) {
            const ssize_t got = ::recv(stranger.socket.get(), place.data(), place.size(), 0);
            if (got == 0 || (got < 0 && errno != EAGAIN))
                return true;
            if (got < 0)
                break;
        }
        if (world_.now() < stranger.connected + longest + patience)
            return false;
        world_.find("a connection without a proof is not ended");
        return true;
    }

    World& world_;
    unsigned number_;
    std::uint16_t port_;
    std::vector<std::unique_ptr<Overheard>> overheard_;
    std::vector<Stranger> here_;
    bool keeps_slots_ = false; // send the first message and then nothing, to occupy slots
};

} // namespace rpmem::simulation
