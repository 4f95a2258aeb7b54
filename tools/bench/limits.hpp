// What the network, the memory and the medium can do without us. Two processes measure it, which
// are started before anything else and touch neither the library nor a pool: one asks, on this
// machine; one answers, on the target.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/samples.hpp"

#include <sys/socket.h>

#include <cstdint>

namespace rpmem::bench {

enum class LimitKind : std::uint32_t {
    tcp_spinning, // both ends try again without pause; on several connections they yield
    tcp_sleeping, // both ends sleep in poll(2)
    memory_copy,  // of the end that asks
    medium,       // copied to the pool of the end that answers, and made durable there
    last_measured = medium,
    // Nothing is measured:
    connection,
    daemon_memory,
    strangers_come, // and go on coming
    strangers_go,
};

// Bytes there, bytes back; for memory_copy and medium the bytes copied.
struct LimitTask {
    LimitKind kind{};
    std::uint32_t connections = 1; // in use at the same time, a thread at each end for each
    std::uint64_t request = 0;
    std::uint64_t answer = 0;
    Nanoseconds duration{};      // about
    std::uint64_t least = 0;     // operations on each connection, even if it takes longer
    bool apart = false;          // each end has a processor of its own
    bool reads = false;          // the request is a question: none of its bytes are kept
    sockaddr_storage lanes_at{}; // where strangers connect
};

class Limits {
public:
    // Starts the asking process, which starts the other one when it needs it. Both end with this
    // one, or when the object goes.
    static Result<Limits> start(const Options& options);

    // Must come first. If it fails, memory_copy alone can be measured.
    [[nodiscard]] Result<> connect() const;
    [[nodiscard]] Result<Samples> measure(const LimitTask& task) const;
    // Bytes of the private pages of the only daemon of this run on the target, its pool apart.
    [[nodiscard]] Result<std::uint64_t> daemon_memory() const;
    // From now on strangers connect to LANES_AT.
    [[nodiscard]] Result<> let_strangers_come(const sockaddr_storage& lanes_at) const;
    // They stop. How many connections they have made.
    [[nodiscard]] Result<std::uint64_t> let_strangers_go() const;

private:
    explicit Limits(UniqueFd control) : control_(std::move(control)) {}
    // What comes back when nothing is measured.
    [[nodiscard]] Result<std::uint64_t> ask(const LimitTask& task) const;
    UniqueFd control_;
};

} // namespace rpmem::bench
