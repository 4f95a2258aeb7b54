// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/away_pool.hpp"

#include "tools/bench/pool.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace rpmem::bench {
namespace {

// The calls go round through call_blocks blocks of block_size bytes.
constexpr std::size_t block_size = std::size_t{64} << 10;
constexpr std::size_t call_blocks = 16;

// Limit for a run of rpmemctl, for a catch-up, and for the wait until another session has ended.
constexpr std::chrono::seconds timeout(60);

// Returns null if the library lacks the function. This program also measures earlier libraries, so
// it looks up newer functions at run time.
template <typename Function>
Function* function_of_library(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

auto* const replica_state =
    function_of_library<int(RPMEMpool*, rpmem_replica_state_info*)>("rpmem_replica_state");
auto* const wait_for_replica = function_of_library<int(RPMEMpool*, int)>("rpmem_wait_in_sync");

Result<> require_library() {
    if (replica_state != nullptr && wait_for_replica != nullptr)
        return {};
    return fail(ErrorClass::resource_limit, ENOTSUP,
                "this librpmem has no rpmem_replica_state(3), so it does not go on alone");
}

std::string memory_file(const AwayTask& task) { return task.directory + "/memory"; }

// Fills MEMORY with random bytes, so that every digest differs from that of zeros.
void fill(std::span<std::byte> memory) {
    std::mt19937_64 random(1); // NOLINT(cert-msc51-cpp): the same bytes in each run
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= memory.size();
         i += sizeof(std::uint64_t)) {
        const std::uint64_t word = random();
        std::memcpy(&memory[i], &word, sizeof(word));
    }
}

void invert(std::span<std::byte> memory) {
    for (std::byte& byte : memory)
        byte = ~byte;
}

Result<ChildProcess> start_ctl(std::vector<std::string> words, int output) {
    const char* const named = std::getenv("RPMEM_BENCH_CTL");
    words.insert(words.begin(), named && *named ? named : "rpmemctl");
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto started = ChildProcess::start(words, nothing.get(), output >= 0 ? output : nothing.get(),
                                       STDERR_FILENO);
    if (!started)
        return fail(ErrorClass::resource_limit, ENOTSUP,
                    "{} (RPMEM_BENCH_CTL is the path of rpmemctl)", started.error().text);
    return started;
}

// Tries again while the pool is busy, because the previous session may still be ending.
RPMEMpool* open_when_free(const AwayTask& task, std::span<std::byte> memory) {
    const auto end = Clock::now() + timeout;
    while (true) {
        unsigned lanes = 1;
        RPMEMpool* const handle = rpmem_open(task.target.c_str(), task.pool_set.c_str(),
                                             memory.data(), memory.size(), &lanes, nullptr);
        if (handle != nullptr || errno != EBUSY || Clock::now() >= end)
            return handle;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

} // namespace

Result<> AwayPool::require_handle() const {
    if (handle_ == nullptr)
        return library_failure(fmt::format("{} on {}", task_.pool_set, task_.target));
    return {};
}

Result<std::unique_ptr<AwayPool>> AwayPool::create(const AwayTask& task) {
    RPMEM_TRY(require_library());
    std::unique_ptr<AwayPool> pool(new AwayPool(task));
    RPMEM_ASSIGN(pool->memory_, Mapping::file(memory_file(task), task.pool_size));
    const auto memory = pool->memory_.bytes();
    fill(memory);
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "BENCH", sizeof("BENCH"));
    attributes.major = 1;
    unsigned lanes = 1;
    pool->handle_ = rpmem_create(task.target.c_str(), task.pool_set.c_str(), memory.data(),
                                 memory.size(), &lanes, &attributes);
    RPMEM_TRY(pool->require_handle());
    return pool;
}

Result<std::unique_ptr<AwayPool>> AwayPool::open(const AwayTask& task) {
    RPMEM_TRY(require_library());
    std::unique_ptr<AwayPool> pool(new AwayPool(task));
    RPMEM_ASSIGN(pool->memory_, Mapping::existing_file(memory_file(task)));
    pool->handle_ = open_when_free(task, pool->memory_.bytes());
    RPMEM_TRY(pool->require_handle());
    return pool;
}

// A failure here does not affect the results.
AwayPool::~AwayPool() {
    if (handle_ != nullptr)
        (void)rpmem_close(handle_);
    if (removes_)
        (void)rpmem_remove(task_.target.c_str(), task_.pool_set.c_str(), RPMEM_REMOVE_FORCE);
}

// The file has no header, so only --force makes rpmemctl push it.
Result<double> AwayPool::push_file(const AwayTask& task) {
    const std::string file = memory_file(task);
    {
        RPMEM_ASSIGN(Mapping memory, Mapping::existing_file(file));
        invert(memory.bytes());
    }
    const std::string path = task.directory + "/push.json";
    const UniqueFd output(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot create {}", path);
    RPMEM_ASSIGN(
        ChildProcess ctl,
        start_ctl({"push", file, task.target, task.pool_set, "--force", "--json"}, output.get()));
    RPMEM_TRY(finish(ctl));
    std::ifstream text(path);
    const auto report = nlohmann::json::parse(text, nullptr, false);
    if (!report.is_object() || report.value("moved", std::size_t{0}) == 0)
        return fail(ErrorClass::resource_limit, EBADMSG, "rpmemctl push has moved nothing");
    return report.value("seconds", 0.0) * 1e3;
}

Result<double> AwayPool::persist_all() {
    const Clock::time_point begin = Clock::now();
    if (rpmem_persist(handle_, pool_header_size, task_.pool_size - pool_header_size, 0, 0) != 0)
        return library_failure("a persist of the whole pool");
    return in_milliseconds(Clock::now() - begin);
}

std::byte* AwayPool::store_next() {
    std::byte* const address =
        &memory_.bytes()[pool_header_size + calls_ % call_blocks * block_size];
    std::memcpy(address, &++calls_, sizeof(calls_));
    return address;
}

Result<> AwayPool::persist_next() {
    const auto offset = static_cast<std::size_t>(store_next() - memory_.bytes().data());
    if (rpmem_persist(handle_, offset, call_size, 0, 0) != 0)
        return library_failure(fmt::format("a persist of {} bytes at {}", call_size, offset));
    return {};
}

Result<ChildProcess> AwayPool::steer(const std::string& verb, const std::string& value) const {
    std::vector<std::string> words{verb, fmt::format("{}:{}", ::getpid(), task_.pool_set)};
    if (!value.empty())
        words.push_back(value);
    return start_ctl(std::move(words), -1);
}

Result<> AwayPool::finish(ChildProcess& steering) {
    const auto status = steering.wait(Deadline(timeout));
    if (status && status->code == 0 && status->signal == 0)
        return {};
    return fail(ErrorClass::resource_limit, ECANCELED, "rpmemctl: {}",
                status ? status->text() : "no answer");
}

Result<> AwayPool::pause() {
    RPMEM_ASSIGN(ChildProcess steering, steer("pause"));
    return finish(steering);
}

Result<> AwayPool::limit_rate(std::uint64_t bytes_per_second) {
    RPMEM_ASSIGN(ChildProcess steering, steer("rate", std::to_string(bytes_per_second)));
    return finish(steering);
}

Result<ChildProcess> AwayPool::start_resume() const { return steer("resume"); }

Result<unsigned> AwayPool::state() const {
    rpmem_replica_state_info info{};
    info.version = RPMEM_REPLICA_STATE_VERSION;
    if (replica_state(handle_, &info) != 0)
        return library_failure("rpmem_replica_state");
    if (info.state == RPMEM_REPLICA_FAILED)
        return fail(ErrorClass::target_refused, EIO, "the replica has failed: {}",
                    static_cast<const char*>(info.reason));
    return info.state;
}

Result<> AwayPool::wait_in_sync() const {
    const auto limit = std::chrono::milliseconds(timeout).count();
    if (wait_for_replica(handle_, static_cast<int>(limit)) != 0)
        return library_failure("rpmem_wait_in_sync");
    return {};
}

} // namespace rpmem::bench
