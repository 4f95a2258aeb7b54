// SPDX-License-Identifier: BSD-3-Clause
// The C interface. It checks arguments, turns errors into errno and a text, and lets no exception
// escape.
#include "common/base/escaping.hpp"
#include "common/base/hot.hpp"
#include "common/base/log.hpp"
#include "common/base/probes.hpp"
#include "common/wire/unsolicited.hpp"
#include "librpmem/connection/link_thread.hpp"
#include "librpmem/control/control_server.hpp"
#include "librpmem/library_log.hpp"
#include "librpmem/pool.hpp"
#include "librpmem/session/remote_command.hpp"
#include "librpmem/session/remote_removal.hpp"
#include "librpmem/settings/load_time.hpp"
#include "librpmem/settings/refusal.hpp"
#include "librpmem/settings/settings.hpp"
#include "librpmem/statistics/public_replica.hpp"
#include "librpmem/statistics/public_statistics.hpp"
#include "librpmem/uncancelled.hpp"

#include <librpmem.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>

#define RPMEM_EXPORT extern "C" __attribute__((visibility("default")))

struct rpmem_pool {
    rpmem_pool(std::unique_ptr<rpmem::initiator::Pool> its_pool, std::string its_name)
        : pool(std::move(its_pool)), name(std::move(its_name)) {}

    std::unique_ptr<rpmem::initiator::Pool> pool;
    std::string name;                           // for the log
    std::atomic<std::uint64_t> last_failure{0}; // kind and code, see report_failure()
};

namespace {

using namespace rpmem;
using namespace rpmem::initiator;

// An array without a destructor, so that it stays valid while the thread ends.
thread_local char error_text[4096];

void set_error(int code, const char* text) {
    put_printable(error_text, text, charset_of_locale()); // a target may have sent parts of it
    errno = code;
}

// A program may close its pools in a handler of atexit(3) that runs after ~Library().
constinit std::atomic<bool> library_is_gone = false;

struct Library {
    Settings settings = read_settings(setting_from_environment);
    Log log = open_log(settings);
    std::atomic<std::size_t> next_command = 0;
    ControlServer control;
    LinkThread heartbeats{wire::heartbeat_interval,
                          [this](auto links, auto& lock) { beat_and_serve(links, lock, control); }};

    Library() {
        if (settings.read_only)
            for (std::string& command : settings.commands)
                command += " --read-only";
        for (const std::string& warning : settings.warnings)
            log.error("{}", warning);
    }
    ~Library() { library_is_gone = true; }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
};

// Created at its first use. Destroyed at exit, or when dlclose(3) unloads the library.
Library& library() {
    static Library instance;
    return instance;
}

PoolServices services() {
    Library& own = library();
    return {.log = own.log, .heartbeats = &own.heartbeats, .control = &own.control};
}

const std::string& next_command() {
    Library& own = library();
    const auto& commands = own.settings.commands;
    return commands[own.next_command.fetch_add(1, std::memory_order_relaxed) % commands.size()];
}

// ABOUT names the target and the pool set, or the call.
int report(std::string_view about, const Error& error) {
    if (!library_is_gone)
        library().log.error_of_kind(kind_of(error.kind), fmt::format("{}: {}", about, error.text));
    set_error(error.code, error.text.c_str());
    return -1;
}

// Logs a failure of a pool only if the one before had another kind or code, because calls on a lost
// pool fail for the same reason. Invalid arguments are logged each time. Not inlined, because
// nearly every call succeeds.
[[gnu::noinline, gnu::cold]] int report_failure(RPMEMpool* handle, const Error& error) {
    if (!handle)
        return report("librpmem", error);
    const std::uint64_t failure =
        std::uint64_t{static_cast<unsigned>(error.kind)} << 32 | static_cast<unsigned>(error.code);
    if (error.kind == ErrorClass::caller_fault || handle->last_failure.exchange(failure) != failure)
        return report(handle->name, error);
    set_error(error.code, error.text.c_str());
    return -1;
}

int report(RPMEMpool* handle, const Result<>& result) {
    return result ? 0 : report_failure(handle, result.error());
}

// Runs BODY, and turns an exception into an error.
template <typename Body>
int guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        set_error(ENOMEM, "this process has no memory left for librpmem; does a limit (ulimit -v) "
                          "bound it?");
    } catch (const std::system_error& error) {
        set_error(error.code().value(), error.what());
    } catch (const std::exception& exception) {
        set_error(EFAULT, exception.what());
    }
    return -1;
}

