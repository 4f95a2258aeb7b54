// SPDX-License-Identifier: BSD-3-Clause
// The simulation of one seed: it builds both ends and causes the faults of the plan.
#include "tests/simulation/sessions/simulation.hpp"

#include "common/base/call_within.hpp"
#include "librpmem/replica/guarded_load.hpp"
#include "librpmem/session/start_channel.hpp"
#include "tests/simulation/sessions/connections.hpp"
#include "tests/simulation/sessions/intruder.hpp"
#include "tests/simulation/sessions/planted.hpp"
#include "tests/simulation/sessions/programs.hpp"

namespace rpmem::simulation::sessions {
namespace {

constexpr Time max_login = 300 * millisecond; // of ssh itself, without the network

class Simulation {
public:
    Simulation(Arena& arena, const Options& options)
        : world_(options.seed, arena.stacks, options.tells), system_(world_), threads_(world_),
          machine_(system_), plan_(plan_of(world_.random())),
          target_(machine_, plan_, arena.part, options.tells),
          model_(world_, plan_.lanes, target_.pool(), target_.durable(),
                 arena.memory().subspan(first_place)),
          log_(options.tells
                   ? Log::to_stderr("  library", LogLevel::debug, identity_of(STDERR_FILENO))
                   : Log()),
          watch_(world_), verdict_(world_, plan_, machine_.disk()),
          alone_(world_, plan_, model_, target_, [this](Moment moment) { pass(moment); }),
          connections_(world_, plan_), programs_(
                                           machine_, plan_, model_, watch_, alone_, arena.memory(),
                                           log_, [this](const CallEnd& end) { return judge(end); },
                                           [this] { verdict_.program_begins(); }),
          intruder_(machine_, plan_, log_) {
        running = this;
        system_.become_current();
        system_.set_path({.conditions = plan_.conditions, .opened = [this](Link& link) {
                              connections_.add_lane(link, target_.is_up());
                          }});
        machine_.syncs = [this] { sync_of_data(); };
        plant(options.planted);
        if (options.tells)
            tell(plan_);
    }
    ~Simulation() { running = nullptr; }
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    [[nodiscard]] static Simulation* current() { return running; }

    Outcome run() {
        programs_.start();
        for (const PlannedFault& fault : plan_.faults) {
            world_.at(fault.at, [this, &fault] { happen(fault); });
            if (fault.fault == Fault::older_memory)
                world_.at(world_.random().below(fault.at + 1), [this] { programs_.back_up(); });
        }
        world_.run();
        check_end();
        outcome_.finding = world_.finding();
        outcome_.hash = world_.hash();
        outcome_.calls = programs_.calls().made;
        outcome_.failed_calls = programs_.calls().failed;
        outcome_.absences = alone_.absences();
        outcome_.joins = alone_.joins();
        outcome_.time = world_.now();
        return outcome_;
    }

