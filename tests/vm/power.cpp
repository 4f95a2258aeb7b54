// What is kept when the target loses power. The pool of NAME.set is divided into slots, each owned
// by one lane. A lane fills a slot with its next generation of words, makes it durable, and only
// then says so on standard output, which is to be kept outside of the machine.
//
//   power load NAME TARGET LANES ACKNOWLEDGED   never ends; creates the pool, or opens it
//   power check NAME PART ACKNOWLEDGED          PART is a file with a copy of the pool
//
// ACKNOWLEDGED is the output of the runs before; lines that are none of ours are skipped.
#include <fcntl.h>
#include <librpmem.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t header_size = 4096;
constexpr std::size_t slot_size = 32768;
constexpr std::size_t slots = 255;
constexpr std::size_t pool_size = std::size_t{8} << 20;
static_assert(header_size + slots * slot_size <= pool_size);

enum class Way { strict, relaxed, flushes, deep };

// Half of the slots are persisted strictly.
Way way_of(std::size_t slot) {
    constexpr std::array ways = {Way::strict,  Way::relaxed, Way::strict,
                                 Way::flushes, Way::strict,  Way::deep};
    return ways[slot % ways.size()];
}

std::size_t begin_of(std::size_t slot) { return header_size + slot * slot_size; }

// Words, from a few to three messages.
std::size_t words_of(std::size_t slot) { return 1 + slot * 37 % 2700; }

// Generation 0 is what a new pool holds.
std::uint64_t word_of(std::size_t slot, std::uint64_t generation, std::size_t index) {
    if (generation == 0)
        return 0;
    std::uint64_t value = (std::uint64_t{slot} << 48) ^ (generation << 16) ^ index;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

[[noreturn]] void die(const std::string& what, const char* why) {
    std::fprintf(stderr, "power: %s: %s\n", what.c_str(), why);
    std::exit(1);
}

// The last generation of each slot that was acknowledged.
std::vector<std::uint64_t> acknowledged(const std::string& name, const char* path) {
    std::vector<std::uint64_t> generations(slots);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string word;
        std::string whose;
        std::size_t slot = 0;
        std::uint64_t generation = 0;
        // A line that the cut shortened has no full stop: what it says was not acknowledged.
        if (line.ends_with(" .") && fields >> word >> whose >> slot >> generation &&
            word == "durable" && whose == name && slot < slots)
            generations[slot] = std::max(generations[slot], generation);
    }
    return generations;
}

void check(int status, const char* call) {
    if (status != 0)
        die(call, rpmem_errormsg());
}

void make_durable(RPMEMpool* pool, std::size_t slot, unsigned lane) {
    const std::size_t begin = begin_of(slot);
    const std::size_t size = words_of(slot) * sizeof(std::uint64_t);
    constexpr std::size_t piece = 4096;
    switch (way_of(slot)) {
    case Way::strict:
        return check(rpmem_persist(pool, begin, size, lane, 0), "rpmem_persist");
    case Way::relaxed:
        return check(rpmem_persist(pool, begin, size, lane, RPMEM_PERSIST_RELAXED),
                     "rpmem_persist");
    case Way::flushes:
        for (std::size_t at = 0; at < size; at += piece)
            check(rpmem_flush(pool, begin + at, std::min(piece, size - at), lane,
                              RPMEM_FLUSH_RELAXED),
                  "rpmem_flush");
        return check(rpmem_drain(pool, lane, 0), "rpmem_drain");
    case Way::deep:
        return check(rpmem_deep_persist(pool, begin, size, lane), "rpmem_deep_persist");
    }
}

void acknowledge(const std::string& name, std::size_t slot, std::uint64_t generation) {
    const std::string line =
        "durable " + name + " " + std::to_string(slot) + " " + std::to_string(generation) + " .\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        die("standard output", std::strerror(errno));
}

struct Load {
    std::string name;
    RPMEMpool* pool;
    std::byte* local;
    unsigned lanes;
    std::vector<std::uint64_t>& generations; // each element is one lane's
};

[[noreturn]] void run_lane(const Load& load, unsigned lane) {
    std::mt19937 random(std::random_device{}());
    std::uniform_int_distribution<std::size_t> pick(0, (slots - lane - 1) / load.lanes);
    while (true) {
        const std::size_t slot = lane + pick(random) * load.lanes;
        const std::uint64_t generation = ++load.generations[slot];
        for (std::size_t i = 0; i < words_of(slot); ++i) {
            const std::uint64_t word = word_of(slot, generation, i);
            std::memcpy(load.local + begin_of(slot) + i * sizeof(word), &word, sizeof(word));
        }
        make_durable(load.pool, slot, lane);
        acknowledge(load.name, slot, generation);
    }
}

