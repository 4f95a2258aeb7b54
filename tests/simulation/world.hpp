// SPDX-License-Identifier: BSD-3-Clause
// A simulated world: fibers instead of threads, and a clock that advances when no fiber can run.
// Random numbers from a seed decide which fiber runs next, so a seed always gives the same history.
#pragma once

#include "tests/simulation/fiber.hpp"
#include "tests/simulation/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rpmem::simulation {

using Time = std::uint64_t; // nanoseconds since the world began

constexpr Time microsecond = 1000;
constexpr Time millisecond = 1000 * microsecond;
constexpr Time second = 1000 * millisecond;
constexpr Time never = UINT64_MAX;

// A fiber that takes so many turns while the clock stands waits for something that never happens.
inline constexpr std::uint64_t max_turns = 100000;
// No event may be later than this.
inline constexpr Time end_of_time = 1000000 * second;
inline constexpr std::uint64_t max_fibers = 4096;

// A process, which is stopped and killed as a whole. Its threads are fibers. Fibers of a dead
// process continue in a vacuum until they have released their memory. There, nothing that they do
// has an effect, no wait takes time, and every deadline has passed.
struct Process {
    std::string name;
    int pid = 0;
    bool is_stopped = false;
    bool is_killed = false; // it is stopped and about to be dead
    bool is_dead = false;
};

class World {
public:
    // TELLS prints each event.
    World(std::uint64_t seed, Stacks& stacks, bool tells)
        : random_(seed), stacks_(stacks), tells_(tells) {}
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] Random& random() { return random_; }
    [[nodiscard]] Time now() const { return now_; }
    // The clock that the current process sees.
    [[nodiscard]] Time clock() {
        return is_in_vacuum() ? end_of_time + (time_in_vacuum_ += second) : now_;
    }

    Fiber* start(std::string name, std::function<void()> body) {
        return start(std::move(name), process(), std::move(body));
    }
    // PROCESS must outlive the world, and may be null.
    Fiber* start(std::string name, Process* process, std::function<void()> body) {
        if (free_.empty()) {
            if (lives_.size() == max_fibers)
                throw std::runtime_error("too many fibers");
            free_.push_back(lives_.size());
            lives_.emplace_back();
        }
        const std::size_t index = free_.back();
        free_.pop_back();
        lives_[index].fiber = std::make_unique<Fiber>(stacks_, std::move(name), std::move(body));
        lives_[index].process = process;
        ready_.push_back(index);
        ++living_;
        return lives_[index].fiber.get();
    }
    // The process of the running fiber, or null.
    [[nodiscard]] Process* process() const { return current_process_; }
    [[nodiscard]] bool is_in_vacuum() const {
        return current_process_ && current_process_->is_dead;
    }
    // Call when PROCESS was continued or has died. Its fibers can run again.
    void look_again_at(const Process& process) {
        std::erase_if(stopped_, [&](std::size_t index) {
            const bool goes_on = lives_[index].process == &process;
            if (goes_on)
                ready_.push_back(index);
            return goes_on;
        });
        if (process.is_dead)
            for (Life& life : lives_)
                if (life.process == &process)
                    wake(life);
    }
    // Runs ACTION at TIME, outside of any fiber.
    void at(Time time, std::function<void()> action) {
        events_.push_back({std::max(time, now_), event_count_++, std::move(action)});
        std::push_heap(events_.begin(), events_.end());
    }
    // Runs until all fibers have ended, or until a finding ends the world.
    void run() {
        while (living_ > 0 && !is_over_) {
            if (!ready_.empty()) {
                run_one();
                continue;
            }
            if (events_.empty() || events_.front().time > end_of_time) {
                return find(fmt::format("somebody waits for ever: {}", name_of_living()));
            }
            take_event();
        }
    }

    // Blocks the calling fiber until it is woken, at most until UNTIL.
    void block(Time until) {
        Life& life = life_of(current_);
        life.is_blocked = true;
        const std::uint64_t number = ++life.sleeps;
        take_turn();
        if (is_in_vacuum()) {
            wake(life);
        } else if (until != never) {
            // The captures are two words. More would make std::function allocate memory.
            const auto index = static_cast<std::uint64_t>(&life - lives_.data());
            at(until, [this, key = number * max_fibers + index] {
                Life& sleeper = lives_[key % max_fibers];
                if (sleeper.sleeps == key / max_fibers)
                    wake(sleeper);
            });
        }
        current_->leave();
    }
    void sleep(Time time) {
        const Time end = now_ + time;
        do
            block(end);
        while (now_ < end && !is_in_vacuum());
    }
    // Lets other fibers run. The clock does not advance.
    void yield() {
        Life& life = life_of(current_);
        life.is_blocked = true;
        wake(life);
        take_turn();
        current_->leave();
    }
    // A loop that might never end must call this. The world ends if the clock does not advance in
    // max_turns calls.
    void take_turn() {
        if (++turns_ < max_turns)
            return;
        find("somebody runs without end, and time does not go on");
        is_over_ = true;
        current_->leave(); // does not return
    }
    [[nodiscard]] Fiber* current() const { return current_; }
    // Ignores a fiber that has ended.
    void wake(const Fiber* fiber) {
        for (Life& life : lives_)
            if (fiber && life.fiber.get() == fiber)
                return wake(life);
    }
    void wake_all() {
        for (Life& life : lives_)
            wake(life);
    } // each checks its own condition

    // Flags simulate descriptors that become readable.
    [[nodiscard]] int add_flag() {
        flags_.push_back(false);
        return static_cast<int>(flags_.size() - 1);
    }
    void set_flag(int flag, bool raised) {
        flags_[static_cast<std::size_t>(flag)] = raised;
        wake_all();
    }
    [[nodiscard]] bool is_raised(int flag) const { return flags_[static_cast<std::size_t>(flag)]; }

    // Records a finding. Only the first one is kept.
    void find(std::string text) {
        if (tells_)
            fmt::print("!!! {}\n", text);
        if (finding_.empty())
            finding_ = fmt::format("at {} us: {}", now_ / microsecond, text);
    }
    [[nodiscard]] const std::string& finding() const { return finding_; }

    // Adds an event to the history. TEXT is a format of fmt for the numbers.
    void note(const char* text, std::uint64_t one = 0, std::uint64_t two = 0,
              std::uint64_t three = 0) {
        std::uint64_t value = hash_;
        for (const char letter : std::string_view(text))
            value = value * 31 + static_cast<unsigned char>(letter);
        for (const std::uint64_t number : {now_, one, two, three})
            value = (value ^ number) * 0x9e3779b97f4a7c15 + (value >> 29);
        hash_ = value;
        if (tells_)
            fmt::print("{:>12.3f} us  {:<14} {}\n", static_cast<double>(now_) / microsecond,
                       current_ ? current_->name() : "-",
                       fmt::format(fmt::runtime(text), one, two, three));
    }
    // The hash of all events and their times.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

