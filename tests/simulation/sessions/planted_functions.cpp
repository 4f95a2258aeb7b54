// SPDX-License-Identifier: BSD-3-Clause
// Planted faults in the code of both ends. The linker's --wrap replaces functions of the product by
// these, which call the original ones: see CMakeLists.txt.
#include "common/transport/transport.hpp"
#include "librpmem/lanes/connection_lanes.hpp"
#include "librpmem/session/session.hpp"
#include "rpmemd/lanes/lane_server.hpp"
#include "rpmemd/registry/fence.hpp"
#include "rpmemd/registry/registration.hpp"
#include "tests/simulation/forwarding_connection.hpp"
#include "tests/simulation/sessions/alone_watch.hpp"
#include "tests/simulation/sessions/planted.hpp"
#include "tests/simulation/sessions/preempted_atomic.hpp"

#include <map>

namespace rpmem::simulation::sessions {
namespace {

using initiator::ConnectionLanes;
using initiator::FrameLane;
using initiator::PoolRange;

struct KnownLane {
    unsigned index;
    const ConnectionLanes* lanes;
    bool has_drained = false;
    std::vector<PoolRange> believed{}; // ranges that a planted fault takes for acknowledged
};

struct State {
    Planted planted = Planted::none;
    bool is_closing = false;
    std::map<const FrameLane*, KnownLane> lanes{};
    const ConnectionLanes* first = nullptr; // the lanes of the first generation
    unsigned storing = 0;                   // daemons that store the state of a replica
    std::vector<std::pair<std::atomic<std::uint64_t>*, std::uint64_t>> late_marks{};
};
State state;

bool is_later_generation(const FrameLane* lane) {
    const auto known = state.lanes.find(lane);
    return known != state.lanes.end() && known->second.lanes != state.first;
}

// Returns the lane beside LANE, or null if there is none. It is of the same generation, because
// lanes of earlier ones may have been destroyed.
const FrameLane* neighbour(const FrameLane* lane) {
    const auto own = state.lanes.find(lane);
    if (own == state.lanes.end())
        return nullptr;
    const ConnectionLanes& lanes = *own->second.lanes;
    const unsigned index = own->second.index ^ 1;
    return index < lanes.lanes() ? lanes.lane(index) : nullptr;
}

} // namespace

using Ranges = std::vector<PoolRange>;
using Drain = int(FrameLane*);
Drain real_drain __asm__("__real__ZN5rpmem9initiator9FrameLane5drainEv");
using AddUnconfirmed = void(const FrameLane*, Ranges&);
AddUnconfirmed real_add __asm__(
    "__real__ZNK5rpmem9initiator9FrameLane15add_unconfirmedERSt6vectorINS0_9PoolRangeESaIS3_EE");
using UseLane = Result<FrameLane*>(ConnectionLanes*, unsigned, std::chrono::milliseconds);
UseLane real_use_lane __asm__(
    "__real__ZN5rpmem9initiator15ConnectionLanes8use_laneEjNSt6chrono8durationI"
    "lSt5ratioILl1ELl1000EEEE");
using Beat = std::optional<Error>(initiator::Session*);
Beat real_beat __asm__("__real__ZN5rpmem9initiator7Session4beatEv");
using Adopt = Result<>(target::Registration*, const target::PoolUse&, bool);
Adopt real_adopt __asm__("__real__ZN5rpmem6target12Registration5adoptERKNS0_7PoolUseEb");
using Fence = Result<>(const target::StateDirectory&, const target::StateFile&,
                       std::chrono::milliseconds);
Fence
    real_fence __asm__("__real__ZN5rpmem6target5fenceERKNS0_14StateDirectoryERKNS0_9StateFileENSt6"
                       "chrono8durationIlSt5ratioILl1ELl1000EEEE");
using Serve = bool(target::LaneServer*, unsigned, std::unique_ptr<transport::LaneConnection>,
                   const wire::LaneCredits&, bool);
Serve real_serve __asm__(
    "__real__ZN5rpmem6target10LaneServer5serveEjSt10unique_ptrINS_9transport14LaneConnectionESt"
    "14default_deleteIS4_EERKNS_4wire11LaneCreditsEb");

void plant(Planted planted) { state = {.planted = planted}; }

void tell_of_close() { state.is_closing = true; }

bool locks_nothing() { return state.planted == Planted::no_fence; }

bool lacks_attributes() { return state.planted == Planted::claim_by_path; }

bool renews_at_each_loss() { return state.planted == Planted::no_bound; }

bool marks_no_owed() { return state.planted == Planted::owed_not_marked; }

bool has_no_gate() { return state.planted == Planted::no_gate; }

bool records_early() { return state.planted == Planted::early_record; }

bool proves_everything() { return state.planted == Planted::push_unproved; }

void stores_state(bool stores) {
    if (stores)
        ++state.storing;
    else if (state.storing > 0)
        --state.storing;
}

bool leaves_attributes() { return state.planted == Planted::unsynced_record && state.storing > 0; }

bool tests_marks_first() { return state.planted == Planted::tested_mark; }

bool clears_marks_late(std::atomic<std::uint64_t>& word, std::uint64_t kept) {
    if (state.planted != Planted::late_clear || !AloneWatch::of_program())
        return false;
    state.late_marks.emplace_back(&word, kept);
    return true;
}

void forget_late_marks() { state.late_marks.clear(); }

void clear_late_marks() {
    for (const auto& [word, kept] : std::exchange(state.late_marks, {})) {
        may_be_preempted();
        word->fetch_and(kept);
    }
}

int planted_drain(FrameLane* lane) {
    if (state.planted == Planted::close_without_drain && state.is_closing)
        return 0;
    if (state.planted == Planted::ack_of_other_generation && is_later_generation(lane) &&
        !std::exchange(state.lanes[lane].has_drained, true)) {
        real_add(lane, state.lanes[lane].believed);
        return 0;
    }
    const int code = real_drain(lane);
    return state.planted == Planted::hidden_loss && code == ECONNRESET ? 0 : code;
}

AddUnconfirmed planted_add __asm__(
    "__wrap__ZNK5rpmem9initiator9FrameLane15add_unconfirmedERSt6vectorINS0_9PoolRangeESaIS3_EE");
void planted_add(const FrameLane* lane, Ranges& ranges) {
    const std::size_t before = ranges.size();
    const bool exchanges = state.planted == Planted::exchanged_lanes;
    if (const FrameLane* const from = exchanges ? neighbour(lane) : lane)
        real_add(from, ranges);
    if (state.planted == Planted::replay_misses_lane && state.lanes[lane].index == 1)
        ranges.resize(before);
    if (state.planted == Planted::replay_drops_last && ranges.size() > before)
        ranges.pop_back();
    for (const PoolRange& range : state.lanes[lane].believed)
        std::erase(ranges, range);
}

UseLane planted_use_lane __asm__(
    "__wrap__ZN5rpmem9initiator15ConnectionLanes8use_laneEjNSt6chrono8durationI"
    "lSt5ratioILl1ELl1000EEEE");
Result<FrameLane*> planted_use_lane(ConnectionLanes* lanes, unsigned index,
                                    std::chrono::milliseconds time) {
    auto lane = real_use_lane(lanes, index, time);
    if (!lane || state.planted == Planted::none)
        return lane;
    if (!state.first)
        state.first = lanes;
    if (const auto known = state.lanes.find(*lane);
        known == state.lanes.end() || known->second.lanes != lanes)
        state.lanes[*lane] = {.index = index, .lanes = lanes};
    return lane;
}

Beat planted_beat __asm__("__wrap__ZN5rpmem9initiator7Session4beatEv");
std::optional<Error> planted_beat(initiator::Session* session) {
    auto loss = real_beat(session);
    const bool is_silence = loss && loss->text.find("nothing has come") != std::string::npos;
    return state.planted == Planted::old_heartbeat && is_silence ? std::nullopt : loss;
}

Adopt planted_adopt __asm__("__wrap__ZN5rpmem6target12Registration5adoptERKNS0_7PoolUseEb");
Result<> planted_adopt(target::Registration* registration, const target::PoolUse& use,
                       bool knows_states) {
    target::PoolUse used = use;
    used.created = used.created || state.planted == Planted::no_incarnation;
    for (target::PartIdentity& part : used.parts) {
        if (state.planted == Planted::claim_by_path)
            part.inode = 0; // like a device, which is identified by its path
        if (state.planted == Planted::no_inode_generation)
            part.inode_generation = 0;
    }
    return real_adopt(registration, used, knows_states);
}

Fence planted_fence __asm__("__wrap__ZN5rpmem6target5fenceERKNS0_14StateDirectoryERKNS0_9StateFileE"
                            "NSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
Result<> planted_fence(const target::StateDirectory& directory, const target::StateFile& file,
                       std::chrono::milliseconds within) {
    return state.planted == Planted::no_fence ? Result<>() : real_fence(directory, file, within);
}

Serve planted_serve __asm__(
    "__wrap__ZN5rpmem6target10LaneServer5serveEjSt10unique_ptrINS_9transport14LaneConnectionESt"
    "14default_deleteIS4_EERKNS_4wire11LaneCreditsEb");
bool planted_serve(target::LaneServer* server, unsigned lane,
                   std::unique_ptr<transport::LaneConnection> connection,
                   const wire::LaneCredits& credits, bool direct) {
    if (state.planted == Planted::stale_ack)
        connection = std::make_unique<PlantedConnection>(std::move(connection),
                                                         simulation::Planted::stale_ack);
    return real_serve(server, lane, std::move(connection), credits, direct);
}

} // namespace rpmem::simulation::sessions
