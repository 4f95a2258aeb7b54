// One simulated world: fibers in the place of threads, a clock that goes on when none of them can,
// and numbers from a seed that decide who runs next. The same seed gives the same history.
#pragma once

#include "tests/simulation/fiber.hpp"
#include "tests/simulation/random.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rpmem::simulation {

using Time = std::uint64_t; // nanoseconds since the world began

constexpr Time microsecond = 1000;
constexpr Time millisecond = 1000 * microsecond;
constexpr Time second = 1000 * millisecond;
constexpr Time never = UINT64_MAX;

class World {
public:
    // TELLS: prints what happens.
    World(std::uint64_t seed, Stacks& stacks, bool tells);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] Random& random() { return random_; }
    [[nodiscard]] Time now() const { return now_; }

    void start(std::string name, std::function<void()> body);
    // Runs ACTION at TIME, in no fiber.
    void at(Time time, std::function<void()> action);
    // Until all fibers have ended, or the world has to.
    void run();

    // By fibers. The one that calls goes on when somebody wakes it, or at UNTIL.
    void block(Time until);
    void sleep(Time time);
    // Whoever may call this without end calls it: the world ends if time does not go on meanwhile.
    void take_turn();
    [[nodiscard]] Fiber* current() const { return current_; }
    void wake(Fiber* fiber);
    void wake_all(); // each looks at what it waits for

    // In the place of descriptors that become readable.
    [[nodiscard]] int add_flag();
    void set_flag(int flag, bool raised);
    [[nodiscard]] bool is_raised(int flag) const { return flags_[static_cast<std::size_t>(flag)]; }

    // What must not happen. The first one counts.
    void find(std::string text);
    [[nodiscard]] const std::string& finding() const { return finding_; }

    // Becomes part of the history. TEXT is a format of fmt with places for the numbers.
    void note(const char* text, std::uint64_t one = 0, std::uint64_t two = 0,
              std::uint64_t three = 0);
    // Of all that was noted, and when.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

private:
    struct Life {
        std::unique_ptr<Fiber> fiber;
        std::uint64_t sleeps = 0; // how often it has blocked
        bool is_blocked = false;
    };
    struct Event {
        Time time;
        std::uint64_t number; // of two at the same time the older one goes first
        std::function<void()> action;
        bool operator<(const Event& other) const { // a heap has the largest on top
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    [[nodiscard]] Life& life_of(const Fiber* fiber);
    void wake(Life& life);
    void run_one();
    void take_event();

    Random random_;
    Stacks& stacks_;
    bool tells_;
    Time now_ = 0;
    std::vector<Life> lives_;
    std::vector<std::size_t> ready_; // indices of lives_
    std::vector<Event> events_;      // a heap
    std::uint64_t event_count_ = 0;
    std::size_t living_ = 0;
    Fiber* current_ = nullptr;
    std::vector<bool> flags_;
    std::uint64_t turns_ = 0; // since the clock went on
    bool is_over_ = false;
    std::string finding_;
    std::uint64_t hash_ = 0;
};

} // namespace rpmem::simulation
