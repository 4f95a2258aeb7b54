// SPDX-License-Identifier: BSD-3-Clause
// latency TARGET ADDRESS
//
// Measures rpmem_persist() over verbs, in turn with an RDMA write followed by a read of bare
// libfabric. Prints rows of a table with the median in microseconds and the median quotient of the
// rounds, and in brackets those of the fastest rounds. It fails only if an operation fails.
#include "common/transport/fabric/endpoint.hpp"
#include "tests/vm/program.hpp"

#include <chrono>
#include <functional>

namespace {

using namespace rpmem;
using namespace rpmem::vm;
using fabric::Access;
using EventKind = fabric::ConnectionEvent::Kind;

constexpr std::chrono::minutes test_timeout(1);
constexpr fabric::QueueSizes queues{16, 16};

template <typename Value>
Result<> put(Value& place, Result<Value> value) {
    if (!value)
        return Failure(value.error());
    place = std::move(*value);
    return {};
}

template <typename Value>
Result<> put(std::unique_ptr<Value>& place, Result<Value> value) {
    if (!value)
        return Failure(value.error());
    place = std::make_unique<Value>(std::move(*value));
    return {};
}

// Waits for the next event of one end. OTHER must not have an event before, but it makes progress
// only when it is read.
Result<fabric::ConnectionEvent> await(const fabric::EventQueue& events, EventKind kind,
                                      const fabric::EventQueue* other = nullptr) {
    constexpr std::chrono::milliseconds turn(10);
    const Deadline deadline(test_timeout);
    while (!deadline.passed()) {
        if (other)
            if (auto event = other->read(); !event || *event)
                break;
        RPMEM_ASSIGN(auto event, events.wait(Deadline(turn), -1));
        if (event && event->kind == kind)
            return std::move(*event);
        if (event)
            break;
    }
    return fail(ErrorClass::link_lost, ECONNREFUSED, "the bare connection was not made");
}

// A connection of the process with itself, whose passive end does nothing. It shows the time of an
// RDMA write and a read without the library and the daemon.
class BareFabric {
public:
    static Result<std::unique_ptr<BareFabric>> open(const std::string& address) {
        std::unique_ptr<BareFabric> bare(new BareFabric);
        RPMEM_TRY(bare->set_up(address));
        return bare;
    }

    // Writes SIZE bytes and then reads a word. Returns false if that fails.
    [[nodiscard]] bool write_and_read(std::size_t size) {
        void* const descriptor = source_region_.descriptor();
        const fabric::RemoteAddress remote{target_region_.remote_base(), target_region_.key()};
        std::byte* const bounce_buffer = source_.get() + memory_size - sizeof(std::uint64_t);
        if (here_end_.post_write(source_.get(), size, descriptor, remote, nullptr) != 0 ||
            here_end_.post_read(bounce_buffer, sizeof(std::uint64_t), descriptor, remote,
                                nullptr) != 0)
            return false;
        std::array<fabric::Completion, 2> entries;
        for (int done = 0; done < 2;) {
            const int got = here_completions_.read(entries);
            if (got < 0)
                return false;
            done += got;
        }
        return true;
    }

private:
    BareFabric() = default;
    Result<> set_up(const std::string& address) {
        using fabric::ProviderKind;
        RPMEM_TRY(put(there_, fabric::find_to_listen(ProviderKind::verbs, address, "0", queues)));
        RPMEM_TRY(put(there_domain_, fabric::open_domain(there_)));
        RPMEM_TRY(put(target_region_, fabric::register_memory(there_domain_, there_, target_.get(),
                                                              memory_size, Access::remote)));
        RPMEM_TRY(put(there_events_, fabric::EventQueue::open(there_domain_)));
        RPMEM_TRY(put(there_completions_, fabric::CompletionQueue::open(
                                              there_domain_, fabric::completions_of(there_, 1))));
        RPMEM_TRY(
            put(listener_, fabric::PassiveEndpoint::listen(there_domain_, there_, *there_events_)));

        const std::string port = std::to_string(listener_->port());
        RPMEM_TRY(put(here_, fabric::find_to_connect(ProviderKind::verbs, address, port, queues)));
        RPMEM_TRY(put(here_domain_, fabric::open_domain(here_)));
        RPMEM_TRY(put(source_region_, fabric::register_memory(here_domain_, here_, source_.get(),
                                                              memory_size, Access::local)));
        RPMEM_TRY(put(here_events_, fabric::EventQueue::open(here_domain_)));
        RPMEM_TRY(put(here_completions_, fabric::CompletionQueue::open(
                                             here_domain_, fabric::completions_of(here_, 1))));
        return connect();
    }
    Result<> connect() {
        RPMEM_TRY(put(here_end_, fabric::Endpoint::open(here_domain_, here_.info.get(),
                                                        *here_events_, here_completions_)));
        RPMEM_TRY(here_end_.connect(here_.info->dest_addr));
        RPMEM_ASSIGN(auto request, await(*there_events_, EventKind::requested, here_events_.get()));
        RPMEM_TRY(put(there_end_, fabric::Endpoint::open(there_domain_, request.info.get(),
                                                         *there_events_, there_completions_)));
        RPMEM_TRY(there_end_.accept());
        RPMEM_TRY(await(*here_events_, EventKind::connected));
        RPMEM_TRY(await(*there_events_, EventKind::connected));
        return {};
    }