    // Logs in like ssh. Failures show only in the channel.
    Result<std::unique_ptr<initiator::Channel>> log_in() {
        if (world_.is_in_vacuum())
            return fail(ErrorClass::link_lost, ECONNRESET, "this process has ended");
        ++outcome_.logins;
        world_.note("logs in");
        Conditions conditions = plan_.conditions;
        conditions.partial = 0; // a pipe accepts this much at once
        conditions.capacity = std::size_t{64} * 1024;
        auto login = std::make_shared<Login>(Login{.input = &system_.make_link(conditions),
                                                   .output = &system_.make_link(conditions),
                                                   .error = &system_.make_link(conditions)});
        login->other_user = intruder_.is_other_user() && intruder_.is(world_.process());
        if (world_.process() == &programs_.process())
            watch_.login_begins();
        connections_.add_login(login, target_.is_up());
        const Time arrives = connections_.usable_at() + 6 * plan_.conditions.delay +
                             world_.random().below(max_login);
        world_.at(arrives, [this, login] { target_.start_daemon(login); });
        Process* const own = world_.process();
        auto channel = std::make_unique<initiator::Channel>();
        channel->connect({UniqueFd(system_.open_pipe(*login->input, Side::initiator, own)),
                          UniqueFd(system_.open_pipe(*login->output, Side::initiator, own)),
                          UniqueFd(system_.open_pipe(*login->error, Side::initiator, own))},
                         std::make_unique<LoginBackend>(world_, login), "127.0.0.1");
        return channel;
    }

private:
    void happen(const PlannedFault& fault) {
        ++outcome_.faults[static_cast<std::size_t>(fault.fault)];
        world_.note(fault_names[static_cast<std::size_t>(fault.fault)]);
        troubles().last = std::max(troubles().last, world_.now());
        switch (fault.fault) {
        case Fault::cut_lanes:
            return connections_.cut_lanes();
        case Fault::cut_login:
            return connections_.cut_logins();
        case Fault::half_open:
            troubles().has_silence = true;
            return connections_.fall_silent(fault.toward_target, fault.toward_initiator);
        case Fault::outage:
            lasts(fault);
            leaves_without_answer(std::min(fault.time, time_of(plan_.peer_timeout)));
            return connections_.go_down_for(fault.time);
        case Fault::kill:
            if (Process* const daemon = target_.daemon())
                target_.kill(*daemon);
            return;
        case Fault::terminate:
            if (const Process* const daemon = target_.daemon())
                system_.send_signal(*daemon);
            return;
        case Fault::stop_target:
            leaves_without_answer(std::min(fault.time, time_of(plan_.peer_timeout)));
            if (Process* const daemon = target_.daemon())
                stop(*daemon, fault);
            return;
        case Fault::stop_initiator:
            return stop(programs_.process(), fault);
        case Fault::power_cut:
            return lose_power(fault);
        case Fault::disk_error:
            return machine_.disk().fail_next();
        case Fault::slow_disk:
            lasts(fault);
            leaves_without_answer(fault.time);
            return machine_.disk().slow_next(fault.time);
        case Fault::intruder:
            return intrude();
        case Fault::clock_jump: { // by less than a day, because records older than that are removed
            const auto hours = static_cast<std::int64_t>(world_.random().below(26));
            return machine_.set_clock((hours - 3) * 3600);
        }
        case Fault::dying_sessions:
            return let_sessions_die(fault);
        case Fault::restore:
            return restore(fault);
        case Fault::rename:
            return target_.rename_part();
        case Fault::lost_state:
            return target_.lose_state_directory();
        case Fault::no_state:
            return refuse_state_directory(fault);
        case Fault::crash:
        case Fault::older_memory:
            lasts(fault);
            return programs_.crash(fault.time, fault.fault == Fault::older_memory);
        case Fault::full_disk:
            return fill_disk(fault);
        case Fault::count:
            return;
        }
    }
    void lasts(const PlannedFault& fault) {
        troubles().last = std::max(troubles().last, world_.now() + fault.time);
        troubles().sum += fault.time;
    }
    void stop(Process& process, const PlannedFault& fault) {
        if (process.is_dead || process.is_stopped)
            return;
        lasts(fault);
        process.is_stopped = true;
        world_.at(world_.now() + fault.time, [this, &process, time = fault.time] {
            if (process.is_dead || process.is_killed)
                return;
            process.is_stopped = false;
            if (&process == &programs_.process())
                watch_.resumed(time);
            world_.look_again_at(process);
        });
    }
    void leaves_without_answer(Time time) { troubles().without_answer += time; }
    // Each session starts and is lost again soon: its daemon dies in a sync, or its lanes are lost.
    void let_sessions_die(const PlannedFault& fault) {
        lasts(fault);
        const unsigned percent = world_.random().chance(50) ? 100 : 80;
        if (world_.random().chance(35)) {
            syncs_kill_until_ = std::max(syncs_kill_until_, world_.now() + fault.time);
            syncs_kill_ = percent;
            return;
        }
        const bool by_reset = world_.random().chance(60);
        troubles().has_silence |= !by_reset;
        connections_.let_lanes_die_for(fault.time, by_reset, percent);
    }
    void sync_of_data() {
        if (world_.now() < syncs_kill_until_ && world_.random().chance(syncs_kill_))
            target_.kill(*world_.process());
    }
    // A backup is made now and restored while the target is off.
    void restore(const PlannedFault& fault) {
        lasts(fault);
        const auto backup = std::make_shared<const Backup>(target_.back_up());
        const bool is_older = programs_.has_opened();
        world_.at(world_.now() + fault.time, [this, backup, is_older] {
            if (!target_.is_up())
                return;
            lose_power({.fault = Fault::power_cut,
                        .at = world_.now(),
                        .time = world_.random().below(5 * second),
                        .toward_initiator = true,
                        .toward_target = true});
            if (!is_older)
                return;
            troubles().is_restored = true;
            // A program that opens the pool later begins with that part.
            if (programs_.present_has_opened())
                troubles().restored_at = std::min(troubles().restored_at, world_.now());
            target_.restore(*backup, world_.random());
            model_.replaced();
            alone_.replaced();
        });
    }
    void refuse_state_directory(const PlannedFault& fault) {
        lasts(fault);
        troubles().is_refused = true;
        target_.refuse_state_directory(true);
        world_.at(world_.now() + fault.time, [this] { target_.refuse_state_directory(false); });
    }
    // The target forgets its connections. Initiators learn that only when the machine is back.
    void lose_power(const PlannedFault& fault) {
        if (!target_.is_up())
            return;
        lasts(fault);
        target_.lose_power();
        model_.check_power_cut();
        alone_.check_record();
        connections_.forget_all(fault.time);
        world_.at(world_.now() + fault.time, [this] { target_.get_power(); });
    }
    void fill_disk(const PlannedFault& fault) {
        lasts(fault);
        troubles().disk_was_full = true;
        machine_.disk().fill(true);
        world_.at(world_.now() + fault.time, [this] { machine_.disk().fill(false); });
    }
    // Another program, sometimes of another user of the target, opens the pool if it is not locked.
    void intrude() {
        troubles().another_asked = true;
        intruder_.start(
            [this](bool as_it_is) {
                ++outcome_.takeovers;
                if (programs_.has_opened())
                    troubles().taken_at = std::min(troubles().taken_at, world_.now());
                if (!as_it_is && !troubles().is_restored && model_.has_promises())
                    world_.find("another initiator has opened a replica that lacks calls");
                // Without a record, RPMEM_EQUALIZE=yes takes a replica that is not behind for equal
                // to its memory, see docs/transport.md.
                return programs_.has_record();
            },
            [this] { troubles().last = std::max(troubles().last, world_.now()); });
    }
    void pass(Moment moment) {
        if (moment == Moment::joins)
            watch_.forget_all();
        AlonePlan& alone = plan_.alone;
        if (moment != alone.trap || alone.trap_count == 0 || --alone.trap_count > 0)
            return;
        happen({.fault = alone.trapped,
                .at = world_.now(),
                .time = time_of_fault(world_.random()),
                .toward_initiator = true,
                .toward_target = true});
    }

