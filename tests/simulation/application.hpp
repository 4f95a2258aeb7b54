// SPDX-License-Identifier: BSD-3-Clause
// A simulated application thread. It stores into its memory and makes calls on real lanes of the
// library, and checks each result against the model. A result that the model does not allow, a call
// that takes too long, or an error without a cause is a finding.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "tests/simulation/simulation.hpp"

namespace rpmem::simulation {

struct InitiatorLane {
    unsigned index;
    Link* link = nullptr;
    std::unique_ptr<initiator::FrameLane> lane{}; // null if it is not connected
};

// The result of connecting a lane: its link and the lane, or the error.
struct Connecting {
    Link* link = nullptr;
    std::unique_ptr<initiator::FrameLane> lane{};
    Error error{};
};
using Connect = std::function<Connecting(unsigned lane)>;

// Returns an empty string if a call on the lane may fail like this, else the reason why it may not.
using Judge = std::function<std::string(unsigned lane, int code, const std::string& complaint)>;
// Like Judge, but for a lane that could not be connected.
using JudgeOfConnecting = std::function<std::string(unsigned lane, const Error& error)>;

class Application {
public:
    struct Ways {
        Connect connect;
        Judge judge;
        JudgeOfConnecting judge_connecting;
    };
    Application(World& world, Model& model, const Plan& plan, Planted planted, Ways ways)
        : world_(world), model_(model), plan_(plan), planted_(planted), ways_(std::move(ways)) {}

    // Adds a lane, which connects on first use.
    void add(unsigned index) {
        lanes_.push_back({.its = {.index = index, .link = nullptr, .lane = nullptr}});
    }
    void run() {
        Random& random = world_.random();
        if (plan_.unauthenticated > 0 && random.chance(50)) // let them connect before the lanes
            world_.sleep(random.below(latest_beginning));
        for (unsigned i = 0; i < plan_.steps; ++i) {
            if (random.chance(20))
                world_.sleep(random.below(plan_.conditions.delay + microsecond));
            if (random.chance(5))
                drain_all();
            else
                step(lanes_[random.below(lanes_.size())]);
        }
        if (random.chance(80)) // the others end with frames in flight
            drain_all();
        end();
    }
    [[nodiscard]] const Tally& tally() const { return tally_; }

private:
    static constexpr auto untouched = std::byte{0x77};
    static constexpr Time latest_beginning = 300 * millisecond;