private:
    [[nodiscard]] std::string name_of_living() const {
        for (const Life& life : lives_)
            if (life.fiber && life.process)
                return fmt::format("{} of {} {}", life.fiber->name(), life.process->name,
                                   life.process->pid);
        return "nobody with a name";
    }
    struct Life {
        std::unique_ptr<Fiber> fiber;
        Process* process = nullptr;
        std::uint64_t sleeps = 0; // how often it has blocked
        bool is_blocked = false;
    };
    struct Event {
        Time time;
        std::uint64_t number; // of two events at the same time, the older one runs first
        std::function<void()> action;
        bool operator<(const Event& other) const { // a heap has the largest on top
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    [[nodiscard]] Life& life_of(const Fiber* fiber) {
        return *std::ranges::find_if(lives_,
                                     [&](const Life& life) { return life.fiber.get() == fiber; });
    }
    void wake(Life& life) {
        if (std::exchange(life.is_blocked, false))
            ready_.push_back(static_cast<std::size_t>(&life - lives_.data()));
    }
    void run_one() {
        const std::size_t choice = random_.below(ready_.size());
        const std::size_t index = std::exchange(ready_[choice], ready_.back());
        ready_.pop_back();
        if (lives_[index].process && lives_[index].process->is_stopped)
            return stopped_.push_back(index);
        current_ = lives_[index].fiber.get();
        current_process_ = lives_[index].process;
        current_->enter();
        if (current_->has_ended()) {
            note("ends");
            --living_;
            lives_[index].fiber.reset();
            free_.push_back(index);
        }
        current_ = nullptr;
        current_process_ = nullptr;
    }
    void take_event() {
        std::pop_heap(events_.begin(), events_.end());
        const Event event = std::move(events_.back());
        events_.pop_back();
        if (event.time > now_)
            turns_ = 0;
        now_ = event.time;
        event.action();
    }

    Random random_;
    Stacks& stacks_;
    bool tells_;
    Time now_ = 0;
    Time time_in_vacuum_ = 0;
    std::vector<Life> lives_;
    std::vector<std::size_t> free_;    // indices of lives_ whose fibers have ended
    std::vector<std::size_t> ready_;   // indices of lives_
    std::vector<std::size_t> stopped_; // indices of fibers that are ready, of stopped processes
    std::vector<Event> events_;        // a heap
    std::uint64_t event_count_ = 0;
    std::size_t living_ = 0;
    Fiber* current_ = nullptr;
    Process* current_process_ = nullptr;
    std::vector<bool> flags_;
    std::uint64_t turns_ = 0; // since the clock advanced
    bool is_over_ = false;
    std::string finding_;
    std::uint64_t hash_ = 0;
};

} // namespace rpmem::simulation
