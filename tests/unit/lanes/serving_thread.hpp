// A thread in which the first worker of a server serves, as the control loop's does in the daemon.
#pragma once

#include "base/io.hpp"
#include "lanes/lane_server.hpp"
#include "support/bare_end.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace rpmem::target {

class ServingThread {
public:
    explicit ServingThread(LaneServer& server)
        : stop_(test::value_of(Event::make())), thread_([this, &server] {
              while (!stopping_)
                  server.serve_until(stop_.fd(), std::chrono::minutes(1));
          }) {}
    ~ServingThread() {
        stopping_ = true;
        stop_.raise();
        thread_.join();
    }
    ServingThread(const ServingThread&) = delete;
    ServingThread& operator=(const ServingThread&) = delete;

private:
    Event stop_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace rpmem::target
