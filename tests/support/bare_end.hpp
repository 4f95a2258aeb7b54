// SPDX-License-Identifier: BSD-3-Clause
// One end of a lane over libfabric that does not implement the protocol, for peers that violate it.
#pragma once

#include "common/base/deadline.hpp"
#include "common/transport/fabric/endpoint.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::test {

inline constexpr std::chrono::seconds fabric_timeout(20);
inline constexpr const char* loopback = "127.0.0.1";

struct BareEnd {
    fabric::Provider provider;
    fabric::Domain domain;
    std::unique_ptr<fabric::EventQueue> events;
    fabric::CompletionQueue completions;
    fabric::Endpoint endpoint;

    // QUEUE_SIZE is the size of the completion queue.
    explicit BareEnd(fabric::Provider found, std::size_t queue_size = 64)
        : provider(std::move(found)), domain(value_of(fabric::open_domain(provider))),
          events(std::make_unique<fabric::EventQueue>(value_of(fabric::EventQueue::open(domain)))),
          completions(value_of(fabric::CompletionQueue::open(domain, queue_size))) {}

    // Waits for an event of KIND, and calls TURN in a loop meanwhile. Throws after a timeout.
    fabric::ConnectionEvent await(
        fabric::ConnectionEvent::Kind kind, const std::function<void()>& turn = [] {}) const {
        const Deadline deadline(fabric_timeout);
        while (!deadline.passed()) {
            turn();
            auto event = value_of(events->wait(Deadline(std::chrono::milliseconds(5)), -1));
            if (event && event->kind == kind)
                return std::move(*event);
        }
        throw std::runtime_error("the connection was not made");
    }

    // Waits for COUNT completions. Returns false after a timeout or a failed operation.
    bool await_completions(int count) const {
        const Deadline deadline(fabric_timeout);
        while (count > 0 && !deadline.passed()) {
            fabric::Completion entry;
            const int got = completions.read({&entry, 1});
            if (got < 0)
                return false;
            count -= got;
            if (got == 0)
                std::this_thread::yield();
        }
        return count == 0;
    }
};

} // namespace rpmem::test
