// latency TARGET ADDRESS: what rpmem_persist() takes over verbs, in turn with an RDMA write and a
// read behind it by bare libfabric. Prints the rows of a table: median microseconds, and the
// median of the quotients of the rounds; in brackets the same of the best round.
#include "tests/vm/bare_fabric.hpp"

#include <librpmem.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace {

constexpr std::size_t pool_size = std::size_t{8} << 20;
constexpr std::size_t offset = 4096; // behind the header
constexpr unsigned rounds = 11;
constexpr unsigned repetitions = 100; // in each round

[[noreturn]] void die(const char* what, const char* why) {
    std::fprintf(stderr, "latency: %s: %s\n", what, why);
    std::exit(1);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double least(const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
}

double microseconds_of(const std::function<bool()>& operation) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> samples;
    for (unsigned i = 0; i < repetitions; ++i) {
        const auto begin = Clock::now();
        if (!operation())
            die("an operation failed", rpmem_errormsg());
        samples.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    return median(std::move(samples));
}

RPMEMpool* create(const char* target, void* local) {
    unsigned lanes = 1;
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "LATENCY", 7);
    RPMEMpool* const pool = rpmem_create(target, "pool.set", local, pool_size, &lanes, &attributes);
    if (!pool)
        die("rpmem_create", rpmem_errormsg());
    return pool;
}

void measure(RPMEMpool* pool, rpmem::vm::BareFabric& bare, std::size_t size, unsigned flags) {
    const auto ours = [&] { return rpmem_persist(pool, offset, size, 0, flags) == 0; };
    const auto limit = [&] { return bare.write_and_read(size); };
    std::vector<double> our_times;
    std::vector<double> limits;
    std::vector<double> quotients;
    static_cast<void>(microseconds_of(limit)); // warm
    static_cast<void>(microseconds_of(ours));
    for (unsigned round = 0; round < rounds; ++round) {
        limits.push_back(microseconds_of(limit));
        our_times.push_back(microseconds_of(ours));
        quotients.push_back(our_times.back() / limits.back());
    }
    std::printf("| %s, %s, %zu B | %.0f (%.0f) | %.0f (%.0f) | %.2f (%.2f) |\n",
                std::getenv("RPMEM_LATENCY_METHOD"), flags == 0 ? "strict" : "relaxed", size,
                median(our_times), least(our_times), median(limits), least(limits),
                median(quotients), least(our_times) / least(limits));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        die("usage", "latency TARGET ADDRESS");
    void* const local = std::aligned_alloc(4096, pool_size);
    std::memset(local, 1, pool_size);
    RPMEMpool* const pool = create(argv[1], local);
    auto bare = rpmem::vm::BareFabric::open(argv[2]);
    if (!bare)
        die("bare libfabric", bare.error().text.c_str());
    for (const std::size_t size : {std::size_t{64}, std::size_t{4096}})
        for (const unsigned flags : {unsigned{RPMEM_PERSIST_RELAXED}, 0U})
            measure(pool, **bare, size, flags);
    return rpmem_close(pool);
}
