// What this machine can do without us, measured in two processes that are started before anything
// else and touch neither the library nor a pool.
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "samples.hpp"

#include <cstdint>
#include <string>

namespace rpmem::bench {

enum class LimitKind : std::uint32_t { tcp_spinning, tcp_blocking, fabric, memory_copy, medium };

// Bytes there, bytes back; for memory_copy and medium the bytes copied.
struct LimitTask {
    LimitKind kind{};
    std::uint32_t connections = 1;
    std::uint64_t request = 0;
    std::uint64_t answer = 0;
    Nanoseconds duration{};  // about
    std::uint64_t least = 0; // operations on each connection, even if it takes longer
};

class Limits {
public:
    // Starts both processes; they end with this one, or when the object goes. PROVIDER is of
    // libfabric, MEDIUM the file that LimitKind::medium writes to.
    static Result<Limits> start(const std::string& provider, const std::string& medium);

    [[nodiscard]] Result<Samples> measure(const LimitTask& task) const;

private:
    explicit Limits(UniqueFd control) : control_(std::move(control)) {}
    UniqueFd control_;
};

} // namespace rpmem::bench
