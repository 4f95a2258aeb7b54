// Connections to the port of the lanes that have not become lanes. libfabric waits for what they
// have to say, without any bound, so the bounds are set here.
#pragma once

#include <dirent.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace rpmem::target {

class HalfOpen {
public:
    using Clock = std::chrono::steady_clock;

    HalfOpen();

    // Whether enough time has passed since the last look for another one: it asks the kernel about
    // every descriptor of the process.
    [[nodiscard]] bool is_due(Clock::time_point now) const;
    // Ends the connections to PORT that are none of LANES (addresses of peers), and older than the
    // bound or more than it allows, the oldest first. Returns how many.
    unsigned look(std::uint16_t port, const std::vector<sockaddr_storage>& lanes,
                  Clock::time_point now);
    // Until the next look is of use, though nothing happens.
    [[nodiscard]] std::chrono::milliseconds until_next() const;

private:
    struct CloseDirectory {
        void operator()(DIR* directory) const;
    };
    struct Connection {
        ino_t inode;
        Clock::time_point since;
        int fd;
    };
    // Open from the beginning: strangers may have taken all descriptors when it is needed.
    std::unique_ptr<DIR, CloseDirectory> own_descriptors_;
    std::vector<Connection> connections_; // the oldest first
    Clock::time_point looked_{};
};

} // namespace rpmem::target