// The unchecked arguments of rpmem_create() and rpmem_open().
struct GivenArguments {
    const char* target;
    const char* pool_set;
    void* address;
    std::size_t size;
    unsigned* lanes; // in: lanes that the caller wants; out: lanes of the pool
};

Result<> check_arguments(const GivenArguments& given) {
    const auto& [target, pool_set, address, size, lanes] = given;
    RPMEM_TRY(may_start_programs(setting_from_environment));
    if (!target || !pool_set)
        return invalid("the target and the pool set name must not be NULL");
    if (*pool_set == '\0')
        return invalid("the pool set name is empty");
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!address || reinterpret_cast<std::uintptr_t>(address) % page != 0)
        return invalid("the pool's address {} is not a multiple of the page size of {} bytes",
                       address, page);
    if (size == 0 || size % page != 0)
        return invalid("the pool's size of {} bytes is not a multiple of the page size of {} bytes",
                       size, page);
    if (!lanes || *lanes == 0)
        return invalid("the number of lanes must not be NULL or 0");
    return {};
}

// OPEN creates or opens the pool. Returns null if it fails.
template <typename Open>
RPMEMpool* hand_out(const GivenArguments& given, const Open& open) {
    const PoolArguments arguments{
        given.target, given.pool_set, static_cast<std::byte*>(given.address),
        given.size,   *given.lanes,   next_command()};
    std::string name = fmt::format("{}:{}", arguments.target, arguments.pool_set);
    Result<std::unique_ptr<Pool>> pool = open(arguments);
    if (!pool) {
        report(name, pool.error());
        return nullptr;
    }
    const unsigned in_force = (*pool)->lanes();
    const ConnectionFacts& facts = (*pool)->facts();
    library().log.line(facts.misses_device ? LogLevel::warning : LogLevel::info,
                       "{}: {} lanes over {}", name, in_force, facts.description);
    for (const std::string& warning : facts.warnings)
        library().log.warning("{}: {}", name, warning);
    for (const std::string& notice : facts.notices)
        library().log.error("{}: {}", name, notice);
    for (const std::string& note : facts.notes)
        library().log.info("{}: {}", name, note);
    auto handle = std::make_unique<rpmem_pool>(std::move(*pool), std::move(name));
    handle->pool->commit();
    *given.lanes = in_force;
    return handle.release();
}

template <typename Open>
RPMEMpool* checked(const char* call, const GivenArguments& given, const Open& open) noexcept {
    RPMEMpool* handle = nullptr;
    guarded([&] {
        const Uncancelled whole_call;
        if (auto ok = check_arguments(given); !ok)
            return report(call, ok.error());
        handle = hand_out(given, open);
        return 0;
    });
    return handle;
}

// AT_ONCE is the fast path, without a Result. If it returns false, CALL is the slow path.
template <typename AtOnce, typename Call>
int on_lane_of(RPMEMpool* handle, const AtOnce& at_once, const Call& call) noexcept {
    return guarded([&] {
        if (handle && at_once(*handle->pool)) [[likely]]
            return 0;
        const Uncancelled whole_call;
        return report(handle,
                      handle ? call(*handle->pool) : Result<>(invalid("the pool handle is NULL")));
    });
}

