// A thread of the application: it stores, and asks its lanes for all that a lane can do. Whatever a
// call returns is held against the model.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "tests/simulation/model.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rpmem::simulation {

struct Tally {
    std::uint64_t calls = 0;
    std::uint64_t failed_calls = 0;
    std::uint64_t power_cuts = 0;
    std::uint64_t tries = 0; // to connect a lane, behind its first one
    std::uint64_t told = 0;  // calls that failed as the daemon was told to end, with these words
};

struct InitiatorLane {
    unsigned index;
    Link* link = nullptr;
    std::unique_ptr<initiator::FrameLane> lane{}; // null: it is not connected
};

// What came of it: the link and the lane, or why there is none.
struct Connecting {
    Link* link = nullptr;
    std::unique_ptr<initiator::FrameLane> lane{};
    Error error{};
};
using Connect = std::function<Connecting(unsigned lane)>;

// Whether a call on a lane may have failed so. Empty: it may; else why not.
using Judge = std::function<std::string(unsigned lane, int code, const std::string& complaint)>;
// The same of a lane that was not connected.
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

    // It is connected when it is used.
    void add(unsigned index) {
        lanes_.push_back({.its = {.index = index, .link = nullptr, .lane = nullptr}});
    }
    void run();
    [[nodiscard]] const Tally& tally() const { return tally_; }

private:
    struct Owned {
        InitiatorLane its;
        bool is_broken = false;
        std::vector<std::vector<std::byte>>
            given_up{}; // of reads that failed: nobody may write there
    };
    [[nodiscard]] Range any_range(unsigned lane);
    [[nodiscard]] bool is_connected(Owned& owned);
    void step(Owned& owned);
    void flush(Owned& owned);
    void persist(Owned& owned, bool deep);
    void read(Owned& owned);
    void drain_all();
    void end();
    // Makes the call, and looks at what it returns and how long it took.
    template <typename Call>
    int call(Owned& owned, const char* name, const Range& range, Call make);
    void check_error(const Owned& owned, const char* name, int code);

    World& world_;
    Model& model_;
    const Plan& plan_;
    Planted planted_;
    Ways ways_;
    std::vector<Owned> lanes_;
    Tally tally_;
};

} // namespace rpmem::simulation
