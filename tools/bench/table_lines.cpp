#include "tools/bench/table_lines.hpp"

#include "tools/bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace rpmem::bench {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = kib * kib;
constexpr std::uint64_t transfer_size = 32 * mib; // half of the pool
constexpr unsigned idle_lanes = 256;

// How many times the time of spinning TCP.
Line ratio(std::string name, std::string variant, std::uint64_t bytes, double allowed) {
    return {.name = std::move(name),
            .variant = std::move(variant),
            .bytes = bytes,
            .limits = {"tcp_spinning"},
            .figure = "share",
            .unit = "x",
            .allowed = allowed};
}

Group one_lane() {
    Group group{{"--cases", "persist,read,flush", "--lanes", "1", "--sizes", "8,64,512,4K,64K,1M"},
                {}};
    for (const std::uint64_t size : std::vector<std::uint64_t>{8, 64, 512, 4 * kib})
        group.lines.push_back(ratio("persist", "strict", size, 1.10));
    for (const std::uint64_t size : {64 * kib, mib})
        group.lines.push_back(ratio("persist", "relaxed", size, 1.15));
    for (const std::uint64_t size : {64 * kib, mib})
        group.lines.push_back(ratio("persist", "strict", size, 1.35));
    for (const std::uint64_t size : std::vector<std::uint64_t>{64, 4 * kib, 64 * kib})
        group.lines.push_back(ratio("read", "", size, 1.10));
    for (const char* const variant : {"strict", "relaxed"})
        group.lines.push_back(ratio("flush64", variant, 64 * (4 * kib), 1.3));
    return group;
}

Group starting(const std::string& pool_set) {
    Group group{{"--cases", "open,connect1024", "--open-lanes", "1,16", "--open-set",
                 fmt::format("{}={}", pool_set, table_pool_size)},
                {}};
    for (const char* const name : {"create", "open"})
        for (const unsigned lanes : {1U, 16U})
            group.lines.push_back({.name = name,
                                   .bytes = table_pool_size,
                                   .lanes = lanes,
                                   .limits = {"login"},
                                   .figure = "/above_login_ms",
                                   .unit = " ms",
                                   .allowed = 30,
                                   .remark = "above the limit"});
    group.lines.push_back({.name = "connect1024",
                           .lanes = 1024,
                           .figure = "/milliseconds",
                           .unit = " ms",
                           .allowed = 500});
    return group;
}

Group memory() {
    Group group{{"--cases", "memory"}, {}};
    for (const unsigned lanes : {1U, idle_lanes})
        group.lines.push_back({.name = "memory",
                               .lanes = lanes,
                               .figure = "/private_kib",
                               .unit = " KiB",
                               .allowed = 4.0 * kib + 16.0 * lanes});
    return group;
}

Group encrypted() {
    Group group{{"--cases", "persist,push,pull", "--tls", "--lanes", "1", "--sizes", "4K",
                 "--range", std::to_string(transfer_size)},
                {ratio("persist", "strict", 4 * kib, 1.6)},
                true};
    group.lines[0].figure = "/times_plain";
    group.lines[0].remark = "with TLS, times without";
    for (const char* const name : {"push", "pull"})
        group.lines.push_back({.name = name,
                               .variant = name == std::string("push") ? "strict" : "",
                               .bytes = transfer_size,
                               .figure = "/ours/gigabytes_per_second",
                               .unit = " GB/s",
                               .allowed = 1,
                               .at_least = true,
                               .remark = "with TLS"});
    return group;
}

Group sleeping() {
    Line line = ratio("persist", "strict", 64, 1.10);
    line.limits = {"tcp_sleeping"};
    line.remark = "RPMEM_SPIN_TIME=0";
    return {{"--cases", "persist", "--no-spin", "--lanes", "1", "--sizes", "64"}, {line}};
}

// Threads take turns on the processors, so it takes longer until each had several.
Group several_lanes(std::chrono::milliseconds time) {
    Group group{{"--cases", "persist", "--lanes", "4,16", "--sizes", "4K", "--time",
                 std::to_string(std::min(10 * time.count(), std::int64_t{60000}))},
                {}};
    for (const unsigned lanes : {4U, 16U}) {
        Line line = ratio("persist", "strict", 4 * kib, 1.2);
        line.lanes = lanes;
        line.limits = {"tcp_spinning"};
        group.lines.push_back(line);
    }
    return group;
}

Group disturbance() {
    Line line{.name = "strangers",
              .variant = "strict",
              .bytes = 64,
              .limits = {"alone"},
              .figure = "share",
              .unit = "x",
              .remark = "while 200 strangers a second connect"};
    return {{"--cases", "strangers", "--lanes", "1"}, {line}};
}

} // namespace

std::vector<Group> table_groups(const Options& options) {
    return {one_lane(),
            sleeping(),
            several_lanes(options.time),
            starting(options.pool_set),
            memory(),
            encrypted(),
            disturbance()};
}

} // namespace rpmem::bench
