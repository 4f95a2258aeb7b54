// SPDX-License-Identifier: BSD-3-Clause
// Tests that each failure of a call to the system or to a library is handled. In each run, one call
// of the real library or daemon fails: see scenario.hpp. A crash, a hang, a sanitizer report, a
// lost promise, an error without errno and text, anything left open, or a pool that cannot be used
// again makes a test fail.
//   RPMEM_TEST_FAULTS_ALL=1     fail each call; default: one for each place that calls a function
//   RPMEM_TEST_FAULTS_EVERY=N   fail only the first call of each N-th function. These are the same
//                               functions in each run, and others in each scenario.
//   RPMEM_TEST_FAULTS_FROM=N    fail no call before the one with this number
//   RPMEM_TEST_FAULTS_ONLY=N    fail only the call with this number
//   RPMEM_TEST_FAULTS_TELL=1    report each run
#include "tests/faults/scenario.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

extern "C" {
__attribute__((weak)) void rpmem_count_calls(rpmem::faults::FailingCalls* calls);
__attribute__((weak)) int __lsan_do_recoverable_leak_check(); // in builds with ASan
}

namespace rpmem::faults {

inline void PrintTo(const ScenarioRow& row, std::ostream* out) { *out << row.name; }

namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds max_run(60);       // longer than all timeouts of a run together
constexpr std::chrono::seconds remarkable_run(4); // reported if a run takes longer
constexpr std::chrono::milliseconds look_interval(2);
constexpr int sanitizer_status = 99;
constexpr int of_signal = 128; // a shell adds this to the number of a signal
constexpr unsigned max_findings = 200;
constexpr std::uint64_t none_fails = UINT64_MAX;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool is_set(const char* name) { return number_from(name, 0) != 0; }

// Returns whether this signal means that a process has crashed.
bool is_crash(int signal) {
    constexpr int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    return std::ranges::find(crashes, signal) != std::end(crashes);
}

void write_script(const fs::path& path, const std::string& text) {
    std::ofstream(path) << "#!/bin/sh\n" << text << '\n';
    fs::permissions(path, fs::perms::owner_all);
}

class CountedFaults : public testing::TestWithParam<std::tuple<ScenarioRow, Side>> {
protected:
    CountedFaults() {
        place_.directory = temporary_.path();
        const int fd = ::open(calls_file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(fd, sizeof(FailingCalls)), 0);
        void* const memory =
            ::mmap(nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        EXPECT_NE(memory, MAP_FAILED);
        place_.calls = static_cast<FailingCalls*>(memory);
        EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); // adopts daemons without a parent
        write_files();
        set_environment();
    }
    ~CountedFaults() override { ::munmap(place_.calls, sizeof(FailingCalls)); }

    struct Outcome {
        bool has_failed;      // the call was made, and failed
        std::string failures; // error texts of failed calls of the API
        std::string story;
        std::string findings; // empty if there is none
        Clock::duration took;
    };
    // The call that fails: the first one from this site if it is not 0, else that with this number.
    struct Fault {
        std::uint64_t number;
        std::uint64_t site = 0;
    };
    Outcome run_with(const Fault& fault);
    std::vector<Fault> candidates();
    [[nodiscard]] std::vector<Fault> sample(std::uint64_t count, std::uint64_t step) const;
    bool examine(const Fault& fault);
    unsigned faults_ = 0;
    unsigned findings_ = 0;
    [[nodiscard]] ScenarioRow row() const { return std::get<0>(GetParam()); }
    [[nodiscard]] Side side() const { return std::get<1>(GetParam()); }

private:
    [[nodiscard]] fs::path calls_file() const { return place_.directory / "calls"; }
    void write_files() const;
    void set_environment() const;
    void prepare();
    // Returns the findings about the run and the end of its processes.
    std::string run_in_child(Scenario scenario, const Fault& fault);
    [[noreturn]] void be_child(Scenario scenario, std::uint64_t number) const;
    std::string wait_for(pid_t child) const;

