// SPDX-License-Identifier: BSD-3-Clause
// The target's end of one lane on loopback, which responds to every message with the same bytes. It
// is used for invalid and for missing responses.
#pragma once

#include "tests/support/bare_end.hpp"

namespace rpmem::test {

class BareTarget {
public:
    // If ANSWER is empty, messages are received without a response.
    explicit BareTarget(std::vector<std::byte> answer)
        : end_(value_of(
              fabric::find_to_listen(fabric::ProviderKind::sockets, loopback, "0", {16, 16}))),
          listener_(
              value_of(fabric::PassiveEndpoint::listen(end_.domain, end_.provider, *end_.events))),
          answer_(std::move(answer)), thread_([this] { run(); }) {}
    ~BareTarget() {
        stopping_ = true;
        thread_.join();
    }
    BareTarget(const BareTarget&) = delete;
    BareTarget& operator=(const BareTarget&) = delete;

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    // Returns the number of messages received.
    [[nodiscard]] unsigned messages() const { return messages_; }

private:
    bool await_request() {
        while (!stopping_) {
            auto event = value_of(end_.events->wait(Deadline(std::chrono::milliseconds(5)), -1));
            if (!event || event->kind != fabric::ConnectionEvent::Kind::requested)
                continue;
            end_.endpoint = value_of(fabric::Endpoint::open(end_.domain, event->info.get(),
                                                            *end_.events, end_.completions));
            return true;
        }
        return false;
    }

    void run() {
        if (!await_request())
            return;
        std::array<std::byte, 8192> place;
        const auto post = [&] {
            return end_.endpoint.post_receive(place.data(), place.size(), nullptr, nullptr) == 0;
        };
        if (!post() || !end_.endpoint.accept())
            return;
        while (!stopping_) {
            fabric::Completion entry;
            const int got = end_.completions.read({&entry, 1});
            if (got == 1 && (entry.flags & FI_RECV) != 0)
                ++messages_;
            if (got < 0 || (got == 1 && (!post() || !answer())))
                return;
            if (!end_.events->read())
                return;
            std::this_thread::yield();
        }
    }

    bool answer() {
        return answer_.empty() || end_.endpoint.inject(answer_.data(), answer_.size()) == 0;
    }

    BareEnd end_;
    fabric::PassiveEndpoint listener_;
    std::vector<std::byte> answer_;
    std::atomic<bool> stopping_ = false;
    std::atomic<unsigned> messages_ = 0;
    std::thread thread_;
};

} // namespace rpmem::test
