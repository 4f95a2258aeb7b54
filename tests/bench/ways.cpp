// What one durable write costs with nothing but libfabric, each way that there is: from a process
// that asks to one that has the pool, over loopback, both spinning on a processor of their own.
#include "base/io.hpp"
#include "placement.hpp"
#include "samples.hpp"
#include "ways_ends.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::bench {
namespace {

// Threads that the provider has started before may run elsewhere.
void stay_on(Side side, const cpu_set_t& allowed) {
    const cpu_set_t chosen = processor_of(side, allowed);
    (void)sched_setaffinity(0, sizeof(chosen), &chosen);
}

// As in many applications. Locks are atomic then, and the kernel counts who uses a descriptor.
void have_another_thread() {
    std::thread([] {
        while (true)
            ::pause();
    }).detach();
}

// The process that answers, as long as this lives.
class Answering {
public:
    Answering(fabric::ProviderKind kind, const Pool& pool, std::size_t most, bool threaded)
        : sockets_(value_of(make_socket_pair())), pid_(::fork()) {
        require(pid_ >= 0, "cannot start a process");
        if (pid_ == 0)
            run(kind, pool, most, threaded);
        sockets_.theirs.reset();
    }
    ~Answering() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;

    [[nodiscard]] Introduction introduction() const {
        Introduction other{};
        const auto bytes = std::as_writable_bytes(std::span(&other, 1));
        require(value_of(read_fully(sockets_.ours.get(), bytes, Deadline(test::fabric_patience))) ==
                    bytes.size(),
                "the other process ended");
        return other;
    }

private:
    [[noreturn]] void run(fabric::ProviderKind kind, const Pool& pool, std::size_t most,
                          bool threaded) try {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (threaded)
            have_another_thread();
        AnsweringEnd end(kind, pool, most);
        const Introduction own = end.introduction();
        require(write_fully(sockets_.theirs.get(), std::as_bytes(std::span(&own, 1)),
                            Deadline(test::fabric_patience)));
        end.accept();
        stay_on(Side::answering, allowed_processors());
        end.serve();
    } catch (const std::exception& error) {
        fmt::print(stderr, "ways_to_persist: the process with the pool: {}\n", error.what());
        std::_Exit(EXIT_FAILURE);
    }

    SocketPair sockets_;
    pid_t pid_;
};

struct Options {
    std::string providers = "net,tcp";
    unsigned rounds = 11;
    std::chrono::milliseconds time{10};
    std::vector<std::size_t> sizes{64, 4096, 65536, 1048576};
    bool threaded = false;
};

// Of each way; nothing of those that the provider does not offer.
std::array<Rounds, way_count> measure(AskingEnd& end, const Options& options, std::size_t size) {
    std::array<bool, way_count> offered{};
    std::array<Rounds, way_count> measured;
    for (std::size_t way = 0; way < way_count; ++way) {
        Samples warm_up;
        offered[way] = end.offers(ways[way]) && end.persist(ways[way], size, warm_up.nanoseconds);
        if (offered[way])
            end.check_arrived(size);
    }
    for (unsigned round = 0; round < options.rounds; ++round)
        for (std::size_t way = 0; way < way_count; ++way) {
            if (!offered[way])
                continue;
            Samples samples;
            for (const Deadline deadline(options.time);
                 samples.nanoseconds.empty() || !deadline.passed();)
                require(end.persist(ways[way], size, samples.nanoseconds), "a way is refused now");
            end.check_arrived(size);
            measured[way].push_back(std::move(samples));
        }
    return measured;
}

void print_row(const std::array<Rounds, way_count>& measured, std::size_t size) {
    fmt::print("| {} B |", size);
    for (const Rounds& rounds : measured)
        if (rounds.empty())
            fmt::print(" not offered |");
        else
            fmt::print(" {:.2f} ({:.2f}) |", summarise(rounds).median,
                       share_by_median(rounds, measured[0]));
    fmt::print("\n");
}

fabric::ProviderKind kind_of(const std::string& providers) {
    return providers == "verbs"     ? fabric::ProviderKind::verbs
           : providers == "sockets" ? fabric::ProviderKind::sockets
                                    : fabric::ProviderKind::tcp;
}

void run(const Options& options) {
    // Libfabric has no others then. It is loaded after the fork, by each process for itself.
    require(::setenv("FI_PROVIDER", options.providers.c_str(), 1) == 0, "setenv");
    const fabric::ProviderKind kind = kind_of(options.providers);
    const std::size_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
    const Pool pool;
    const Answering answering(kind, pool, most, options.threaded);
    if (options.threaded)
        have_another_thread();
    AskingEnd end(kind, pool, answering.introduction(), most);
    stay_on(Side::asking, allowed_processors());
    fmt::print("Provider: {}; median in microseconds (and how many times that of the first)\n\n",
               fabric::describe(end.provider));
    fmt::print("| size | {} |\n|---|", fmt::join(names_of_ways, " | "));
    for (std::size_t way = 0; way < way_count; ++way)
        fmt::print("---|");
    fmt::print("\n");
    for (const std::size_t size : options.sizes)
        print_row(measure(end, options, size), size);
}

} // namespace
} // namespace rpmem::bench

int main(int argc, char** argv) try {
    CLI::App app("What a durable write costs with bare libfabric, each way that there is");
    rpmem::bench::Options options;
    unsigned milliseconds = 10;
    app.add_option("--provider", options.providers, "libfabric's names, with commas between");
    app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
    app.add_option("--time", milliseconds, "milliseconds of each way in a round");
    app.add_option("--sizes", options.sizes, "bytes, with commas between")
        ->delimiter(',')
        ->check(CLI::Range(sizeof(rpmem::bench::Answer), rpmem::bench::pool_size));
    app.add_flag("--threaded", options.threaded, "each process has another thread, which sleeps");
    CLI11_PARSE(app, argc, argv);
    options.time = std::chrono::milliseconds(milliseconds);
    rpmem::bench::run(options);
} catch (const std::exception& error) {
    fmt::print(stderr, "ways_to_persist: {}\n", error.what());
    return EXIT_FAILURE;
}
