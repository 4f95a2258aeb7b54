#include "tools/bench/pool.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace rpmem::bench {

rpmem_pool_attr pool_attributes() {
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "BENCH", sizeof("BENCH"));
    attributes.major = 1;
    return attributes;
}

Failure library_failure(const std::string& what) {
    const int code = errno;
    return fail(ErrorClass::target_refused, code, "{}: {}{}", what, rpmem_errormsg(),
                code == EEXIST ? ". Name a pool set that has no pool yet: the benchmark makes and "
                                 "removes its own"
                               : "");
}

Result<> remove_pool(const Options& options) {
    if (rpmem_remove(options.target.c_str(), options.pool_set.c_str(), 0) != 0)
        return library_failure("removing " + options.pool_set);
    return {};
}

Result<> use_lanes(RPMEMpool* pool, unsigned lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (rpmem_persist(pool, pool_header_size, 64, lane, 0) != 0)
            return library_failure(fmt::format("the first use of lane {}", lane));
    return {};
}

Result<std::unique_ptr<Pool>> Pool::create(const Options& options, unsigned lanes) {
    std::unique_ptr<Pool> pool(new Pool(options));
    RPMEM_ASSIGN(pool->memory_, Mapping::memory(options.pool_size(), Pages::touched));
    RPMEM_ASSIGN(pool->read_, Mapping::memory(options.pool_size(), Pages::touched));
    pool->lanes_ = lanes;
    const rpmem_pool_attr attributes = pool_attributes();
    const std::set<pid_t> before = daemons_now();
    pool->handle_ =
        rpmem_create(options.target.c_str(), options.pool_set.c_str(), pool->memory_.bytes().data(),
                     pool->memory_.bytes().size(), &pool->lanes_, &attributes);
    if (pool->handle_ == nullptr)
        return library_failure("creating " + options.pool_set + " on " + options.target);
    pool->daemon_ = only_new_since(before);
    return pool;
}

Pool::~Pool() {
    if (handle_ == nullptr)
        return;
    // A failure now changes nothing of what was measured.
    (void)rpmem_close(handle_);
    (void)remove_pool(options_);
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
        status = rpmem_read(handle_, read_.bytes().data() + offset, offset, size, lane);
        break;
    }
    if (status != 0)
        return library_failure(fmt::format("an operation of {} bytes at {}", size, offset));
    return {};
}

Result<Round> Pool::measure(const Measurement& measurement) const {
    if (daemon_ != 0) {
        const bool apart = places_ends(measurement.lanes);
        place_itself(Side::asking, apart, allowed_);
        place_daemon(daemon_, apart, allowed_);
    }
    return measure_round(measurement.lanes, [&](unsigned lane) {
        return repeat(measurement.pace, [&] { return perform(measurement.operation, lane); });
    });
}

} // namespace rpmem::bench
