// SPDX-License-Identifier: BSD-3-Clause
// The program of the campaign. It uses a pool through the real library, or checks one after a power
// failure. It exits with 1 and a text if a call fails or takes too long, or if the pool contains
// something that the model does not allow.
//   program create TARGET SET        creates the pool
//   program work TARGET SET MARKS SESSION SEED SECONDS
//                                    makes random calls on all lanes, with marks before and after
//   program check TARGET SET LOG POINT
//                                    compares the pool with the model at that record of the log
//   program ghost TARGET SET         opens the pool, prints a line, waits for one, and then tries
//                                    to write, which must fail
#include "tests/campaign/model.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

namespace rpmem::campaign {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t pool_size = std::size_t{8} << 20;
constexpr unsigned max_lanes = 4;
constexpr unsigned max_flushes = 20;   // before a drain
constexpr std::size_t hot_words = 512; // one page of each lane, which most of its calls share

[[noreturn]] void fail(const std::string& text) {
    static std::mutex once;
    once.lock(); // never unlocked, so that only the first failure is printed
    std::cerr << text << std::endl;
    std::_Exit(1);
}

std::chrono::seconds bound() {
    const char* const text = std::getenv("RPMEM_CAMPAIGN_BOUND");
    return std::chrono::seconds(text ? std::stol(text) : 60);
}

struct Memory {
    Memory()
        : bytes(static_cast<char*>(::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        if (bytes == MAP_FAILED)
            fail("no memory for the pool");
    }
    [[nodiscard]] std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(bytes); }
    char* bytes;
};

// Makes a call of the API, which must succeed within the bound.
template <typename Call>
void expect(const char* name, Call call) {
    const auto start = Clock::now();
    const int status = call();
    const auto took = Clock::now() - start;
    if (status != 0)
        fail(std::string(name) + " failed: " + rpmem_errormsg());
    if (took > bound())
        fail(std::string(name) + " took " +
             std::to_string(std::chrono::duration_cast<std::chrono::seconds>(took).count()) +
             " s, more than " + std::to_string(bound().count()));
}

RPMEMpool* open_pool(const char* target, const char* set, const Memory& memory, unsigned& lanes,
                     rpmem_pool_attr& attributes) {
    RPMEMpool* const pool = rpmem_open(target, set, memory.bytes, pool_size, &lanes, &attributes);
    if (!pool)
        fail(std::string("rpmem_open failed: ") + rpmem_errormsg());
    return pool;
}

class Work {
public:
    Work(RPMEMpool* pool, const Memory& memory, unsigned lanes, const char* marks,
         std::uint64_t session, std::uint64_t seed, std::uint64_t attributes)
        : pool_(pool), memory_(memory), lanes_(lanes), next_(session * calls_of_a_session + 1),
          seed_(seed), attributes_(attributes), changes_attributes_(session < 2),
          marks_(::open(marks, O_WRONLY | O_CLOEXEC)) {
        if (marks_ < 0)
            fail(std::string("cannot open ") + marks);
    }
    ~Work() { ::close(marks_); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void run(std::chrono::seconds time) {
        mark({Step::opened, 0, next_, 0, 0});
        std::cout << "open" << std::endl;
        const auto end = Clock::now() + time;
        std::vector<std::thread> threads;
        for (unsigned lane = 0; lane < lanes_; ++lane)
            threads.emplace_back([this, lane, end] { work_on(lane, end); });
        for (std::thread& thread : threads)
            thread.join();
        std::cout << calls_ << " calls" << std::endl;
    }

private:
    using Random = std::mt19937_64;
    struct Range {
        std::size_t first; // word
        std::size_t count;
    };

    void mark(const Mark& mark) const {
        if (::pwrite(marks_, &mark, sizeof(mark), 0) != sizeof(mark))
            fail("cannot write a mark");
    }
    // Returns the share of the pool that belongs to the lane.
    [[nodiscard]] Range share_of(unsigned lane) const {
        constexpr std::size_t first = header_size / word_size;
        const std::size_t each = (pool_size / word_size - first) / lanes_;
        return {first + lane * each, each};
    }
    Range choose(unsigned lane, Random& random) const {
        const Range share = share_of(lane);
        const unsigned kind = static_cast<unsigned>(random() % 10);
        if (kind < 7) {
            const std::size_t count = 1 + random() % 64;
            return {share.first + random() % (hot_words - count), count};
        }
        const std::size_t count = 1 + random() % (kind < 9 ? 512 : 16384);
        return {share.first + random() % (share.count - count), count};
    }
    // Writes words with the number of the call to local memory. Returns that number.
    std::uint64_t write(unsigned lane, const Range& range) {
        const std::uint64_t id = next_++;
        mark({Step::begun, lane, id, range.first * word_size, range.count * word_size});
        for (std::size_t index = range.first; index < range.first + range.count; ++index)
            std::atomic_ref(memory_.words()[index])
                .store(word_of(id, index), std::memory_order_relaxed);
        return id;
    }
    // The range in bytes, sometimes with a few bytes of other calls of the lane at both ends.
    struct Bytes {
        std::size_t offset;
        std::size_t length;
    };
    Bytes bytes_of(unsigned lane, const Range& range, Random& random) const {
        const Range share = share_of(lane);
        const bool room_before = range.first > share.first;
        const bool room_behind = range.first + range.count < share.first + share.count;
        const std::size_t before = room_before ? random() % word_size : 0;
        const std::size_t behind = room_behind ? random() % word_size : 0;
        return {range.first * word_size - before, range.count * word_size + before + behind};
    }
    void acknowledged(unsigned lane, std::uint64_t id) const {
        mark({Step::acknowledged, lane, id, 0, 0});
    }

    void work_on(unsigned lane, Clock::time_point end) {
        Random random(seed_ * max_lanes + lane);
        while (Clock::now() < end) {
            switch (random() % 8) {
            case 0:
                lane == 0 && changes_attributes_ ? set_attributes() : read_back(lane, random);
                break;
            case 1:
                read_back(lane, random);
                break;
            case 2:
            case 3:
                flush_several(lane, random);
                break;
            default:
                persist(lane, random);
            }
            ++calls_;
        }
    }
    void persist(unsigned lane, Random& random) {
        const Range range = choose(lane, random);
        const std::uint64_t id = write(lane, range);
        const Bytes bytes = bytes_of(lane, range, random);
        const unsigned way = static_cast<unsigned>(random() % 4);
        if (way == 0)
            expect("rpmem_deep_persist",
                   [&] { return rpmem_deep_persist(pool_, bytes.offset, bytes.length, lane); });
        else
            expect("rpmem_persist", [&] {
                return rpmem_persist(pool_, bytes.offset, bytes.length, lane,
                                     way == 1 ? RPMEM_PERSIST_RELAXED : 0);
            });
        acknowledged(lane, id);
    }
    // The ranges do not overlap, because a flushed range must not change before the drain.
    void flush_several(unsigned lane, Random& random) {
        const Range share = share_of(lane);
        const std::size_t count = 1 + random() % max_flushes;
        std::size_t next = share.first + random() % (share.count / 2);
        std::uint64_t id = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Range range{next, 1 + random() % 200};
            next += range.count + 1 + random() % 600;
            id = write(lane, range);
            expect("rpmem_flush", [&] {
                return rpmem_flush(pool_, range.first * word_size, range.count * word_size, lane,
                                   random() % 2 ? RPMEM_FLUSH_RELAXED : 0);
            });
        }
        expect("rpmem_drain", [&] { return rpmem_drain(pool_, lane, 0); });
        acknowledged(lane, id);
    }
    void read_back(unsigned lane, Random& random) const {
        const Range range = choose(lane, random);
        std::vector<std::uint64_t> place(range.count);
        expect("rpmem_read", [&] {
            return rpmem_read(pool_, place.data(), range.first * word_size, range.count * word_size,
                              lane);
        });
        if (!std::equal(place.begin(), place.end(), memory_.words() + range.first))
            fail("rpmem_read brought other bytes than were made durable, at offset " +
                 std::to_string(range.first * word_size));
    }
    void set_attributes() {
        const std::uint64_t id = ++attributes_;
        const rpmem_pool_attr attributes = attributes_of(id);
        mark({Step::attributes, 0, id, 0, 0});
        expect("rpmem_set_attr", [&] { return rpmem_set_attr(pool_, &attributes); });
        mark({Step::attributes_ok, 0, id, 0, 0});
    }