    static constexpr std::size_t memory_size = std::size_t{64} * 1024;
    std::unique_ptr<std::byte[]> source_ = std::make_unique<std::byte[]>(memory_size);
    std::unique_ptr<std::byte[]> target_ = std::make_unique<std::byte[]>(memory_size);
    fabric::Provider here_{};
    fabric::Provider there_{};
    fabric::Domain here_domain_;
    fabric::Domain there_domain_;
    fabric::MemoryRegion source_region_;
    fabric::MemoryRegion target_region_;
    std::unique_ptr<fabric::EventQueue> here_events_;
    std::unique_ptr<fabric::EventQueue> there_events_;
    fabric::CompletionQueue here_completions_;
    fabric::CompletionQueue there_completions_;
    std::unique_ptr<fabric::PassiveEndpoint> listener_;
    fabric::Endpoint here_end_;
    fabric::Endpoint there_end_;
};

constexpr std::size_t pool_size = std::size_t{8} << 20;
constexpr std::size_t offset = 4096; // after the header
constexpr unsigned rounds = 11;
constexpr unsigned repetitions = 100; // in each round

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double least(const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
}

double microseconds_of(const std::function<bool()>& operation) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> samples;
    for (unsigned i = 0; i < repetitions; ++i) {
        const auto begin = Clock::now();
        if (!operation())
            die("an operation failed", rpmem_errormsg());
        samples.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    return median(std::move(samples));
}

RPMEMpool* create(const char* target, void* local) {
    unsigned lanes = 1;
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "LATENCY", 7);
    RPMEMpool* const pool = rpmem_create(target, "pool.set", local, pool_size, &lanes, &attributes);
    if (!pool)
        die("rpmem_create", rpmem_errormsg());
    return pool;
}

void measure(RPMEMpool* pool, BareFabric& bare, std::size_t size, unsigned flags) {
    const auto ours = [&] { return rpmem_persist(pool, offset, size, 0, flags) == 0; };
    const auto limit = [&] { return bare.write_and_read(size); };
    std::vector<double> our_times;
    std::vector<double> limits;
    std::vector<double> quotients;
    static_cast<void>(microseconds_of(limit)); // warms up
    static_cast<void>(microseconds_of(ours));
    for (unsigned round = 0; round < rounds; ++round) {
        limits.push_back(microseconds_of(limit));
        our_times.push_back(microseconds_of(ours));
        quotients.push_back(our_times.back() / limits.back());
    }
    std::printf("| %s, %s, %zu B | %.0f (%.0f) | %.0f (%.0f) | %.2f (%.2f) |\n",
                std::getenv("RPMEM_LATENCY_METHOD"), flags == 0 ? "strict" : "relaxed", size,
                median(our_times), least(our_times), median(limits), least(limits),
                median(quotients), least(our_times) / least(limits));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        die("usage", "latency TARGET ADDRESS");
    std::byte* const local = local_memory(pool_size, 1);
    RPMEMpool* const pool = create(argv[1], local);
    auto bare = BareFabric::open(argv[2]);
    if (!bare)
        die("bare libfabric", bare.error().text.c_str());
    for (const std::size_t size : {std::size_t{64}, std::size_t{4096}})
        for (const unsigned flags : {unsigned{RPMEM_PERSIST_RELAXED}, 0U})
            measure(pool, **bare, size, flags);
    return rpmem_close(pool);
}
