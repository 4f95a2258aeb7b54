// Somebody on the network who may not use the pool, and does not stop trying.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace rpmem::bench {

class Strangers {
public:
    // A thread of this process connects to LANES_AT again and again.
    explicit Strangers(const sockaddr_storage& lanes_at);
    // How many connections there were.
    std::uint64_t stop();

private:
    void come(const std::stop_token& stopped);

    sockaddr_storage lanes_at_;
    std::atomic<std::uint64_t> connections_ = 0;
    std::jthread thread_; // the last member: it uses the others
};

} // namespace rpmem::bench
