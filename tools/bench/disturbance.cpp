#include "tools/bench/disturbance.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace rpmem::bench {
namespace {

namespace fs = std::filesystem;

// So long that a number of strangers comes in each round.
constexpr std::chrono::milliseconds least_time{200};

// The address that the youngest TCP connection of this process leads to, which is a lane's. Its
// family is AF_UNSPEC if there is none.
sockaddr_storage youngest_peer() {
    sockaddr_storage youngest{};
    int youngest_fd = -1;
    std::error_code error;
    for (fs::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        int fd = -1;
        std::from_chars(name.data(), name.data() + name.size(), fd);
        sockaddr_storage peer{};
        socklen_t length = sizeof(peer);
        if (fd <= youngest_fd ||
            ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0 ||
            (peer.ss_family != AF_INET && peer.ss_family != AF_INET6))
            continue;
        youngest_fd = fd;
        youngest = peer;
    }
    return youngest;
}

} // namespace

Result<> measure_disturbance(const Pool& pool, const Options& options, const Limits& limits,
                             Report& report) {
    const sockaddr_storage lanes_at = youngest_peer();
    if (lanes_at.ss_family == AF_UNSPEC) {
        report.note("the lanes do not go over TCP: strangers are left out");
        return {};
    }
    const Measurement measurement{.operation = {.kind = OperationKind::persist, .size = 64},
                                  .apart = pool.daemon() != 0,
                                  .duration = std::max(options.time, least_time),
                                  .least = least_operations};
    Row row{.name = "strangers", .variant = "strict", .bytes = 64, .lanes = 1};
    row.limits.push_back({"alone", {}});
    double connections = 0;
    Nanoseconds elapsed{};
    for (unsigned round = 0; round < options.slow_rounds(); ++round) {
        RPMEM_ASSIGN(Samples alone, pool.measure(measurement));
        RPMEM_TRY(limits.let_strangers_come(lanes_at));
        Result<Samples> measured = pool.measure(measurement);
        Result<std::uint64_t> gone = limits.let_strangers_go();
        RPMEM_ASSIGN(Samples samples, std::move(measured));
        RPMEM_ASSIGN(const std::uint64_t came, std::move(gone));
        connections += static_cast<double>(came);
        elapsed += samples.elapsed;
        row.limits[0].rounds.push_back(std::move(alone));
        row.ours.push_back(std::move(samples));
    }
    row.facts.push_back(
        {"connections_each_s", connections / std::chrono::duration<double>(elapsed).count()});
    report.add(std::move(row));
    return {};
}

} // namespace rpmem::bench
