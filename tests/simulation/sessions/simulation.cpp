// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/sessions/simulation.hpp"

#include "common/base/call_within.hpp"
#include "librpmem/session/start_channel.hpp"
#include "tests/simulation/sessions/client.hpp"
#include "tests/simulation/sessions/planted.hpp"

namespace rpmem::simulation::sessions {
namespace {

constexpr Time max_login = 300 * millisecond; // ssh, beside what the network takes

Time time_of(milliseconds time) { return static_cast<Time>(time.count()) * millisecond; }

class Simulation {
public:
    Simulation(Arena& arena, const Options& options)
        : world_(options.seed, arena.stacks, options.tells), system_(world_), threads_(world_),
          machine_(system_), plan_(plan_of(world_.random())),
          target_(machine_, plan_, arena.part, options.tells),
          model_(world_, plan_.lanes, target_.pool(), target_.durable(),
                 arena.memory().subspan(target::header_size)),
          initiator_(machine_.make_process("program")),
          intruder_(machine_.make_process("intruder")),
          log_(options.tells
                   ? Log::to_stderr("  library", LogLevel::debug, identity_of(STDERR_FILENO))
                   : Log()),
          memory_(arena.memory()), client_(world_, plan_, model_, memory_, log_,
                                           [this](const CallEnd& end) { return judge(end); }) {
        running = this;
        system_.become_current();
        system_.set_path(
            {.conditions = plan_.conditions, .opened = [this](Link& link) { is_opened(link); }});
        plant(options.planted);
        if (options.tells)
            tell(plan_);
    }
    ~Simulation() { running = nullptr; }
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    [[nodiscard]] static Simulation* current() { return running; }

    Outcome run() {
        world_.start("program", &initiator_, [this] {
            client_.run();
            machine_.end(initiator_);
        });
        for (const PlannedFault& fault : plan_.faults)
            world_.at(fault.at, [this, &fault] { happen(fault); });
        world_.run();
        check_end();
        outcome_.finding = world_.finding();
        outcome_.hash = world_.hash();
        outcome_.calls = client_.calls().made;
        outcome_.failed_calls = client_.calls().failed;
        outcome_.time = world_.now();
        return outcome_;
    }