// Like on_lane_of(), without a fast path.
template <typename Call>
int on_pool(RPMEMpool* handle, const Call& call) noexcept {
    return on_lane_of(
        handle, [](Pool&) { return false; }, call);
}

} // namespace

RPMEM_EXPORT RPMEMpool* rpmem_create(const char* target, const char* pool_set_name, void* pool_addr,
                                     size_t pool_size, unsigned* nlanes,
                                     const struct rpmem_pool_attr* create_attr) {
    return checked("rpmem_create", {target, pool_set_name, pool_addr, pool_size, nlanes},
                   [&](const PoolArguments& arguments) {
                       return Pool::create(arguments,
                                           create_attr ? *create_attr : rpmem_pool_attr{},
                                           library().settings, services());
                   });
}

RPMEM_EXPORT RPMEMpool* rpmem_open(const char* target, const char* pool_set_name, void* pool_addr,
                                   size_t pool_size, unsigned* nlanes,
                                   struct rpmem_pool_attr* open_attr) {
    return checked("rpmem_open", {target, pool_set_name, pool_addr, pool_size, nlanes},
                   [&](const PoolArguments& arguments) {
                       return Pool::open(arguments, open_attr, library().settings, services());
                   });
}

RPMEM_EXPORT int rpmem_set_attr(RPMEMpool* rpp, const struct rpmem_pool_attr* attr) {
    return on_pool(
        rpp, [&](Pool& pool) { return pool.set_attributes(attr ? *attr : rpmem_pool_attr{}); });
}

RPMEM_EXPORT int rpmem_close(RPMEMpool* rpp) {
    const Uncancelled whole_call;
    std::unique_ptr<rpmem_pool> owned(rpp);
    const int status = on_pool(rpp, [&](Pool& pool) {
        if (!pool.inherited())
            return pool.close();
        // The lanes and the session belong to the parent, so the child must not destroy the pool.
        static_cast<void>(owned->pool.release());
        return Result<>();
    });
    const int code = errno;
    owned.reset();
    errno = code;
    return status;
}

RPMEM_EXPORT RPMEM_NO_CANARY int rpmem_persist(RPMEMpool* rpp, size_t offset, size_t length,
                                               unsigned lane, unsigned flags) {
    RPMEM_PROBE(librpmem, persist, lane, offset, length);
    const int status = on_lane_of(
        rpp, [&](Pool& pool) { return pool.persist_at_once(offset, length, lane, flags); },
        [&](Pool& pool) { return pool.persist(offset, length, lane, flags); });
    RPMEM_PROBE(librpmem, persist_done, lane, length, status);
    return status;
}

RPMEM_EXPORT int rpmem_deep_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane) {
    return on_pool(rpp, [&](Pool& pool) { return pool.deep_persist(offset, length, lane); });
}

RPMEM_EXPORT int rpmem_flush(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane,
                             unsigned flags) {
    return on_lane_of(
        rpp, [&](Pool& pool) { return pool.flush_at_once(offset, length, lane, flags); },
        [&](Pool& pool) { return pool.flush(offset, length, lane, flags); });
}

RPMEM_EXPORT int rpmem_drain(RPMEMpool* rpp, unsigned lane, unsigned flags) {
    RPMEM_PROBE(librpmem, drain, lane);
    const int status = on_pool(rpp, [&](Pool& pool) { return pool.drain(lane, flags); });
    RPMEM_PROBE(librpmem, drain_done, lane, status);
    return status;
}

RPMEM_EXPORT int rpmem_read(RPMEMpool* rpp, void* buff, size_t offset, size_t length,
                            unsigned lane) {
    return on_pool(rpp, [&](Pool& pool) -> Result<> {
        if (!buff && length > 0)
            return invalid("rpmem_read: the buffer is NULL");
        return pool.read(static_cast<std::byte*>(buff), offset, length, lane);
    });
}

