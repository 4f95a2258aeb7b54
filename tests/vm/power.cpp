// SPDX-License-Identifier: BSD-3-Clause
// The program of the tests of power failures and medium errors. The pool of NAME.set is divided
// into slots, each owned by one lane. A lane fills a slot with its next generation of words, makes
// it durable, and then prints an acknowledgement, which is kept outside of the machine. A check
// fails if a word is older than its acknowledgement, torn, or misplaced.
//
//   power load NAME TARGET LANES ACKNOWLEDGED
//       Creates or opens the pool, and runs until a call fails. Exits with 0 if each failure was
//       EIO or ECONNRESET, and no call on any lane succeeded afterwards.
//   power reopen NAME TARGET ACKNOWLEDGED IMAGE
//       Reads the pool with rpmem_read(), writes it to the file IMAGE, and checks it.
//   power check NAME ACKNOWLEDGED PART...
//       Checks the files of the pool.
//
// ACKNOWLEDGED is the output of earlier runs. Other lines in it are ignored.
#include "tests/vm/program.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace {

using namespace rpmem::vm;

constexpr std::size_t header_size = 4096;
constexpr std::size_t pool_size = std::size_t{14} << 20;

// Most slots need one or a few messages. The last ones have more than 1 MiB. If there are two
// parts, one slot is in both.
constexpr std::size_t small_size = 32768;
constexpr std::size_t small_slots = 252;
constexpr std::size_t large_size = std::size_t{3} << 19;
constexpr std::size_t large_words = 180000;
constexpr std::size_t slots = small_slots + 4;
// There are zeros before the words of a slot. Ranges begin and end within zeros, so ranges of two
// lanes overlap, but no word belongs to both.
constexpr std::size_t lead = 64;

enum class Way { strict, relaxed, flushes, overlapping, deep };

// Most slots are persisted strictly.
Way way_of(std::size_t slot) {
    constexpr std::array ways = {Way::strict, Way::relaxed, Way::strict,     Way::flushes,
                                 Way::strict, Way::deep,    Way::overlapping};
    return ways[slot % ways.size()];
}

std::size_t begin_of(std::size_t slot) {
    return header_size + std::min(slot, small_slots) * small_size +
           (slot > small_slots ? slot - small_slots : 0) * large_size;
}
static_assert(header_size + small_slots * small_size + (slots - small_slots) * large_size + lead <=
              pool_size);

std::size_t size_of(std::size_t slot) { return slot < small_slots ? small_size : large_size; }
std::size_t words_of(std::size_t slot) {
    return slot < small_slots ? 1 + slot * 37 % 2700 : large_words;
}
std::size_t words_begin(std::size_t slot) { return begin_of(slot) + lead; }

struct Range {
    std::size_t begin;
    std::size_t size;
};

// Returns a range with all words of a slot, and some zeros before and after them. In some slots it
// extends into the next slot.
Range range_of(std::size_t slot) {
    const std::size_t begin = words_begin(slot) - 1 - slot % 7 * 9;
    const std::size_t end =
        slot % 4 == 0 ? begin_of(slot) + size_of(slot) + lead / 2
                      : words_begin(slot) + words_of(slot) * sizeof(std::uint64_t) + slot % 5;
    return {begin, end - begin};
}

// Generation 0 is the content of a new pool.
std::uint64_t word_of(std::size_t slot, std::uint64_t generation, std::size_t index) {
    if (generation == 0)
        return 0;
    std::uint64_t value = (std::uint64_t{slot} << 48) ^ (generation << 16) ^ index;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

// Returns the last acknowledged generation of each slot.
std::vector<std::uint64_t> acknowledged(const std::string& name, const char* path) {
    std::vector<std::uint64_t> generations(slots);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string word;
        std::string whose;
        std::size_t slot = 0;
        std::uint64_t generation = 0;
        // A line that a power failure has truncated does not end with a full stop.
        if (line.ends_with(" .") && fields >> word >> whose >> slot >> generation &&
            word == "durable" && whose == name && slot < slots)
            generations[slot] = std::max(generations[slot], generation);
    }
    return generations;
}

