// SPDX-License-Identifier: BSD-3-Clause
// pools create|open TARGET PREFIX COUNT SIZE LANES [fill|check]
//
// The program of the scale tests. It opens COUNT pools of SIZE bytes, PREFIX0.set and so on, up to
// 16 of them at once, connects each lane by a read, and persists 64 bytes on each lane. The range
// of the first lane is at the end of the pool. With fill it persists the first pool completely,
// with check it reads and compares all of it. Then it prints "ready", and persists on each lane
// again for each line of standard input. At the end of the input it reads the bytes of each lane,
// compares them, and closes the pools. It prints times as lines of a name and milliseconds. It
// exits with 1 and a text if a call fails, or if other bytes come back.
#include <librpmem.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t header = 4096;                // size of the header of a created pool
constexpr std::size_t range = 64;                   // bytes that a lane persists
constexpr std::size_t step = std::size_t{64} << 20; // memory that fill and check use at once
constexpr std::size_t openers = 16;                 // threads that open pools

struct Options {
    bool creates = false;
    std::string target;
    std::string prefix;
    std::size_t count = 0;
    std::size_t size = 0;
    unsigned lanes = 0;
    std::string what;
};

struct Pool {
    char* memory = nullptr;
    RPMEMpool* handle = nullptr;
    double open_ms = 0;
};

[[noreturn]] void fail(const std::string& what) {
    std::printf("%s\n", what.c_str());
    std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
}

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void say(const char* name, double value) {
    std::printf("%s %.0f\n", name, value);
    std::fflush(stdout);
}

// Returns the word at OFFSET of a range that is filled with SEED. No two words are the same.
std::uint64_t word(std::size_t offset, std::uint64_t seed) {
    return (offset + seed) * 0x9e3779b97f4a7c15U;
}

void write_words(char* memory, std::size_t offset, std::size_t length, std::uint64_t seed) {
    for (std::size_t at = offset; at < offset + length; at += sizeof(std::uint64_t)) {
        const std::uint64_t value = word(at, seed);
        std::memcpy(memory + at, &value, sizeof(value));
    }
}

void expect_words(const char* bytes, std::size_t offset, std::size_t length, std::uint64_t seed) {
    for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
        const std::uint64_t value = word(offset + at, seed);
        if (std::memcmp(bytes + at, &value, sizeof(value)) != 0)
            fail("other bytes came back at offset " + std::to_string(offset + at));
    }
}

// Calls FUNCTION(0) to FUNCTION(COUNT - 1) with at most MAX_THREADS threads.
template <typename Function>
void for_each(std::size_t count, std::size_t max_threads, const Function& function) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min(count, max_threads); ++i)
        threads.emplace_back([&] {
            for (std::size_t each = next++; each < count; each = next++)
                function(each);
        });
    for (std::thread& thread : threads)
        thread.join();
}

// The mapping is shared, so that smaps shows the memory of the process without the pool. It is a
// hole until it is written to.
void map_memory(Pool& pool, std::size_t size) {
    const int file = ::memfd_create("pool", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) != 0)
        fail(std::string("memfd_create: ") + std::strerror(errno));
    void* mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (mapped == MAP_FAILED)
        fail(std::string("mmap: ") + std::strerror(errno));
    ::close(file);
    pool.memory = static_cast<char*>(mapped);
}

void open_pool(const Options& options, std::size_t index, Pool& pool) {
    map_memory(pool, options.size);
    const std::string set = options.prefix + std::to_string(index) + ".set";
    unsigned lanes = options.lanes;
    const rpmem_pool_attr attributes = librpmem::attributes("SCALE", 1);
    const auto start = Clock::now();
    pool.handle = options.creates ? rpmem_create(options.target.c_str(), set.c_str(), pool.memory,
                                                 options.size, &lanes, &attributes)
                                  : rpmem_open(options.target.c_str(), set.c_str(), pool.memory,
                                               options.size, &lanes, nullptr);
    pool.open_ms = ms_since(start);
    if (pool.handle == nullptr)
        fail(set + ": " + rpmem_errormsg());
    if (lanes != options.lanes)
        fail(set + ": " + std::to_string(lanes) + " lanes");
}

std::size_t offset_of(const Options& options, unsigned lane) {
    return options.size - range * (lane + std::size_t{1});
}