int run_load(const std::string& name, const char* target, unsigned lanes, const char* path) {
    auto generations = acknowledged(name, path);
    // The one after the last that was acknowledged may have been on its way.
    for (auto& generation : generations)
        ++generation;
    auto* const local = static_cast<std::byte*>(std::aligned_alloc(header_size, pool_size));
    std::memset(local, 0, pool_size);
    const std::string pool_set = name + ".set";
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "POWER", 5);
    attributes.incompat_features = 6; // a shutdown state, and the checksum that goes with it
    unsigned granted = lanes;
    RPMEMpool* pool =
        rpmem_create(target, pool_set.c_str(), local, pool_size, &granted, &attributes);
    if (!pool && errno == EEXIST) {
        granted = lanes;
        pool = rpmem_open(target, pool_set.c_str(), local, pool_size, &granted, &attributes);
    }
    if (!pool)
        die("neither created nor opened", rpmem_errormsg());
    if (granted != lanes)
        die("the pool", "fewer lanes than were asked for");
    const Load load{name, pool, local, lanes, generations};
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < lanes; ++lane)
        threads.emplace_back([&load, lane] { run_lane(load, lane); });
    for (auto& thread : threads)
        thread.join();
    return 1;
}

// Newest first: the last acknowledged, one that was on its way then, and one that was on its way
// after a new start.
using Candidates = std::array<std::uint64_t, 3>;

bool is_one_of(const Candidates& candidates, std::size_t slot, std::size_t index,
               std::uint64_t found, Way way) {
    if (std::any_of(candidates.begin(), candidates.end(), [&](std::uint64_t generation) {
            return found == word_of(slot, generation, index);
        }))
        return true;
    if (way == Way::strict)
        return false; // torn, or old
    for (unsigned bit = 0; bit < 64; bit += 8)
        if (std::none_of(candidates.begin(), candidates.end(), [&](std::uint64_t generation) {
                return ((found ^ word_of(slot, generation, index)) >> bit & 0xff) == 0;
            }))
            return false;
    return true;
}

// Returns how many words of the slot are newer than what was acknowledged; -1 if one is lost.
int check_slot(const std::byte* part, std::size_t slot, std::uint64_t acknowledged_last) {
    int newer = 0;
    for (std::size_t i = 0; i < slot_size / sizeof(std::uint64_t); ++i) {
        std::uint64_t found;
        std::memcpy(&found, part + begin_of(slot) + i * sizeof(found), sizeof(found));
        const bool written = i < words_of(slot);
        const std::uint64_t expected = written ? word_of(slot, acknowledged_last, i) : 0;
        if (found == expected)
            continue;
        if (written && is_one_of({acknowledged_last, acknowledged_last + 1, acknowledged_last + 2},
                                 slot, i, found, way_of(slot))) {
            ++newer;
            continue;
        }
        std::printf("slot %zu, word %zu: %016llx, but generation %llu has %016llx\n", slot, i,
                    static_cast<unsigned long long>(found),
                    static_cast<unsigned long long>(acknowledged_last),
                    static_cast<unsigned long long>(expected));
        return -1;
    }
    return newer;
}

int run_check(const std::string& name, const char* part, const char* path) {
    const auto generations = acknowledged(name, path);
    std::vector<char> bytes(pool_size);
    std::ifstream file(part, std::ios::binary);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
        die(part, "cannot be read");
    std::uint64_t persists = 0;
    unsigned durable = 0;
    unsigned in_flight = 0;
    unsigned lost = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const int newer =
            check_slot(reinterpret_cast<const std::byte*>(bytes.data()), slot, generations[slot]);
        persists += generations[slot];
        durable += generations[slot] > 0;
        in_flight += newer > 0;
        lost += newer < 0;
    }
    std::printf("%s: %llu persists acknowledged, %u slots written, %u cut short, %u LOST\n",
                name.c_str(), static_cast<unsigned long long>(persists), durable, in_flight, lost);
    return lost == 0 && durable > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::string command = argc > 2 ? argv[1] : "";
    if (command == "load" && argc == 6)
        return run_load(argv[2], argv[3], static_cast<unsigned>(std::strtoul(argv[4], nullptr, 10)),
                        argv[5]);
    if (command == "check" && argc == 5)
        return run_check(argv[2], argv[3], argv[4]);
    die("usage", "power load NAME TARGET LANES ACKNOWLEDGED | power check NAME PART ACKNOWLEDGED");
}