    const test::TemporaryDirectory temporary_;
    Place place_;
};

// The script that replaces ssh behaves like ssh: killing it does not kill the command, and it exits
// with the status of the command.
void CountedFaults::write_files() const {
    const std::string here = place_.directory;
    std::ofstream(place_.directory / pool_set)
        << "PMEMPOOLSET\n2M " << here << "/part0\n2M " << here << "/part1\n";
    write_script(place_.directory / "ssh", "[ \"$1\" != -G ] || exit 1\n"
                                           "for command; do :; done\n"
                                           "SSH_CONNECTION='127.0.0.1 40000 127.0.0.1 22'\n"
                                           "PATH=" +
                                               here +
                                               "/bin:$PATH\n"
                                               "export SSH_CONNECTION PATH\n"
                                               "setsid sh -c \"$command\"\n"
                                               "status=$?\n"
                                               "echo $status >>" +
                                               place_.statuses().string() +
                                               "\n"
                                               "exit $status");
    fs::create_directory(place_.directory / "bin");
    write_script(place_.directory / "bin" / "rpmemd",
                 "echo $$ >>" + place_.daemons().string() + "\nexec " + RPMEMD_PATH +
                     " --config /dev/null --poolset-dir " + here + " --state-dir " +
                     place_.state().string() + " --log-file " + place_.daemon_log().string() +
                     " --accept-timeout 8000 --peer-timeout 8000 \"$@\"");
}

void CountedFaults::set_environment() const {
    const std::string ssh = place_.directory / "ssh";
    const std::string calls = calls_file();
    const std::pair<const char*, const char*> variables[] = {
        {"RPMEM_SSH", ssh.c_str()},           {variable, calls.c_str()},
        {"RPMEM_ENABLE_VERBS", "0"},          {"RPMEM_CONNECT_TIMEOUT", "8000"},
        {"RPMEM_OPERATION_TIMEOUT", "8000"},  {"RPMEM_PEER_TIMEOUT", "8000"},
        {"RPMEM_RECONNECT_TIMEOUT", "15000"}, {"RPMEM_RECONNECT_DELAY", "20"}};
    for (const auto& [name, value] : variables)
        ::setenv(name, value, 1);
}

void CountedFaults::be_child(Scenario scenario, std::uint64_t number) const {
    const int output =
        ::open(place_.output().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::close(output);
    if (number > 0 && side() == Side::client)
        rpmem_count_calls(place_.calls);
    run(scenario, place_, number);
    if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() != 0)
        ::_exit(sanitizer_status);
    ::_exit(0);
}

std::string CountedFaults::wait_for(pid_t child) const {
    std::string problems;
    const auto began = Clock::now();
    bool is_there = true;
    while (true) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, WNOHANG);
        if (ended < 0)
            break; // all have ended
        if (ended == 0) {
            std::this_thread::sleep_for(look_interval);
            if (Clock::now() - began < max_run)
                continue;
            ::kill(child, SIGKILL);
            std::ifstream daemons(place_.daemons());
            for (pid_t daemon = 0; daemons >> daemon;)
                ::kill(daemon, SIGKILL);
            if (is_there)
                problems += "the program hangs\n";
            is_there = false;
            continue;
        }
        const std::string who = ended == child ? "the program" : "a daemon";
        is_there = is_there && ended != child;
        if (WIFSIGNALED(status) && is_crash(WTERMSIG(status)))
            problems += who + " was ended by signal " + std::to_string(WTERMSIG(status)) + '\n';
        else if (WIFEXITED(status) && WEXITSTATUS(status) == sanitizer_status)
            problems += who + " has a report of a sanitizer\n";
    }
    return problems;
}

std::string CountedFaults::run_in_child(Scenario scenario, const Fault& fault) {
    for (const auto& file : {place_.daemons(), place_.statuses(), place_.daemon_log(),
                             place_.findings(), place_.story()})
        fs::remove(file);
    place_.calls->side = side();
    place_.calls->counts = false;
    place_.calls->count = 0;
    place_.calls->number = fault.number;
    place_.calls->site = fault.site;
    place_.calls->has_failed = false;
    std::memset(place_.calls->callers, 0, sizeof(place_.calls->callers));
    const pid_t child = ::fork();
    if (child == 0)
        be_child(scenario, fault.number);
    std::string problems = wait_for(child);
    std::ifstream statuses(place_.statuses());
    for (int status = 0; statuses >> status;) {
        if (is_crash(status - of_signal))
            problems += "a daemon has ended with status " + std::to_string(status) + '\n';
        if (status == sanitizer_status)
            problems += "a daemon has a report of a sanitizer\n";
    }
    return problems + test::read_file(place_.findings());
}

// Makes the pool exist or not exist, as the scenario needs it.
void CountedFaults::prepare() {
    const bool is_there = fs::exists(place_.part(0)) && fs::exists(place_.part(1));
    if (!row().needs_pool || !is_there)
        for (unsigned part = 0; part < parts; ++part)
            fs::remove(place_.part(part));
    if (row().needs_pool && !is_there) {
        ASSERT_EQ(run_in_child(Scenario::create, {.number = 0}), "");
    }
}