    // As ssh: what goes wrong is told by the channel.
    Result<std::unique_ptr<initiator::Channel>> log_in() {
        if (world_.is_in_vacuum())
            return fail(ErrorClass::link_lost, ECONNRESET, "this process has ended");
        ++outcome_.logins;
        world_.note("logs in");
        Conditions conditions = plan_.conditions;
        conditions.partial = 0; // what a pipe takes at once
        conditions.capacity = std::size_t{64} * 1024;
        auto login = std::make_shared<Login>(Login{.input = &system_.make_link(conditions),
                                                   .output = &system_.make_link(conditions),
                                                   .error = &system_.make_link(conditions)});
        login->other_user = is_other_user_ && world_.process() == &intruder_;
        for (Link* const link : {login->input, login->output, login->error})
            is_opened(*link);
        logins_.push_back(login);
        const Time arrives = std::max(world_.now(), down_until_) + 6 * plan_.conditions.delay +
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
    void is_opened(Link& link) {
        links_.push_back(&link);
        if (world_.now() < down_until_)
            link.pause_until(down_until_);
        if (!target_.is_up())
            for (const Side side : {Side::initiator, Side::target})
                link.silence(side);
    }
    // Each of the connections that are there, with some chance; all of them, as often as not. What
    // ssh carries is one of them.
    template <typename Do>
    void on_links(Do action) {
        const unsigned chance = world_.random().chance(50) ? 100 : 50;
        for (Link* const link : links_)
            if (!is_login(*link) && world_.random().chance(chance))
                action(*link);
        for (const auto& login : logins_)
            if (world_.random().chance(chance))
                for (Link* const link : {login->input, login->output, login->error})
                    action(*link);
    }
    [[nodiscard]] bool is_login(const Link& link) const {
        return std::ranges::any_of(logins_, [&](const auto& login) {
            return &link == login->input || &link == login->output || &link == login->error;
        });
    }
    void happen(const PlannedFault& fault) {
        ++outcome_.faults[static_cast<std::size_t>(fault.fault)];
        world_.note(fault_names[static_cast<std::size_t>(fault.fault)]);
        last_fault_ = std::max(last_fault_, world_.now());
        switch (fault.fault) {
        case Fault::cut_lanes:
            return on_links([this](Link& link) {
                if (!is_login(link))
                    link.cut();
            });
        case Fault::cut_login:
            for (const auto& login : logins_)
                login->cut();
            return;
        case Fault::half_open:
            has_silence_ = true;
            return on_links([this, &fault](Link& link) {
                if (fault.toward_target)
                    link.silence(Side::initiator);
                if (fault.toward_initiator)
                    link.silence(Side::target);
                kernels_give_up(link);
            });
        case Fault::outage:
            lasts(fault);
            down_until_ = std::max(down_until_, world_.now() + fault.time);
            for (Link* const link : links_) {
                link->pause_until(down_until_);
                if (fault.time > time_of(plan_.peer_timeout))
                    kernels_give_up(*link);
            }
            return;
        case Fault::kill:
            if (Process* const daemon = target_.daemon())
                target_.kill(*daemon);
            return;
        case Fault::terminate:
            if (const Process* const daemon = target_.daemon())
                system_.send_signal(*daemon);
            return;
        case Fault::stop_target:
            if (Process* const daemon = target_.daemon())
                stop(*daemon, fault);
            return;
        case Fault::stop_initiator:
            return stop(initiator_, fault);
        case Fault::power_cut:
            return lose_power(fault);
        case Fault::disk_error:
            return machine_.disk().fail_next();
        case Fault::slow_disk:
            lasts(fault);
            return machine_.disk().slow_next(fault.time);
        case Fault::intruder:
            return intrude();
        case Fault::clock_jump: { // by less than a day, after which records are removed
            const auto hours = static_cast<std::int64_t>(world_.random().below(26));
            return machine_.set_clock((hours - 3) * 3600);
        }
        case Fault::count:
            return;
        }
    }
    // By TCP_USER_TIMEOUT and keepalive, which lanes have and ssh has not.
    void kernels_give_up(Link& link) {
        if (is_login(link))
            return;
        const Time limit = time_of(plan_.peer_timeout);
        for (const Side side : {Side::initiator, Side::target})
            world_.at(world_.now() + limit + world_.random().below(limit / 4),
                      [&link, side] { link.time_out(side); });
    }
    void lasts(const PlannedFault& fault) {
        last_fault_ = std::max(last_fault_, world_.now() + fault.time);
        sum_of_faults_ += fault.time;
    }
    void stop(Process& process, const PlannedFault& fault) {
        if (process.is_dead || process.is_stopped)
            return;
        lasts(fault);
        process.is_stopped = true;
        world_.at(world_.now() + fault.time, [this, &process] {
            if (process.is_dead || process.is_killed)
                return;
            process.is_stopped = false;
            world_.look_again_at(process);
        });
    }
    // Connections are forgotten there, and nobody is told before the machine is back.
    void lose_power(const PlannedFault& fault) {
        if (!target_.is_up())
            return;
        lasts(fault);
        target_.lose_power();
        model_.check_power_cut();
        for (Link* const link : links_)
            for (const Side side : {Side::initiator, Side::target})
                link->silence(side);
        const std::size_t lost = links_.size();
        world_.at(world_.now() + fault.time, [this, lost] {
            target_.get_power();
            for (std::size_t i = 0; i < lost; ++i)
                links_[i]->fail_sender();
        });
    }
    // Another program, perhaps as another user of the target: it has the pool when nobody has.
    void intrude() {
        if (intruder_.is_dead)
            return;
        another_asked_ = true;
        is_other_user_ = world_.random().chance(50);
        world_.start("intruder", &intruder_, [this] {
            {
                initiator::LinkThread heartbeats(wire::heartbeat_interval, initiator::beat_all);
                const auto opened = initiator::Pool::open(
                    {.target = "127.0.0.1",
                     .pool_set = world_.random().chance(50) ? pool_set : other_pool_set,
                     .address = memory_.data(),
                     .size = memory_.size(),
                     .lanes = 1,
                     .command = "rpmemd"},
                    nullptr, settings_of(plan_), {.log = log_, .heartbeats = &heartbeats});
                if (opened && !world_.is_in_vacuum()) {
                    world_.note("another initiator has the pool");
                    ++outcome_.takeovers;
                    if (client_.has_opened())
                        taken_at_ = std::min(taken_at_, world_.now());
                    world_.sleep(second);
                    static_cast<void>((*opened)->close());
                }
            }
            last_fault_ = std::max(last_fault_, world_.now());
        });
    }

    // What a call may end with, and when.
    [[nodiscard]] std::string judge(const CallEnd& end) {
        const Time now = world_.now();
        opened_at_ = std::min(opened_at_, end.began);
        const Time reconnecting = time_of(plan_.reconnect_timeout);
        const Time operation = time_of(plan_.operation_timeout);
        const Time bound = 2 * (reconnecting + operation) + time_of(plan_.connect_timeout) +
                           3 * operation + stopped_for() + 10 * second;
        if (now - end.began > bound || (is_noticed_soon() && now - end.began > soon()))
            return fmt::format("took {} ms", (now - end.began) / millisecond);
        model_.check_not_passed();
        if (!end.error)
            return end.began > taken_at_ && is_contact(end.name)
                       ? "succeeded, though another initiator has had the pool since"
                       : "";
        if (last_fault_ == 0)
            return "failed, and nothing was wrong";
        if (machine_.disk().has_failed() || reconnecting == 0 || another_asked_)
            return {};
        if (end.error->code == ETIMEDOUT) {
            max_try_ = never; // the pool is lost for all calls, and none tries to reconnect
            return may_time_out() ? "" : "timed out, without a cause";
        }
        if (end.error->code != ECONNRESET)
            return fmt::format("failed with {}", strerror(end.error->code));
        if (!has_closed_late(end))
            max_try_ = std::max(max_try_.value_or(0), now - end.began);
        // So long it may take behind the last fault until a try comes through. The first one may
        // have begun in the fault.
        const Time last_fault = std::max(last_fault_, machine_.disk().slow_until());
        const Time one_try = std::max(reconnecting / 3, 3 * second);
        const Time settles =
            std::min(2 * (time_of(plan_.connect_timeout) + operation), 2 * one_try) +
            time_of(plan_.target_peer_timeout) + 8 * second;
        if (has_closed_late(end) || now < last_fault + settles)
            return {};
        return fmt::format("gave up {} ms behind the last fault", (now - last_fault) / millisecond);
    }
    // A target that lives may leave a call without an answer for so long. Where nothing of a lane
    // is under way, keepalive takes longer than the least of operation time-outs.
    [[nodiscard]] bool may_time_out() const {
        const Time operation = time_of(plan_.operation_timeout);
        return sum_of_faults_ + second >= operation ||
               (has_silence_ && operation < 2 * time_of(plan_.peer_timeout));
    }
    // Nothing went wrong but that a peer or a connection was gone for good, once.
    [[nodiscard]] bool is_noticed_soon() const {
        constexpr std::array<Fault, 7> at_once{
            Fault::cut_lanes, Fault::cut_login,   Fault::half_open, Fault::kill,
            Fault::terminate, Fault::stop_target, Fault::clock_jump};
        return plan_.faults.size() == 1 &&
               std::ranges::find(at_once, plan_.faults[0].fault) != at_once.end() &&
               plan_.faults[0].at > opened_at_;
    }
    [[nodiscard]] Time soon() const { return time_of(plan_.peer_timeout) * 5 / 4 + 10 * second; }
    // rpmem_close() does not wait as long.
    [[nodiscard]] static bool has_closed_late(const CallEnd& end) {
        return std::string_view(end.name) == "rpmem_close";
    }
    // It cannot succeed without the target.
    [[nodiscard]] static bool is_contact(std::string_view name) {
        return name == "rpmem_persist" || name == "rpmem_deep_persist" || name == "rpmem_read";
    }
    [[nodiscard]] Time stopped_for() const {
        Time time = 0;
        for (const PlannedFault& fault : plan_.faults)
            time += fault.fault == Fault::stop_initiator ? fault.time : 0;
        return time;
    }
    void check_end() {
        if (!world_.finding().empty())
            return;
        target_.check_end();
        // Of the calls that fail together, one has tried from the beginning.
        if (max_try_ && *max_try_ < time_of(plan_.reconnect_timeout) - second)
            world_.find(fmt::format("calls gave up after {} ms", *max_try_ / millisecond));
        model_.check_power_cut();
        model_.check_not_passed();
    }

    static inline Simulation* running = nullptr;
    World world_;
    SimulatedSystem system_;
    Threads threads_;
    Machine machine_;
    Plan plan_;
    Target target_;
    Model model_;
    Process& initiator_;
    Process& intruder_;
    Log log_;
    std::span<std::byte> memory_;
    Client client_;
    std::vector<Link*> links_;
    std::vector<std::shared_ptr<Login>> logins_;
    Time down_until_ = 0;
    Time opened_at_ = never;
    std::optional<Time> max_try_; // of calls that gave up
    Time last_fault_ = 0;         // when it happened, or is over
    Time sum_of_faults_ = 0;      // that last
    bool has_silence_ = false;
    bool is_other_user_ = false; // the intruder
    bool another_asked_ = false; // for the pool: its daemon may have it, and it may not know
    Time taken_at_ = never;      // when another initiator had the pool
    Outcome outcome_;
};

} // namespace

Arena::Arena() {
    // Before all else, where DumpExclusion finds it first.
    void* const low = reinterpret_cast<void*>(std::uintptr_t{1} << 32);
    void* const place =
        ::mmap(low, used_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        throw std::runtime_error("no memory for a program");
    memory_ = {static_cast<std::byte*>(place), used_size};
}

Arena::~Arena() { ::munmap(memory_.data(), memory_.size()); }

Outcome simulate(Arena& arena, const Options& options) {
    // The first of a process locks a mutex that later ones do not, which would change the history.
    static_cast<void>(call_within(std::chrono::seconds(10), [] {}));
    Simulation simulation(arena, options);
    return simulation.run();
}

} // namespace rpmem::simulation::sessions

// In the place of the library's: no ssh, and no process.
rpmem::Result<std::unique_ptr<rpmem::initiator::Channel>>
rpmem::initiator::start_channel(const Target& /*target*/, const std::string& /*command*/,
                                bool /*force_ipv4*/, const Settings& /*settings*/,
                                const Deadline& /*deadline*/) {
    return rpmem::simulation::sessions::Simulation::current()->log_in();
}