RPMEM_EXPORT int rpmem_remove(const char* target, const char* pool_set, int flags) {
    return guarded([&] {
        const Uncancelled whole_call;
        if (auto ok = may_start_programs(setting_from_environment); !ok)
            return report("rpmem_remove", ok.error());
        constexpr int known = RPMEM_REMOVE_FORCE | RPMEM_REMOVE_POOL_SET;
        if (!target || !pool_set || *pool_set == '\0')
            return report(
                "rpmem_remove",
                invalid("the target and the pool set name must not be NULL or empty").value());
        if ((flags & ~known) != 0)
            return report("rpmem_remove",
                          invalid("flags {:#x} are not all supported; {:#x} are",
                                  static_cast<unsigned>(flags), static_cast<unsigned>(known))
                              .value());
        const std::string name = fmt::format("{}:{}", target, pool_set);
        const std::string command =
            remove_command(next_command(), pool_set, (flags & RPMEM_REMOVE_FORCE) != 0,
                           (flags & RPMEM_REMOVE_POOL_SET) != 0);
        const auto removed = parse_target(target).and_then(
            [&](const Target& parsed) { return run_removal(parsed, command, library().settings); });
        return removed ? 0 : report(name, removed.error());
    });
}

RPMEM_EXPORT const char* rpmem_check_version(unsigned major_required, unsigned minor_required) {
    if (major_required == RPMEM_MAJOR_VERSION && minor_required <= RPMEM_MINOR_VERSION)
        return nullptr;
    const char* const why =
        major_required != RPMEM_MAJOR_VERSION ? "another major version" : "an older minor version";
    static_cast<void>(std::snprintf(
        error_text, sizeof(error_text), "librpmem %u.%u is needed, and this is %d.%d: %s",
        major_required, minor_required, RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION, why));
    errno = EINVAL;
    return error_text;
}

RPMEM_EXPORT int rpmem_stats(RPMEMpool* rpp, struct rpmem_pool_stats* stats) {
    return on_pool(rpp, [&](Pool& pool) -> Result<> {
        if (!stats)
            return invalid("rpmem_stats: the statistics must not be NULL");
        if (stats->version != RPMEM_STATS_VERSION)
            return invalid("rpmem_stats: the version of the statistics is {}, expected {} "
                           "(RPMEM_STATS_VERSION)",
                           stats->version, RPMEM_STATS_VERSION);
        RPMEM_ASSIGN(const PoolSnapshot snapshot, pool.statistics());
        *stats = public_statistics(snapshot);
        return {};
    });
}

RPMEM_EXPORT int rpmem_replica_state(RPMEMpool* rpp, struct rpmem_replica_state_info* info) {
    return on_pool(rpp, [&](Pool& pool) -> Result<> {
        if (!info)
            return invalid("rpmem_replica_state: the structure must not be NULL");
        if (info->version != RPMEM_REPLICA_STATE_VERSION)
            return invalid("rpmem_replica_state: the version of the structure is {}, expected {} "
                           "(RPMEM_REPLICA_STATE_VERSION)",
                           info->version, RPMEM_REPLICA_STATE_VERSION);
        RPMEM_ASSIGN(const ReplicaReport replica, pool.replica_report());
        *info = public_replica_state(replica);
        return {};
    });
}

// A wait that has timed out is not logged, because a program may wait again and again.
RPMEM_EXPORT int rpmem_wait_in_sync(RPMEMpool* rpp, int timeout_ms) {
    return guarded([&] {
        const Uncancelled whole_call;
        const Result<> done = rpp ? rpp->pool->await_in_sync(std::chrono::milliseconds(timeout_ms))
                                  : Result<>(invalid("the pool handle is NULL"));
        if (done || done.error().code != ETIMEDOUT)
            return report(rpp, done);
        set_error(ETIMEDOUT, done.error().text.c_str());
        return -1;
    });
}

RPMEM_EXPORT const char* rpmem_errormsg(void) { return error_text; }