CountedFaults::Outcome CountedFaults::run_with(const Fault& fault) {
    prepare();
    const auto began = Clock::now();
    std::string findings = run_in_child(row().scenario, fault);
    const auto took = Clock::now() - began;
    std::string story =
        std::to_string(fault.number) + " of " + std::to_string(place_.calls->count) + ": ";
    if (place_.calls->has_failed)
        story += place_.calls->function;
    for (const auto& caller : place_.calls->callers)
        story += std::string(" ") + caller;
    std::string failures = test::read_file(place_.story());
    story += "\n" + failures;
    if (!findings.empty()) {
        story += "--- the program:\n" + test::read_file(place_.output()) + "--- the daemons:\n" +
                 test::read_file(place_.daemon_log());
        for (unsigned part = 0; part < parts; ++part) // they may be damaged
            fs::remove(place_.part(part));
    }
    return {place_.calls->has_failed, std::move(failures), std::move(story), std::move(findings),
            took};
}

// Returns the calls to fail, in the order of a run without a fault: the first call from each place,
// all calls, or a sample.
std::vector<CountedFaults::Fault> CountedFaults::candidates() {
    place_.calls->notes_places = true;
    const Outcome undisturbed = run_with({.number = none_fails});
    place_.calls->notes_places = false;
    EXPECT_EQ(undisturbed.findings, "") << undisturbed.story;
    EXPECT_EQ(undisturbed.failures, "");
    const std::uint64_t count = std::min(place_.calls->count.load(), max_calls);
    if (const std::uint64_t step = number_from("RPMEM_TEST_FAULTS_EVERY", 0); step > 0)
        return sample(count, step);
    const bool all = is_set("RPMEM_TEST_FAULTS_ALL");
    const std::uint64_t from = number_from("RPMEM_TEST_FAULTS_FROM", 1);
    std::set<std::uint64_t> places;
    std::vector<Fault> found;
    for (std::uint64_t number = 1; number <= count; ++number)
        if ((places.insert(place_.calls->places[number - 1]).second || all) && number >= from)
            found.push_back({.number = number});
    return found;
}

// The numbers of calls depend on how threads are scheduled. Sites do not.
std::vector<CountedFaults::Fault> CountedFaults::sample(std::uint64_t count,
                                                        std::uint64_t step) const {
    std::set<std::uint64_t> functions;
    std::vector<Fault> found;
    const auto scenario = static_cast<std::uint64_t>(row().scenario);
    for (std::uint64_t number = 1; number <= count; ++number) {
        const std::uint64_t site = place_.calls->sites[number - 1];
        if (functions.insert(function_of(site)).second &&
            functions.size() % step == scenario % step)
            found.push_back({.number = number, .site = site});
    }
    return found;
}

// Returns false if there is no such call.
bool CountedFaults::examine(const Fault& fault) {
    const Outcome outcome = run_with(fault);
    faults_ += outcome.has_failed ? 1 : 0;
    if (!outcome.findings.empty()) {
        ADD_FAILURE() << outcome.findings << outcome.story;
        ++findings_;
    }
    if (is_set("RPMEM_TEST_FAULTS_TELL") || outcome.took > remarkable_run)
        std::cout << std::chrono::duration_cast<std::chrono::milliseconds>(outcome.took).count()
                  << " ms: " << outcome.story << std::endl;
    return outcome.has_failed && findings_ < max_findings;
}

TEST_P(CountedFaults, EachIsToldAndLeavesNothingBehind) {
    ASSERT_NE(&rpmem_count_calls, nullptr) << "the library of failing calls is not preloaded";
    const std::uint64_t only = number_from("RPMEM_TEST_FAULTS_ONLY", 0);
    const auto faults = only > 0 ? std::vector{Fault{.number = only}} : candidates();
    for (const Fault& fault : faults)
        if (findings_ < max_findings)
            examine(fault);
    // Depending on the threads, a run may have more calls than the first one.
    if (is_set("RPMEM_TEST_FAULTS_ALL") && !faults.empty())
        for (auto next = faults.back().number + 1; examine({.number = next});)
            ++next;
    std::cout << faults_ << " faults of " << faults.size() << ", " << findings_ << " findings"
              << std::endl;
    // Some calls are not made in each run, for example a wait that was not needed.
    EXPECT_GE(2 * faults_, faults.size());
    EXPECT_FALSE(faults.empty());
}

std::string name_of(const testing::TestParamInfo<std::tuple<ScenarioRow, Side>>& test) {
    return std::string(std::get<0>(test.param).name) +
           (std::get<1>(test.param) == Side::client ? "_client" : "_daemon");
}

INSTANTIATE_TEST_SUITE_P(All, CountedFaults,
                         testing::Combine(testing::ValuesIn(scenarios),
                                          testing::Values(Side::client, Side::daemon)),
                         name_of);

} // namespace
} // namespace rpmem::faults
