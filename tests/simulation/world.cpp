#include "tests/simulation/world.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace rpmem::simulation {
namespace {

// A fiber that runs so often without time going on waits for something that does not come.
constexpr std::uint64_t most_turns = 100000;
// Nothing may take that long.
constexpr Time end_of_time = 1000000 * second;
constexpr std::uint64_t most_fibers = 256;

} // namespace

World::World(std::uint64_t seed, Stacks& stacks, bool tells)
    : random_(seed), stacks_(stacks), tells_(tells) {}

void World::start(std::string name, std::function<void()> body) {
    lives_.push_back({std::make_unique<Fiber>(stacks_, std::move(name), std::move(body))});
    ready_.push_back(lives_.size() - 1);
    ++living_;
}

void World::at(Time time, std::function<void()> action) {
    events_.push_back({std::max(time, now_), event_count_++, std::move(action)});
    std::push_heap(events_.begin(), events_.end());
}

void World::run() {
    while (living_ > 0 && !is_over_) {
        if (!ready_.empty()) {
            run_one();
            continue;
        }
        if (events_.empty() || events_.front().time > end_of_time) {
            find("somebody waits for ever");
            return;
        }
        take_event();
    }
}

void World::take_turn() {
    if (++turns_ < most_turns)
        return;
    find("somebody runs without end, and time does not go on");
    is_over_ = true;
    current_->leave(); // for ever
}

void World::run_one() {
    const std::size_t choice = random_.below(ready_.size());
    const std::size_t index = std::exchange(ready_[choice], ready_.back());
    ready_.pop_back();
    current_ = lives_[index].fiber.get();
    current_->enter();
    if (current_->has_ended()) {
        note("ends");
        --living_;
    }
    current_ = nullptr;
}

void World::take_event() {
    std::pop_heap(events_.begin(), events_.end());
    const Event event = std::move(events_.back());
    events_.pop_back();
    if (event.time > now_)
        turns_ = 0;
    now_ = event.time;
    event.action();
}

World::Life& World::life_of(const Fiber* fiber) {
    return *std::ranges::find_if(lives_,
                                 [&](const Life& life) { return life.fiber.get() == fiber; });
}

void World::block(Time until) {
    Life& life = life_of(current_);
    life.is_blocked = true;
    const std::uint64_t number = ++life.sleeps;
    take_turn();
    if (until != never) {
        // Two words: more would not fit into a std::function without an allocation.
        const auto index = static_cast<std::uint64_t>(&life - lives_.data());
        at(until, [this, key = number * most_fibers + index] {
            Life& sleeper = lives_[key % most_fibers];
            if (sleeper.sleeps == key / most_fibers)
                wake(sleeper);
        });
    }
    current_->leave();
}

void World::wake(Fiber* fiber) {
    if (fiber)
        wake(life_of(fiber));
}

void World::wake_all() {
    for (Life& life : lives_)
        wake(life);
}

void World::wake(Life& life) {
    if (std::exchange(life.is_blocked, false))
        ready_.push_back(static_cast<std::size_t>(&life - lives_.data()));
}

void World::sleep(Time time) {
    const Time end = now_ + time;
    do
        block(end);
    while (now_ < end);
}

int World::add_flag() {
    flags_.push_back(false);
    return static_cast<int>(flags_.size() - 1);
}

void World::set_flag(int flag, bool raised) {
    flags_[static_cast<std::size_t>(flag)] = raised;
    wake_all();
}

void World::find(std::string text) {
    if (tells_)
        fmt::print("!!! {}\n", text);
    if (finding_.empty())
        finding_ = fmt::format("at {} us: {}", now_ / microsecond, text);
}

void World::note(const char* text, std::uint64_t one, std::uint64_t two, std::uint64_t three) {
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

} // namespace rpmem::simulation