    struct Owned {
        InitiatorLane its;
        bool is_broken = false;
        std::vector<std::vector<std::byte>>
            given_up{}; // buffers of failed reads, which must not be written to
    };
    [[nodiscard]] Range any_range(unsigned lane) {
        Random& random = world_.random();
        const std::size_t most =
            random.chance(70) ? std::min<std::size_t>(plan_.max_length, 200) : plan_.max_length;
        const std::size_t length = 1 + random.below(most);
        std::size_t offset = random.below(region_size - length + 1);
        if (random.chance(50))
            offset -= offset % 64;
        return {lane * region_size + offset, length};
    }
    [[nodiscard]] bool is_connected(Owned& owned) {
        if (owned.its.lane || owned.is_broken)
            return owned.its.lane != nullptr;
        Connecting connecting = ways_.connect(owned.its.index);
        owned.its.link = connecting.link;
        owned.its.lane = std::move(connecting.lane);
        if (owned.its.lane)
            return true;
        owned.is_broken = true;
        ++tally_.failed_calls;
        const std::string verdict = ways_.judge_connecting(owned.its.index, connecting.error);
        if (!verdict.empty())
            world_.find(fmt::format("lane {} was not connected, {}: {}", owned.its.index, verdict,
                                    connecting.error.text));
        return false;
    }
    void step(Owned& owned) {
        if (!is_connected(owned))
            return;
        switch (world_.random().below(10)) {
        case 0:
        case 1:
            return persist(owned, false);
        case 2:
            return persist(owned, true);
        case 3:
            return read(owned);
        case 4: {
            const Range none{0, 0};
            if (call(owned, "drain", none, [&] { return owned.its.lane->drain(); }) == 0)
                model_.acknowledged(owned.its.index);
            return;
        }
        default:
            return flush(owned);
        }
    }
    void flush(Owned& owned) {
        const unsigned lane = owned.its.index;
        const Range range = any_range(lane);
        if (!model_.store(lane, range))
            return;
        if (call(owned, "flush", range,
                 [&] { return owned.its.lane->flush(range.offset, range.length, false); }) == 0)
            model_.flushed(lane, range);
    }
    void persist(Owned& owned, bool deep) {
        const unsigned lane = owned.its.index;
        const Range range = any_range(lane);
        if (!model_.store(lane, range))
            return;
        const int code = call(owned, deep ? "deep persist" : "persist", range, [&] {
            return deep ? owned.its.lane->deep_persist(range.offset, range.length)
                        : owned.its.lane->persist(range.offset, range.length, false);
        });
        if (code != 0)
            return;
        model_.flushed(lane, range);
        model_.acknowledged(lane);
    }
    void read(Owned& owned) {
        const auto any_lane = static_cast<unsigned>(world_.random().below(plan_.lanes));
        const Range range = any_range(world_.random().chance(70) ? owned.its.index : any_lane);
        const auto oldest = model_.oldest_answer(owned.its.index, range);
        std::vector<std::byte> answer(range.length, untouched);
        if (call(owned, "read", range, [&] {
                return owned.its.lane->read(answer.data(), range.offset, range.length);
            }) == 0)
            return model_.check_answer(range, oldest, answer);
        std::ranges::fill(answer, untouched);
        owned.given_up.push_back(std::move(answer));
    }
    void drain_all() {
        bool all = true;
        const std::size_t skipped = planted_ == Planted::skipped_lane ? 1 : lanes_.size();
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (i == skipped)
                continue;
            Owned& owned = lanes_[i];
            const Range none{0, 0};
            if (!owned.its.lane)
                continue;
            all = call(owned, "drain with others", none, [&] { return owned.its.lane->drain(); }) ==
                      0 &&
                  all;
        }
        if (all)
            for (const Owned& owned : lanes_)
                model_.acknowledged(owned.its.index);
    }
    void end() {
        for (Owned& owned : lanes_) {
            if (world_.random().chance(50))
                world_.sleep(world_.random().below(2 * plan_.conditions.delay + millisecond));
            owned.its.lane.reset();
            for (const auto& memory : owned.given_up)
                if (std::ranges::any_of(memory, [](std::byte byte) { return byte != untouched; }))
                    world_.find("a read that had failed wrote to the caller's memory");
        }
    }
    // Makes the call, and checks its result and its duration.
    template <typename Call>
    int call(Owned& owned, const char* name, const Range& range, Call make) {
        const Time began = world_.now();
        world_.note(name);
        world_.note("    of lane {}: {}, {} bytes", owned.its.index, range.offset, range.length);
        const int code = make();
        ++tally_.calls;
        const Time last = std::max(began, owned.its.link->last_arrival(Side::initiator));
        const Time timeout = static_cast<Time>(plan_.timeout.count()) * millisecond;
        if (world_.now() > last + timeout + millisecond)
            world_.find(fmt::format("{} of lane {} took {} ms behind what came last", name,
                                    owned.its.index, (world_.now() - last) / millisecond));
        world_.note("    lane {} returns {}", owned.its.index, static_cast<std::uint64_t>(code));
        if (code != 0) {
            ++tally_.failed_calls;
            check_error(owned, name, code);
            owned.is_broken = true;
        }
        return code;
    }
    void check_error(const Owned& owned, const char* name, int code) {
        const std::string complaint = owned.its.lane->violation();
        const std::string verdict = ways_.judge(owned.its.index, code, complaint);
        if (!verdict.empty())
            world_.find(fmt::format("{} of lane {} returned \"{}\", {}; its complaint: {}", name,
                                    owned.its.index, strerror(code), verdict, complaint));
    }

    World& world_;
    Model& model_;
    const Plan& plan_;
    Planted planted_;
    Ways ways_;
    std::vector<Owned> lanes_;
    Tally tally_;
};

} // namespace rpmem::simulation
