#include "tools/bench/pool.hpp"

#include "tools/bench/daemons.hpp"
#include "tools/bench/placement.hpp"
#include "tools/bench/repeat.hpp"
#include "tools/bench/threads.hpp"

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

Result<> remove_pool(const PoolPlace& place) {
    if (rpmem_remove(place.target.c_str(), place.pool_set.c_str(), 0) != 0)
        return library_failure("removing " + place.pool_set);
    return {};
}

Result<std::unique_ptr<Pool>> Pool::create(const PoolPlace& place, unsigned lanes) {
    RPMEM_ASSIGN(Buffer memory, Buffer::make(place.size, Pages::touched));
    RPMEM_ASSIGN(Buffer read, Buffer::make(place.size, Pages::touched));
    std::unique_ptr<Pool> pool(new Pool(place, std::move(memory)));
    pool->read_ = std::move(read);
    pool->lanes_ = lanes;
    const rpmem_pool_attr attributes = pool_attributes();
    const Daemons before = Daemons::now();
    pool->handle_ =
        rpmem_create(place.target.c_str(), place.pool_set.c_str(), pool->memory_.bytes().data(),
                     place.size, &pool->lanes_, &attributes);
    if (pool->handle_ == nullptr)
        return library_failure("creating " + place.pool_set + " on " + place.target);
    pool->daemon_ = Daemons::now().only_new_since(before);
    return pool;
}

Pool::~Pool() {
    if (handle_ == nullptr)
        return;
    // A failure now changes nothing of what was measured.
    (void)rpmem_close(handle_);
    (void)remove_pool(place_);
}

Result<> Pool::perform(const Operation& operation, std::size_t offset, unsigned lane) const {
    int status = 0;
    switch (operation.kind) {
    case OperationKind::persist:
        status = rpmem_persist(handle_, offset, operation.size, lane,
                               operation.relaxed ? RPMEM_PERSIST_RELAXED : 0);
        break;
    case OperationKind::flush:
        for (unsigned i = 0; i < operation.flushes && status == 0; ++i)
            status = rpmem_flush(handle_, offset + i * operation.size, operation.size, lane,
                                 operation.relaxed ? RPMEM_FLUSH_RELAXED : 0);
        if (status == 0)
            status = rpmem_drain(handle_, lane, 0);
        break;
    case OperationKind::read:
        status = rpmem_read(handle_, read_.bytes().data() + offset, offset, operation.size, lane);
        break;
    }
    if (status != 0)
        return library_failure(
            fmt::format("an operation of {} bytes at {}", operation.size, offset));
    return {};
}

Result<Samples> Pool::measure(const Measurement& measurement) const {
    Operation operation = measurement.operation;
    if (measurement.divided)
        operation.size /= measurement.lanes;
    const std::size_t space = operation.size * operation.flushes;
    const Apart apart(measurement.apart ? daemon_ : 0);
    const Nanoseconds other_cpu = cpu_time_of(daemon_);
    const auto work = [&](unsigned lane) {
        return repeat(measurement.duration, measurement.least,
                      [&] { return perform(operation, pool_header_size + lane * space, lane); });
    };
    RPMEM_ASSIGN(Samples samples, samples_of_threads(measurement.lanes, work));
    samples.other_cpu = cpu_time_of(daemon_) - other_cpu;
    if (measurement.divided)
        samples.nanoseconds = {static_cast<std::uint64_t>(samples.elapsed.count())};
    return samples;
}

Result<> Pool::use_lanes() const {
    for (unsigned lane = 0; lane < lanes_; ++lane)
        RPMEM_TRY(perform({OperationKind::persist, false, 64}, pool_header_size, lane));
    return {};
}

} // namespace rpmem::bench
