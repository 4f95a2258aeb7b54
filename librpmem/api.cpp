// The C boundary: arguments in, errno and text out. Nothing is thrown past it.
#include "base/log.hpp"
#include "base/no_canary.hpp"
#include "base/settings.hpp"
#include "load_time.hpp"
#include "pool.hpp"
#include "session/remote_command.hpp"

#include <librpmem.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#define RPMEM_EXPORT extern "C" __attribute__((visibility("default")))

struct rpmem_pool {
    std::unique_ptr<rpmem::Pool> pool;
};

namespace {

using namespace rpmem;

// Without a destructor: it must be good in every thread, to the last moment.
thread_local char error_text[4096];

void set_error(int code, const char* text) {
    // Text that is too long is cut.
    static_cast<void>(std::snprintf(error_text, sizeof(error_text), "%s", text));
    errno = code;
}

Log open_log(const Settings& settings) {
    if (settings.log_level == LogLevel::none)
        return settings.warnings.empty() ? Log() : Log::to_stderr(LogLevel::warning);
    if (settings.log_file.empty())
        return Log::to_stderr(settings.log_level);
    std::string path = settings.log_file;
    if (path.ends_with('-'))
        path += std::to_string(::getpid());
    auto log = Log::to_file(path, settings.log_level);
    return log ? *log : Log::to_stderr(settings.log_level);
}

struct Library {
    Settings settings = read_settings(setting_from_environment);
    Log log = open_log(settings);
    std::atomic<std::size_t> next_command = 0;

    Library() {
        for (const std::string& warning : settings.warnings)
            log.warning("librpmem: {}", warning);
    }
};

// Made at the first create, open or remove; goes when the library is unloaded, by dlclose(3) too.
Library& library() {
    static Library instance;
    return instance;
}

const std::string& next_command() {
    Library& own = library();
    const auto& commands = own.settings.commands;
    return commands[own.next_command.fetch_add(1, std::memory_order_relaxed) % commands.size()];
}

int report(const Error& error) {
    set_error(error.code, error.text.c_str());
    return -1;
}

int report(const Result<>& result) { return result ? 0 : report(result.error()); }

// Runs BODY; anything that it throws becomes an error.
template <typename Body>
int guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        set_error(ENOMEM, "this process has no memory left for librpmem; does a limit (ulimit -v) "
                          "bound it?");
    } catch (const std::exception& exception) {
        set_error(EFAULT, exception.what());
    }
    return -1;
}

Failure bad_argument(const char* text) {
    return fail(ErrorClass::caller_fault, EINVAL, "{}", text);
}

// The environment of such a program belongs to a user with fewer rights, and librpmem starts the
// programs and reads the files that it names.
Result<> check_privileges() {
    if (::getauxval(AT_SECURE) == 0)
        return {};
    return fail(
        ErrorClass::caller_fault, EPERM,
        "librpmem does not work in a program that has more rights than the user who started "
        "it (set-user-ID, set-group-ID, file capabilities: AT_SECURE in getauxval(3)); "
        "start the program as a user who may do all that it does");
}

Result<> check_arguments(const char* target, const char* pool_set, const void* address,
                         std::size_t size, const unsigned* lanes) {
    RPMEM_TRY(check_privileges());
    if (!target || !pool_set)
        return bad_argument("the target and the pool set name must not be NULL");
    if (*pool_set == '\0')
        return bad_argument("the pool set name is empty");
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!address || reinterpret_cast<std::uintptr_t>(address) % page != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the pool's address {} is not a multiple of the page size of {} bytes", address,
                    page);
    if (size == 0 || size % page != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the pool's size of {} bytes is not a multiple of the page size of {} bytes",
                    size, page);
    if (!lanes || *lanes == 0)
        return bad_argument("the number of lanes must not be NULL or 0");
    return {};
}

PoolArguments arguments_of(const char* target, const char* pool_set, void* address,
                           std::size_t size, unsigned lanes) {
    return {target, pool_set, static_cast<std::byte*>(address), size, lanes, next_command()};
}

RPMEMpool* hand_out(Result<std::unique_ptr<Pool>> pool, const PoolArguments& arguments,
                    unsigned* lanes) {
    if (!pool) {
        library().log.error("{}:{}: {}", arguments.target, arguments.pool_set, pool.error().text);
        report(pool.error());
        return nullptr;
    }
    const unsigned in_force = (*pool)->lanes();
    library().log.write((*pool)->misses_device() ? LogLevel::warning : LogLevel::info,
                        fmt::format("{}:{}: {} lanes over {}", arguments.target, arguments.pool_set,
                                    in_force, (*pool)->way()));
    for (const std::string& warning : (*pool)->warnings())
        library().log.warning("{}:{}: {}", arguments.target, arguments.pool_set, warning);
    for (const std::string& note : (*pool)->notes())
        library().log.info("{}:{}: {}", arguments.target, arguments.pool_set, note);
    auto* handle = new rpmem_pool{std::move(*pool)};
    *lanes = in_force;
    return handle;
}

