// SPDX-License-Identifier: BSD-3-Clause
// Observes a program that goes on alone (RPMEM_ON_LOSS=alone), and checks what both ends state. It
// does not use Replica, so that it can check it. alone_functions.cpp reports what happens.
//
// A call that returns 0 without the target makes a promise: its ranges are durable on the target
// when the replica is in sync again. Until then the durable record of the target says that it lacks
// calls.
#pragma once

#include "rpmemd/registry/claim.hpp"
#include "tests/simulation/model.hpp"
#include "tests/simulation/sessions/target.hpp"

#include <functional>

namespace rpmem::simulation::sessions {

class AloneWatch {
public:
    // PASSES is called at each of these moments.
    AloneWatch(World& world, const Plan& plan, Model& model, const Target& target,
               std::function<void(Moment)> passes)
        : world_(world), plan_(plan), model_(model), target_(target), passes_(std::move(passes)) {
        running = this;
    }
    ~AloneWatch() { running = nullptr; }
    AloneWatch(const AloneWatch&) = delete;
    AloneWatch& operator=(const AloneWatch&) = delete;

    // Returns null unless the caller belongs to a living program that may go on alone.
    [[nodiscard]] static AloneWatch* of_program() {
        return running && running->plan_.alone.is_on && running->program_ &&
                       running->world_.process() == running->program_ &&
                       !running->world_.is_in_vacuum()
                   ? running
                   : nullptr;
    }
    // Returns null unless the caller belongs to a living process of such a simulation.
    [[nodiscard]] static AloneWatch* of_target() {
        return running && running->plan_.alone.is_on && running->world_.process() &&
                       !running->world_.is_in_vacuum()
                   ? running
                   : nullptr;
    }
    [[nodiscard]] World& world() { return world_; }
    [[nodiscard]] const Plan& plan() const { return plan_; }

    void program_begins(const Process& program) {
        program_ = &program;
        may_leave_ = is_away_ = closes_ = false;
        reached_ = nullptr;
        marked_ = {};
    }
    // Whether calls of the program may go on without the target.
    [[nodiscard]] bool may_leave() const { return may_leave_; }
    [[nodiscard]] bool is_away() const { return is_away_; }
    // Whether the last call on LANE that was acknowledged made a promise.
    [[nodiscard]] bool is_promise(unsigned lane) const {
        return is_away_ && marked_[lane] == joins_ + 1;
    }
    // What has happened so far.
    [[nodiscard]] unsigned joins() const { return joins_; }
    [[nodiscard]] unsigned absences() const { return absences_; }
    [[nodiscard]] Time joined_at() const { return joined_at_; }
    // Whether a session is open in which the replica catches up.
    [[nodiscard]] bool is_catching_up() const { return reached_ != nullptr; }
    // Call it when the part was replaced by an older one.
    void replaced() { is_replaced_ = true; }

    // The program closes its pool. If only the answer to its request is lost, the pool is closed.
    void closes() { closes_ = true; }
    void pass(Moment moment) { passes_(moment); }
    void allows_leaving() {
        may_leave_ = true;
        check_record(true);
    }
    void leaves() {
        if (!is_away_)
            ++absences_;
        is_away_ = true;
        model_.sends_blocks();
        check_record(!closes_);
        pass(Moment::leaves);
    }
    void marked(unsigned lane) { marked_[lane] = joins_ + 1; }
    // SESSION catches up.
    void reached(initiator::Session& session) {
        reached_ = &session;
        pass(Moment::reaches);
    }
    void drops_reached() { reached_ = nullptr; }
    [[nodiscard]] initiator::Session* reached_session() const { return reached_; }
    void joined() {
        ++joins_;
        joined_at_ = world_.now();
        is_away_ = false;
        drops_reached();
        model_.check_promises();
        pass(Moment::joins);
    }
    void sends_blocks() {
        model_.sends_blocks();
        const auto record = target_.durable_record();
        if (!is_replaced_ && record && record->catching_up_since == 0)
            world_.find("blocks are sent, and the target's record does not say so");
        pass(Moment::sends_blocks);
    }
    // SESSION is about to tell the target that the replica is in sync. A session that was left
    // after its join may say so late.
    void states_in_sync(const initiator::Session* session) {
        if (!is_away_ || session == reached_)
            model_.check_promises();
        pass(Moment::states_sync);
    }
    // Checks the durable record. MAY_LEAVE: also if nothing was promised yet.
    void check_record(bool may_leave = false) {
        if (is_replaced_ || !plan_.alone.is_on || (!may_leave && !model_.has_promises()))
            return;
        const auto record = target_.durable_record();
        if (!record || (!target::may_be_ahead(*record) && record->catching_up_since == 0))
            world_.find("the record of the target does not say that it may lack calls");
    }

private:
    static inline AloneWatch* running = nullptr;

    World& world_;
    const Plan& plan_;
    Model& model_;
    const Target& target_;
    std::function<void(Moment)> passes_;
    const Process* program_ = nullptr;
    bool may_leave_ = false;
    bool is_away_ = false;
    bool closes_ = false;
    bool is_replaced_ = false;
    unsigned joins_ = 0;
    unsigned absences_ = 0;
    Time joined_at_ = 0; // the last time
    initiator::Session* reached_ = nullptr;
    std::array<unsigned, max_lanes> marked_{}; // joins_ + 1 at the last mark, by lane
};

} // namespace rpmem::simulation::sessions