// Flushes overlapping pieces that do not fit into one message, and drains. The drain runs even if a
// flush has failed.
int flush_and_drain(RPMEMpool* pool, const Range& range, unsigned lane) {
    constexpr std::size_t piece = 4096;
    constexpr std::size_t overlap = 13;
    int failed = 0;
    for (std::size_t at = 0; at < range.size; at += piece) {
        const std::size_t from = at - std::min(at, overlap);
        failed |= rpmem_flush(pool, range.begin + from, std::min(at + piece, range.size) - from,
                              lane, RPMEM_FLUSH_RELAXED);
    }
    return failed | rpmem_drain(pool, lane, 0);
}

// Persists two strict ranges that overlap in the middle.
int persist_twice(RPMEMpool* pool, const Range& range, unsigned lane) {
    const std::size_t third = range.size / 3;
    const int failed = rpmem_persist(pool, range.begin, 2 * third, lane, 0);
    return failed | rpmem_persist(pool, range.begin + third, range.size - third, lane, 0);
}

int make_durable(RPMEMpool* pool, std::size_t slot, unsigned lane) {
    const Range range = range_of(slot);
    switch (way_of(slot)) {
    case Way::strict:
        return rpmem_persist(pool, range.begin, range.size, lane, 0);
    case Way::relaxed:
        return rpmem_persist(pool, range.begin, range.size, lane, RPMEM_PERSIST_RELAXED);
    case Way::flushes:
        return flush_and_drain(pool, range, lane);
    case Way::overlapping:
        return persist_twice(pool, range, lane);
    case Way::deep:
        return rpmem_deep_persist(pool, range.begin, range.size, lane);
    }
    return -1;
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
    std::vector<std::uint64_t>& generations; // each element is used by one lane
    std::atomic<bool>& failed;               // a call has failed on any lane
    std::atomic<bool>& wrong;                // a call succeeded afterwards, or had a wrong errno
};

// Returns false if the slot could not be made durable.
bool fill_slot(const Load& load, std::size_t slot, unsigned lane) {
    const std::uint64_t generation = ++load.generations[slot];
    for (std::size_t i = 0; i < words_of(slot); ++i) {
        const std::uint64_t word = word_of(slot, generation, i);
        std::memcpy(load.local + words_begin(slot) + i * sizeof(word), &word, sizeof(word));
    }
    const bool failed_before = load.failed;
    const int status = make_durable(load.pool, slot, lane);
    const int error = errno;
    if (status == 0) {
        acknowledge(load.name, slot, generation);
        if (!failed_before)
            return true;
        std::fprintf(stderr, "slot %zu was acknowledged after a failure\n", slot);
        load.wrong = true;
        return true;
    }
    if (!load.failed.exchange(true))
        std::fprintf(stderr, "the first failure: %s: %s\n", std::strerror(error), rpmem_errormsg());
    if (error != EIO && error != ECONNRESET) {
        std::fprintf(stderr, "slot %zu: errno %d: %s\n", slot, error, rpmem_errormsg());
        load.wrong = true;
    }
    return false;
}

// Runs until a call fails. Then it makes some more calls, which must fail as well.
void run_lane(const Load& load, unsigned lane) {
    constexpr unsigned calls_after_failure = 20;
    std::mt19937 random(std::random_device{}());
    std::uniform_int_distribution<std::size_t> pick(0, (slots - lane - 1) / load.lanes);
    for (unsigned failed = 0; failed < calls_after_failure;)
        failed += fill_slot(load, lane + pick(random) * load.lanes, lane) ? 0 : 1;
}

RPMEMpool* open_pool(const std::string& name, const char* target, std::byte* local, unsigned lanes,
                     bool create) {
    const std::string pool_set = name + ".set";
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "POWER", 5);
    attributes.incompat_features = 6; // a shutdown state, and its checksum
    unsigned granted = lanes;
    RPMEMpool* pool = nullptr;
    if (create)
        pool = rpmem_create(target, pool_set.c_str(), local, pool_size, &granted, &attributes);
    if (!create || (!pool && errno == EEXIST)) {
        granted = lanes;
        pool = rpmem_open(target, pool_set.c_str(), local, pool_size, &granted, &attributes);
    }
    if (!pool)
        die("neither created nor opened", rpmem_errormsg());
    if (granted != lanes)
        die("the pool", "fewer lanes than were asked for");
    return pool;
}

