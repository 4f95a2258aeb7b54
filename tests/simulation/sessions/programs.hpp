// SPDX-License-Identifier: BSD-3-Clause
// The processes of the simulated program, one after the other. They have the same memory, because
// it is a file that outlives them. A program that was killed starts again later, sometimes with a
// backup of the file.
#pragma once

#include "tests/simulation/sessions/client.hpp"
#include "tests/simulation/sessions/local_machine.hpp"

namespace rpmem::simulation::sessions {

class Programs {
public:
    Programs(Machine& machine, const Plan& plan, Model& model, CallWatch& watch, AloneWatch& alone,
             std::span<std::byte> memory, Log log, Judge judge, std::function<void()> begins)
        : machine_(machine), world_(machine.world()), plan_(plan), model_(model), watch_(watch),
          alone_(alone), files_(world_, plan.alone.lacks_record), memory_(memory),
          log_(std::move(log)), judge_(std::move(judge)), begins_(std::move(begins)) {}
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

    void start() {
        process_ = &machine_.make_process("program");
        clients_.push_back(
            std::make_unique<Client>(world_, plan_, model_, watch_, alone_, memory_, log_, judge_));
        if (clients_.size() == 1)
            clients_.back()->set_first();
        alone_.program_begins(*process_);
        forget_late_marks();
        begins_();
        world_.start("program", process_, [this, client = clients_.back().get(), own = process_] {
            client->run();
            machine_.end(*own);
        });
    }
    // Kills the program and starts it again after TIME. IS_OLDER: with the backup. Does nothing if
    // no program runs.
    void crash(Time time, bool is_older) {
        if (!runs())
            return;
        machine_.kill(*process_);
        // The world ends when no fiber is left.
        world_.start("restart", nullptr, [this, time, is_older] {
            world_.sleep(max_end + time);
            model_.program_has_died();
            watch_.forget_all();
            alone_.check_record();
            if (is_older && !backup_.empty()) {
                model_.restore(backup_);
                files_.restore(backup_made_);
                has_older_memory_ = true;
                world_.note("the program gets a backup of its memory");
            }
            start();
        });
    }
    void back_up() {
        backup_ = model_.back_up();
        backup_made_ = world_.now();
    }
    [[nodiscard]] Process& process() { return *process_; }
    [[nodiscard]] bool runs() const { return !process_->is_dead && !process_->is_killed; }
    [[nodiscard]] bool has_opened() const {
        return std::ranges::any_of(clients_, [](const auto& each) { return each->has_opened(); });
    }
    [[nodiscard]] bool present_has_opened() const { return clients_.back()->has_opened(); }
    [[nodiscard]] bool has_record() const { return files_.has_record(); }
    [[nodiscard]] bool has_older_memory() const { return has_older_memory_; }
    [[nodiscard]] Calls calls() const {
        Calls sum;
        for (const auto& client : clients_) {
            sum.made += client->calls().made;
            sum.failed += client->calls().failed;
        }
        return sum;
    }
    // Returns why the last program could not open the pool, or nothing if it has.
    [[nodiscard]] const std::optional<Error>& open_error() const {
        return clients_.back()->open_error();
    }

private:
    static constexpr Time max_end = 3 * second; // until the kernel has ended a killed process

    Machine& machine_;
    World& world_;
    const Plan& plan_;
    Model& model_;
    CallWatch& watch_;
    AloneWatch& alone_;
    LocalMachine files_;
    std::span<std::byte> memory_;
    Log log_;
    Judge judge_;
    std::function<void()> begins_; // is called when a program begins
    std::vector<std::unique_ptr<Client>> clients_;
    Process* process_ = nullptr;
    std::vector<std::byte> backup_;
    Time backup_made_ = 0;
    bool has_older_memory_ = false;
};

} // namespace rpmem::simulation::sessions