// A read is the cheapest first use, because the target syncs nothing.
void connect_lanes(const Options& options, const std::vector<Pool>& pools) {
    for_each(pools.size(), openers, [&](std::size_t index) {
        char bytes[range];
        for (unsigned lane = 0; lane < options.lanes; ++lane)
            if (rpmem_read(pools[index].handle, bytes, header, range, lane) != 0)
                fail("pool " + std::to_string(index) + ", lane " + std::to_string(lane) + ": " +
                     rpmem_errormsg());
    });
}

// Uses the lanes of each pool one after the other, and all pools at once, like many programs.
void use_lanes(const Options& options, std::vector<Pool>& pools, std::uint64_t seed) {
    for_each(pools.size(), pools.size(), [&](std::size_t index) {
        Pool& pool = pools[index];
        for (unsigned lane = 0; lane < options.lanes; ++lane) {
            write_words(pool.memory, offset_of(options, lane), range, seed);
            if (rpmem_persist(pool.handle, offset_of(options, lane), range, lane, 0) != 0)
                fail("pool " + std::to_string(index) + ", lane " + std::to_string(lane) + ": " +
                     rpmem_errormsg());
        }
    });
}

// Memory that was sent becomes a hole again, because the pool may be larger than the memory.
void fill(const Options& options, const Pool& pool) {
    for (std::size_t at = header; at < options.size; at += step) {
        const std::size_t length = std::min(step, options.size - at);
        write_words(pool.memory, at, length, 0);
        if (rpmem_persist(pool.handle, at, length, 0, RPMEM_PERSIST_RELAXED) != 0)
            fail(std::string("fill: ") + rpmem_errormsg());
        (void)::madvise(pool.memory + at, length, MADV_REMOVE);
    }
}

void check(const Options& options, const Pool& pool) {
    std::vector<char> bytes(step);
    for (std::size_t at = header; at < options.size; at += step) {
        const std::size_t length = std::min(step, options.size - at);
        if (rpmem_read(pool.handle, bytes.data(), at, length, 0) != 0)
            fail(std::string("check: ") + rpmem_errormsg());
        expect_words(bytes.data(), at, length, 0);
    }
}

void read_lanes(const Options& options, const std::vector<Pool>& pools, std::uint64_t seed) {
    for_each(pools.size(), openers, [&](std::size_t index) {
        for (unsigned lane = 0; lane < options.lanes; ++lane) {
            char bytes[range];
            if (rpmem_read(pools[index].handle, bytes, offset_of(options, lane), range, lane) != 0)
                fail(std::string("read: ") + rpmem_errormsg());
            expect_words(bytes, offset_of(options, lane), range, seed);
        }
    });
}

void close_all(std::vector<Pool>& pools) {
    for_each(pools.size(), openers, [&](std::size_t index) {
        if (rpmem_close(pools[index].handle) != 0)
            fail(std::string("close: ") + rpmem_errormsg());
    });
}

// Calls FUNCTION and prints its time.
void timed(const char* name, const auto& function) {
    const auto start = Clock::now();
    function();
    say(name, ms_since(start));
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 7)
        fail("usage: pools create|open TARGET PREFIX COUNT SIZE LANES [fill|check]");
    const Options options{.creates = std::strcmp(argv[1], "create") == 0,
                          .target = argv[2],
                          .prefix = argv[3],
                          .count = std::strtoul(argv[4], nullptr, 10),
                          .size = std::strtoul(argv[5], nullptr, 10),
                          .lanes = static_cast<unsigned>(std::strtoul(argv[6], nullptr, 10)),
                          .what = argc > 7 ? argv[7] : ""};
    std::vector<Pool> pools(options.count);
    timed("all_open_ms", [&] {
        for_each(pools.size(), openers,
                 [&](std::size_t index) { open_pool(options, index, pools[index]); });
    });
    say("max_open_ms", std::ranges::max(pools, {}, &Pool::open_ms).open_ms);
    timed("connect_ms", [&] { connect_lanes(options, pools); });
    if (options.what == "check")
        timed("check_ms", [&] { check(options, pools[0]); });
    std::uint64_t seed = 0;
    timed("use_ms", [&] { use_lanes(options, pools, seed); });
    if (options.what == "fill")
        timed("fill_ms", [&] { fill(options, pools[0]); });
    std::printf("ready\n");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        ++seed;
        timed("again_ms", [&] { use_lanes(options, pools, seed); });
    }
    timed("read_ms", [&] { read_lanes(options, pools, seed); });
    timed("close_ms", [&] { close_all(pools); });
    std::printf("closed\n");
    return EXIT_SUCCESS;
}
