// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/pool.hpp"

#include "tools/bench/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rpmem::bench {
namespace {

Result<Start> start_here(const Options& options, Opening opening, unsigned lanes) {
    RPMEM_ASSIGN(const auto pool, Pool::open(options, opening, lanes));
    if (pool->lanes() < lanes)
        return fail(ErrorClass::resource_limit, EDQUOT, "the pool has {} lanes, not {}",
                    pool->lanes(), lanes);
    const Clock::time_point ready = Clock::now();
    RPMEM_TRY(pool->use_lanes(lanes));
    return Start{.call = in_milliseconds(pool->opening_time()),
                 .use = in_milliseconds(Clock::now() - ready)};
}

} // namespace

Failure library_failure(const std::string& what) {
    const int code = errno;
    return fail(ErrorClass::target_refused, code, "{}: {}", what, rpmem_errormsg());
}

Result<> remove_pool(const Options& options) {
    if (rpmem_remove(options.target.c_str(), options.pool_set.c_str(), 0) != 0)
        return library_failure("removing " + options.pool_set);
    return {};
}

Result<Start> start_once(const Options& options, Opening opening, unsigned lanes) {
    RPMEM_ASSIGN(const OtherProcess process, start_process([&](int asked) {
                     (void)send(asked, start_here(options, opening, lanes));
                 }));
    Result<Start> start = receive<Start>(process.socket.get(), start_timeout);
    wait_for(process);
    return start;
}

Result<std::unique_ptr<Pool>> Pool::open(const Options& options, Opening opening, unsigned lanes) {
    std::unique_ptr<Pool> pool(new Pool(options, opening));
    RPMEM_ASSIGN(pool->memory_, Mapping::memory(options.pool_size()));
    const auto memory = pool->memory_.bytes();
    const char* const target = options.target.c_str();
    const char* const pool_set = options.pool_set.c_str();
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "BENCH", sizeof("BENCH"));
    attributes.major = 1;
    pool->lanes_ = lanes;
    const std::set<pid_t> before = daemons_now();
    const Clock::time_point begin = Clock::now();
    pool->handle_ =
        opening == Opening::opens
            ? rpmem_open(target, pool_set, memory.data(), memory.size(), &pool->lanes_, nullptr)
            : rpmem_create(target, pool_set, memory.data(), memory.size(), &pool->lanes_,
                           &attributes);
    pool->opening_time_ = Clock::now() - begin;
    if (pool->handle_ == nullptr)
        return library_failure(fmt::format("{} on {}", pool_set, target));
    pool->daemon_ = only_new_since(before);
    return pool;
}

Pool::~Pool() {
    if (handle_ == nullptr)
        return;
    // A failure here does not affect the results.
    (void)rpmem_close(handle_);
    if (opening_ == Opening::creates_for_itself)
        (void)remove_pool(options_);
}

Result<> Pool::use_lanes(unsigned lanes) const {
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (rpmem_persist(handle_, pool_header_size, 64, lane, 0) != 0)
            return library_failure(fmt::format("the first use of lane {}", lane));
    return {};
}

Result<> Pool::perform(const Operation& operation, unsigned lane) const {
    const std::size_t size = operation.size;
    const std::size_t offset = pool_header_size + lane * operation.bytes();
    int status = 0;
    switch (operation.kind) {
    case OperationKind::persist:
        status = rpmem_persist(handle_, offset, size, lane,
                               operation.relaxed ? RPMEM_PERSIST_RELAXED : 0);
        break;
    case OperationKind::deep_persist:
        status = rpmem_deep_persist(handle_, offset, size, lane);
        break;
    case OperationKind::flush:
        for (unsigned i = 0; i < flushes_before_drain && status == 0; ++i)
            status = rpmem_flush(handle_, offset + i * size, size, lane,
                                 operation.relaxed ? RPMEM_FLUSH_RELAXED : 0);
        if (status == 0)
            status = rpmem_drain(handle_, lane, 0);
        break;
    case OperationKind::read:
        status = rpmem_read(handle_, memory_.bytes().data() + offset, offset, size, lane);
        break;
    }
    if (status != 0)
        return library_failure(fmt::format("an operation of {} bytes at {}", size, offset));
    return {};
}

Result<Round> Pool::measure(const Measurement& measurement) const {
    if (daemon_ != 0) {
        const bool apart = places_ends(measurement.lanes);
        place(::getpid(), Side::asking, apart, allowed_);
        place(daemon_, Side::answering, apart, allowed_);
    }
    return measure_round(measurement.lanes, [&](unsigned lane) {
        return repeat(measurement.pace, [&] { return perform(measurement.operation, lane); });
    });
}

} // namespace rpmem::bench