Result<> check_handle(const RPMEMpool* handle) {
    return handle ? Result<>() : bad_argument("the pool handle is NULL");
}

} // namespace

RPMEM_EXPORT RPMEMpool* rpmem_create(const char* target, const char* pool_set_name, void* pool_addr,
                                     size_t pool_size, unsigned* nlanes,
                                     const struct rpmem_pool_attr* create_attr) {
    RPMEMpool* handle = nullptr;
    guarded([&] {
        if (auto ok = check_arguments(target, pool_set_name, pool_addr, pool_size, nlanes); !ok)
            return report(ok);
        const PoolArguments arguments =
            arguments_of(target, pool_set_name, pool_addr, pool_size, *nlanes);
        handle = hand_out(Pool::create(arguments, create_attr ? *create_attr : rpmem_pool_attr{},
                                       library().settings),
                          arguments, nlanes);
        return 0;
    });
    return handle;
}

RPMEM_EXPORT RPMEMpool* rpmem_open(const char* target, const char* pool_set_name, void* pool_addr,
                                   size_t pool_size, unsigned* nlanes,
                                   struct rpmem_pool_attr* open_attr) {
    RPMEMpool* handle = nullptr;
    guarded([&] {
        if (auto ok = check_arguments(target, pool_set_name, pool_addr, pool_size, nlanes); !ok)
            return report(ok);
        const PoolArguments arguments =
            arguments_of(target, pool_set_name, pool_addr, pool_size, *nlanes);
        handle = hand_out(Pool::open(arguments, open_attr, library().settings), arguments, nlanes);
        return 0;
    });
    return handle;
}

RPMEM_EXPORT int rpmem_set_attr(RPMEMpool* rpp, const struct rpmem_pool_attr* attr) {
    return guarded([&] {
        if (auto ok = check_handle(rpp); !ok)
            return report(ok);
        return report(rpp->pool->set_attributes(attr ? *attr : rpmem_pool_attr{}));
    });
}

RPMEM_EXPORT int rpmem_close(RPMEMpool* rpp) {
    return guarded([&] {
        if (auto ok = check_handle(rpp); !ok)
            return report(ok);
        const std::unique_ptr<rpmem_pool> owned(rpp);
        // What it holds is the parent's: nothing of it may be touched, not even to free it.
        if (owned->pool->inherited()) {
            static_cast<void>(owned->pool.release());
            return 0;
        }
        return report(owned->pool->close());
    });
}

RPMEM_EXPORT RPMEM_NO_CANARY int rpmem_persist(RPMEMpool* rpp, size_t offset, size_t length,
                                               unsigned lane, unsigned flags) {
    return guarded([&] {
        return report(rpp ? rpp->pool->persist(offset, length, lane, flags) : check_handle(rpp));
    });
}

RPMEM_EXPORT int rpmem_deep_persist(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane) {
    return guarded([&] {
        return report(rpp ? rpp->pool->deep_persist(offset, length, lane) : check_handle(rpp));
    });
}

RPMEM_EXPORT int rpmem_flush(RPMEMpool* rpp, size_t offset, size_t length, unsigned lane,
                             unsigned flags) {
    return guarded([&] {
        return report(rpp ? rpp->pool->flush(offset, length, lane, flags) : check_handle(rpp));
    });
}

RPMEM_EXPORT int rpmem_drain(RPMEMpool* rpp, unsigned lane, unsigned flags) {
    return guarded([&] { return report(rpp ? rpp->pool->drain(lane, flags) : check_handle(rpp)); });
}

RPMEM_EXPORT int rpmem_read(RPMEMpool* rpp, void* buff, size_t offset, size_t length,
                            unsigned lane) {
    return guarded([&] {
        if (auto ok = check_handle(rpp); !ok)
            return report(ok);
        if (!buff && length > 0)
            return report(bad_argument("rpmem_read: the buffer is NULL"));
        return report(rpp->pool->read(static_cast<std::byte*>(buff), offset, length, lane));
    });
}

RPMEM_EXPORT int rpmem_remove(const char* target, const char* pool_set, int flags) {
    return guarded([&] {
        if (auto ok = check_privileges(); !ok)
            return report(ok);
        constexpr int known = RPMEM_REMOVE_FORCE | RPMEM_REMOVE_POOL_SET;
        if (!target || !pool_set || *pool_set == '\0')
            return report(bad_argument("the target and the pool set name must not be NULL or "
                                       "empty"));
        if ((flags & ~known) != 0)
            return report(
                Result<>(fail(ErrorClass::caller_fault, EINVAL,
                              "rpmem_remove: flags {:#x} are not known; {:#x} are",
                              static_cast<unsigned>(flags), static_cast<unsigned>(known))));
        const auto parsed = parse_target(target);
        if (!parsed)
            return report(parsed.error());
        return report(
            run_remote(*parsed,
                       remove_command(next_command(), pool_set, (flags & RPMEM_REMOVE_FORCE) != 0,
                                      (flags & RPMEM_REMOVE_POOL_SET) != 0),
                       library().settings));
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

RPMEM_EXPORT const char* rpmem_errormsg(void) { return error_text; }