    [[nodiscard]] std::string judge(const CallEnd& end) {
        model_.check_not_passed();
        return verdict_.judge(end);
    }
    void check_end() {
        if (!world_.finding().empty())
            return;
        target_.check_end();
        if (const std::string why = verdict_.judge_all(); !why.empty())
            world_.find(why);
        model_.check_power_cut();
        model_.check_not_passed();
        alone_.check_record();
        if (!troubles().is_restored && !intruder_.check(target_.durable()))
            world_.find("bytes of another initiator were overwritten");
        check_last_open();
    }
    // A program that was killed gets its pool again, with the same memory.
    void check_last_open() {
        const auto& error = programs_.open_error();
        if (error && error->code == ESTALE && !troubles().another_asked &&
            !troubles().is_restored && !programs_.has_older_memory() && !plan_.alone.lacks_record)
            world_.find("a program does not get its own pool: " + error->text);
    }
    [[nodiscard]] Troubles& troubles() { return verdict_.troubles; }

    static inline Simulation* running = nullptr;
    World world_;
    SimulatedSystem system_;
    Threads threads_;
    Machine machine_;
    Plan plan_;
    Target target_;
    Model model_;
    Log log_;
    CallWatch watch_;
    Verdict verdict_;
    AloneWatch alone_;
    Connections connections_;
    Programs programs_;
    Intruder intruder_;
    Time syncs_kill_until_ = 0;
    unsigned syncs_kill_ = 0; // percent of the syncs
    Outcome outcome_;
};

} // namespace

Arena::Arena() {
    void* const place =
        ::mmap(nullptr, used_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        throw std::runtime_error("no memory for a program");
    memory_ = {static_cast<std::byte*>(place), used_size};
}

Arena::~Arena() { ::munmap(memory_.data(), memory_.size()); }

Outcome simulate(Arena& arena, const Options& options) {
    // The first calls in a process lock mutexes that later ones do not, which would change the
    // history.
    static_cast<void>(call_within(std::chrono::seconds(10), [] {}));
    alignas(8) std::array<std::byte, 8> word{};
    static_cast<void>(initiator::load_words_guarded(word.data(), word));
    std::ranges::fill(arena.memory(), std::byte()); // as in a new part
    Simulation simulation(arena, options);
    return simulation.run();
}

} // namespace rpmem::simulation::sessions

// Replaces the function of the library, which would start ssh.
rpmem::Result<std::unique_ptr<rpmem::initiator::Channel>>
rpmem::initiator::start_channel(const Target& /*target*/, const std::string& /*command*/,
                                bool /*force_ipv4*/, const Settings& /*settings*/,
                                const Deadline& /*deadline*/) {
    return rpmem::simulation::sessions::Simulation::current()->log_in();
}