int run_load(const std::string& name, const char* target, unsigned lanes, const char* path) {
    auto generations = acknowledged(name, path);
    // The generation after the last acknowledged one may have been in flight.
    for (auto& generation : generations)
        ++generation;
    std::byte* const local = local_memory(pool_size);
    RPMEMpool* const pool = open_pool(name, target, local, lanes, true);
    std::atomic<bool> failed = false;
    std::atomic<bool> wrong = false;
    const Load load{name, pool, local, lanes, generations, failed, wrong};
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < lanes; ++lane)
        threads.emplace_back([&load, lane] { run_lane(load, lane); });
    for (auto& thread : threads)
        thread.join();
    (void)rpmem_close(pool);
    return wrong ? 1 : 0;
}

// The generations that a slot may have: the last acknowledged one, the one in flight then, and the
// one in flight after the next start.
using Candidates = std::array<std::uint64_t, 3>;

bool is_one_of(const Candidates& candidates, std::size_t slot, std::size_t index,
               std::uint64_t found, Way way) {
    if (std::any_of(candidates.begin(), candidates.end(), [&](std::uint64_t generation) {
            return found == word_of(slot, generation, index);
        }))
        return true;
    if (way == Way::strict)
        return false; // torn or old
    for (unsigned bit = 0; bit < 64; bit += 8)
        if (std::none_of(candidates.begin(), candidates.end(), [&](std::uint64_t generation) {
                return ((found ^ word_of(slot, generation, index)) >> bit & 0xff) == 0;
            }))
            return false;
    return true;
}

// Returns the number of words in the slot that are newer than acknowledged, or -1 if one is lost.
int check_slot(const std::byte* pool, std::size_t slot, std::uint64_t acknowledged_last) {
    constexpr std::size_t first = lead / sizeof(std::uint64_t);
    int newer = 0;
    for (std::size_t at = 0; at < size_of(slot) / sizeof(std::uint64_t); ++at) {
        std::uint64_t found;
        std::memcpy(&found, pool + begin_of(slot) + at * sizeof(found), sizeof(found));
        const bool written = at >= first && at - first < words_of(slot);
        const std::size_t i = at - first;
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

int check_pool(const std::string& name, const std::byte* pool, const char* path) {
    const auto generations = acknowledged(name, path);
    std::uint64_t persists = 0;
    unsigned durable = 0;
    unsigned in_flight = 0;
    unsigned lost = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const int newer = check_slot(pool, slot, generations[slot]);
        persists += generations[slot];
        durable += generations[slot] > 0;
        in_flight += newer > 0;
        lost += newer < 0;
    }
    std::printf("%s: %llu persists acknowledged, %u slots written, %u cut short, %u LOST\n",
                name.c_str(), static_cast<unsigned long long>(persists), durable, in_flight, lost);
    return lost == 0 && durable > 0 ? 0 : 1;
}

int run_check(const std::string& name, const char* path, char** parts) {
    std::vector<char> pool;
    for (; *parts != nullptr; ++parts) {
        const std::size_t header = pool.empty() ? 0 : header_size; // each part has one
        const std::size_t before = pool.size();
        pool.resize(before + std::filesystem::file_size(*parts) - header);
        std::ifstream file(*parts, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(header));
        if (!file.read(pool.data() + before, static_cast<std::streamsize>(pool.size() - before)))
            die(*parts, "cannot be read");
    }
    if (pool.size() < pool_size)
        die("the parts", "are too small");
    return check_pool(name, reinterpret_cast<const std::byte*>(pool.data()), path);
}

int run_reopen(const std::string& name, const char* target, const char* path, const char* image) {
    std::byte* const local = local_memory(pool_size);
    RPMEMpool* const pool = open_pool(name, target, local, 1, false);
    if (rpmem_read(pool, local + header_size, header_size, pool_size - header_size, 0) != 0)
        die("rpmem_read", rpmem_errormsg());
    std::ofstream file(image, std::ios::binary);
    if (!file.write(reinterpret_cast<const char*>(local), pool_size).flush())
        die(image, "cannot be written");
    const int status = check_pool(name, local, path);
    return rpmem_close(pool) == 0 ? status : 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::string command = argc > 2 ? argv[1] : "";
    if (command == "load" && argc == 6)
        return run_load(argv[2], argv[3], number(argv[4]), argv[5]);
    if (command == "reopen" && argc == 6)
        return run_reopen(argv[2], argv[3], argv[4], argv[5]);
    if (command == "check" && argc >= 5)
        return run_check(argv[2], argv[3], argv + 4);
    die("usage",
        "power load NAME TARGET LANES ACKNOWLEDGED | power reopen NAME TARGET ACKNOWLEDGED IMAGE"
        " | power check NAME ACKNOWLEDGED PART...");
}
