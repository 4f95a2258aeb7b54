// SPDX-License-Identifier: BSD-3-Clause
// The target's end of lanes over tcp on loopback, without a pool. The test selects the response to
// each frame. It is used for invalid, late and missing responses.
#pragma once

#include "common/transport/tcp/listener.hpp"
#include "common/wire/frame.hpp"
#include "tests/support/bare_end.hpp"

#include <climits>
#include <mutex>

namespace rpmem::test {

// The response to each frame.
struct LaneAnswer {
    bool is_good = true;                // an ack, or the data of a read; if false, send `bytes`
    std::vector<std::byte> bytes{};     // may be empty for no response
    std::chrono::milliseconds pause{0}; // pause after each byte of an ack
    unsigned limit = UINT_MAX;          // number of frames with a response
};
inline const LaneAnswer good_answer{};
inline const LaneAnswer no_answer{.is_good = false};

class FrameTarget final : private transport::LaneOwner {
public:
    explicit FrameTarget(LaneAnswer answer)
        : listener_(value_of(transport::Listener::listen(
              {.addresses = {loopback}, .peer_timeout = fabric_timeout}, random_))),
          answer_(std::move(answer)), thread_([this] { run(); }) {}
    ~FrameTarget() override {
        stopping_ = true;
        thread_.join();
    }
    FrameTarget(const FrameTarget&) = delete;
    FrameTarget& operator=(const FrameTarget&) = delete;

    [[nodiscard]] std::uint16_t port() const { return listener_->port(); }
    // Returns the number of frames received, without byes.
    [[nodiscard]] unsigned messages() const { return messages_; }
    // Accepts lanes of SESSION from now on.
    void secure(transport::ProofSession session) {
        const std::lock_guard lock(mutex_);
        session_.emplace(std::move(session));
    }

private:
    struct Lane {
        std::unique_ptr<transport::Stream> stream;
        std::vector<std::byte> come;
    };

    std::optional<transport::Refused> admit(const transport::LaneIdentity&) override {
        return std::nullopt;
    }
    void take(const transport::LaneIdentity&, std::unique_ptr<transport::Stream> stream,
              std::string, const wire::LaneCredits&) override {
        lanes_.push_back({std::move(stream), {}});
    }

    void run() {
        while (!stopping_) {
            {
                const std::lock_guard lock(mutex_);
                if (session_)
                    listener_->handle(*session_, nullptr, *this, std::chrono::steady_clock::now());
            }
            for (Lane& lane : lanes_)
                serve(lane);
            // There is no common descriptor to wait for the listener and the lanes.
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }

    void serve(Lane& lane) {
        std::vector<std::byte> more(65536);
        const iovec place{more.data(), more.size()};
        const ssize_t got = lane.stream->receive({&place, 1});
        if (got > 0)
            lane.come.insert(lane.come.end(), more.begin(), more.begin() + got);
        while (lane.come.size() >= wire::frame_header_size) {
            const auto header =
                wire::decode_frame_header(std::span(lane.come).first<wire::frame_header_size>());
            const std::size_t size = wire::frame_header_size + wire::payload_of(*header);
            if (lane.come.size() < size)
                return;
            lane.come.erase(lane.come.begin(),
                            lane.come.begin() + static_cast<std::ptrdiff_t>(size));
            if (header->type == wire::FrameType::bye)
                continue;
            if (messages_ < answer_.limit)
                answer(lane, *header);
            ++messages_;
        }
    }

    void answer(Lane& lane, const wire::FrameHeader& header) {
        if (!answer_.is_good)
            return say(lane, answer_.bytes);
        if (header.type != wire::FrameType::read) {
            const auto ack = wire::encode({.type = wire::FrameType::ack, .number = header.number});
            if (answer_.pause.count() == 0)
                return say(lane, ack);
            for (const std::byte& byte : ack) {
                say(lane, {&byte, 1});
                std::this_thread::sleep_for(answer_.pause);
            }
            return;
        }
        wire::FrameHeader data = header;
        data.type = wire::FrameType::data;
        say(lane, wire::encode(data));
        say(lane, std::vector<std::byte>(header.length));
    }

    static void say(Lane& lane, std::span<const std::byte> bytes) {
        const iovec whole{const_cast<std::byte*>(bytes.data()), bytes.size()};
        if (!bytes.empty())
            static_cast<void>(lane.stream->send({&whole, 1}, false));
    }

    transport::SystemRandom random_;
    std::unique_ptr<transport::Listener> listener_;
    LaneAnswer answer_;
    std::mutex mutex_;
    std::optional<transport::ProofSession> session_;
    std::vector<Lane> lanes_;
    std::atomic<bool> stopping_ = false;
    std::atomic<unsigned> messages_ = 0;
    std::thread thread_;
};

} // namespace rpmem::test