    RPMEMpool* pool_;
    const Memory& memory_;
    unsigned lanes_;
    std::atomic<std::uint64_t> next_;
    std::uint64_t seed_;
    std::uint64_t attributes_; // used only by lane 0
    // New attributes alone keep an earlier initiator out, and would hide a lost record.
    bool changes_attributes_;
    std::atomic<std::uint64_t> calls_ = 0;
    int marks_;
};

int create(char** arguments) {
    const Memory memory;
    unsigned lanes = 1;
    const rpmem_pool_attr attributes = attributes_of(first_attributes);
    RPMEMpool* const pool =
        rpmem_create(arguments[0], arguments[1], memory.bytes, pool_size, &lanes, &attributes);
    if (!pool)
        fail(std::string("rpmem_create failed: ") + rpmem_errormsg());
    expect("rpmem_close", [&] { return rpmem_close(pool); });
    return 0;
}

int work(char** arguments) {
    const Memory memory;
    unsigned lanes = max_lanes;
    rpmem_pool_attr attributes{};
    RPMEMpool* const pool = open_pool(arguments[0], arguments[1], memory, lanes, attributes);
    expect("rpmem_read", [&] {
        return rpmem_read(pool, memory.bytes + header_size, header_size, pool_size - header_size,
                          0);
    });
    std::uint64_t number = 0;
    std::memcpy(&number, attributes.user_flags, sizeof(number));
    {
        Work work(pool, memory, lanes, arguments[2], std::stoull(arguments[3]),
                  std::stoull(arguments[4]), number);
        work.run(std::chrono::seconds(std::stol(arguments[5])));
    }
    expect("rpmem_close", [&] { return rpmem_close(pool); });
    return 0;
}

Model model_at(const char* log, std::uint64_t point) {
    Model model(pool_size);
    LogReader reader(log);
    std::vector<char> data;
    for (std::uint64_t number = 0; number < point; ++number) {
        const auto record = reader.next(data);
        if (!record)
            fail("the log ends before the point");
        if (record->kind == Kind::mark)
            model.apply(LogReader::mark_of(data));
    }
    return model;
}

int check(char** arguments) {
    const Model model = model_at(arguments[2], std::stoull(arguments[3]));
    const Memory memory;
    unsigned lanes = 1;
    rpmem_pool_attr attributes{};
    RPMEMpool* const pool = open_pool(arguments[0], arguments[1], memory, lanes, attributes);
    expect("rpmem_read", [&] { return rpmem_read(pool, memory.bytes, 0, pool_size, 0); });
    unsigned faults = 0;
    const auto complain = [&](const std::string& fault) {
        if (!fault.empty() && ++faults <= 10)
            std::cerr << fault << std::endl;
    };
    complain(model.fault_of(attributes));
    for (std::size_t index = header_size / word_size; index < pool_size / word_size; ++index)
        complain(model.fault_of_word(index, memory.words()[index]));
    expect("rpmem_close", [&] { return rpmem_close(pool); });
    if (faults > 10)
        std::cerr << "and " << faults - 10 << " more" << std::endl;
    return faults == 0 ? 0 : 1;
}

// Another writer has had the pool meanwhile. Whatever a power failure has lost, this program must
// not be able to write.
int ghost(char** arguments) {
    const Memory memory;
    unsigned lanes = 1;
    rpmem_pool_attr attributes{};
    RPMEMpool* const pool = open_pool(arguments[0], arguments[1], memory, lanes, attributes);
    std::cout << "open" << std::endl;
    std::string line;
    std::getline(std::cin, line);
    if (rpmem_persist(pool, header_size, word_size, 0, 0) == 0)
        fail("an earlier initiator could write after a later one had the pool");
    if (errno != ESTALE)
        fail(std::string("the earlier initiator fails, but not with ESTALE: ") + rpmem_errormsg());
    std::cout << rpmem_errormsg() << std::endl;
    rpmem_close(pool);
    return 0;
}

} // namespace
} // namespace rpmem::campaign

int main(int count, char** arguments) {
    using namespace rpmem::campaign;
    const std::string verb = count > 1 ? arguments[1] : "";
    if (verb == "create" && count == 4)
        return create(arguments + 2);
    if (verb == "work" && count == 8)
        return work(arguments + 2);
    if (verb == "check" && count == 6)
        return check(arguments + 2);
    if (verb == "ghost" && count == 4)
        return ghost(arguments + 2);
    std::cerr << "usage: program create TARGET SET\n"
                 "       program work TARGET SET MARKS SESSION SEED SECONDS\n"
                 "       program check TARGET SET LOG POINT\n"
                 "       program ghost TARGET SET\n";
    return 2;
}
