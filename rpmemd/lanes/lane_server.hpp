// The in-band side of a session: where lanes arrive and are served. Used by the control loop only.
#pragma once

#include "common/base/io.hpp"
#include "common/base/result.hpp"
#include "common/transport/proof.hpp"
#include "common/wire/control_messages.hpp"

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace rpmem::target {

class LaneServer {
public:
    virtual ~LaneServer() = default;
    LaneServer(const LaneServer&) = delete;
    LaneServer& operator=(const LaneServer&) = delete;

    [[nodiscard]] virtual std::uint16_t port() const = 0;
    [[nodiscard]] virtual unsigned lanes() const = 0;
    [[nodiscard]] virtual unsigned workers() const = 0;
    // The provider and its device, for people.
    [[nodiscard]] virtual std::string describe() const = 0;
    // What peers address the pool by. 0: by its offsets.
    [[nodiscard]] virtual std::uint64_t key() const { return 0; }
    [[nodiscard]] virtual std::uint64_t remote_base() const { return 0; }
    // Peers write and read the pool themselves.
    [[nodiscard]] virtual bool is_direct() const { return false; }

    // What lanes must prove that they know. Before the first of them may come.
    virtual Result<> secure(transport::ProofSession) { return {}; }

    // The session ends before its time: lanes that can hear WHY are told. Does not wait.
    virtual void end(const std::string& why) { static_cast<void>(why); }

    [[nodiscard]] virtual unsigned connected() const = 0;
    // As many are connected as the peer connects before it uses the pool.
    [[nodiscard]] virtual bool ready() const = 0;

    // Readable when handle_events() has something to do.
    [[nodiscard]] virtual int events_fd() const = 0;
    // Takes in what happened to the connections.
    virtual Result<> handle_events() = 0;
    // Returns when one of FDS is ready, when handle_events() has something to do, or after LIMIT.
    // Lanes may be served meanwhile.
    virtual Result<> wait(std::span<pollfd> fds, std::chrono::milliseconds limit) = 0;

    // Readable when failure() has something to tell: why the session must end. Empty: it goes on.
    [[nodiscard]] int failure_fd() const { return failed_.fd(); }
    [[nodiscard]] std::string failure() const {
        const std::lock_guard lock(failure_mutex_);
        return failure_;
    }

protected:
    explicit LaneServer(Event failed) : failed_(std::move(failed)) {}
    // From any thread. The first is kept: the others follow from it.
    void fail_by(std::string text) {
        {
            const std::lock_guard lock(failure_mutex_);
            if (failure_.empty())
                failure_ = std::move(text);
        }
        failed_.raise();
    }

private:
    Event failed_;
    mutable std::mutex failure_mutex_;
    std::string failure_;
};

} // namespace rpmem::target
