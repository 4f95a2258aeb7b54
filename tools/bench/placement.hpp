// Which processors the two ends of an exchange run on. Two that spin on one processor would only
// wait for each other.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace rpmem::bench {

enum class Side { asking, answering };

// Of the calling thread.
[[nodiscard]] cpu_set_t allowed_processors();

// One of ALLOWED, for each side another; ALLOWED itself if there are no two.
[[nodiscard]] cpu_set_t processor_of(Side side, const cpu_set_t& allowed);

// The calling thread: if APART on the processor of its SIDE, else where the scheduler wants it. If
// it cannot be done, it is not.
void place_itself(Side side, bool apart, const cpu_set_t& allowed);

// As long as it lives, the calling thread has a processor of its own, and the daemon another. What
// cannot be done is left: then a figure says less, but it is none the worse for it.
class Apart {
public:
    // DAEMON 0: nothing is done.
    explicit Apart(pid_t daemon);
    ~Apart();
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

private:
    pid_t daemon_;
    cpu_set_t allowed_ = allowed_processors();
};

} // namespace rpmem::bench
