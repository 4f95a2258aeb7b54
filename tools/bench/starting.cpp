#include "tools/bench/starting.hpp"

#include "common/base/child_process.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/pool.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

namespace rpmem::bench {
namespace {

double milliseconds_between(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

Result<Start> start_here(const Options& options, bool creates, unsigned lanes) {
    RPMEM_ASSIGN(const Mapping memory, Mapping::memory(options.pool_size(), Pages::untouched));
    void* const address = memory.bytes().data();
    const std::size_t size = memory.bytes().size();
    const char* const target = options.target.c_str();
    const char* const pool_set = options.pool_set.c_str();
    const rpmem_pool_attr attributes = pool_attributes();
    unsigned in_force = lanes;
    const Clock::time_point begin = Clock::now();
    RPMEMpool* const pool =
        creates ? rpmem_create(target, pool_set, address, size, &in_force, &attributes)
                : rpmem_open(target, pool_set, address, size, &in_force, nullptr);
    const Clock::time_point ready = Clock::now();
    if (pool == nullptr)
        return library_failure(fmt::format("{} {} on {}", creates ? "creating" : "opening",
                                           options.pool_set, options.target));
    if (in_force < lanes)
        return fail(ErrorClass::resource_limit, EDQUOT, "the pool has {} lanes, not {}", in_force,
                    lanes);
    RPMEM_TRY(use_lanes(pool, lanes));
    const Clock::time_point used = Clock::now();
    if (rpmem_close(pool) != 0)
        return library_failure("closing " + options.pool_set);
    return Start{.call = milliseconds_between(begin, ready),
                 .use = milliseconds_between(ready, used)};
}

} // namespace

Result<Start> start_once(const Options& options, bool creates, unsigned lanes) {
    RPMEM_ASSIGN(const OtherProcess process, start_process([&](int asked) {
                     (void)send(asked, start_here(options, creates, lanes));
                 }));
    Result<Start> start = receive<Start>(process.socket.get(), start_timeout);
    wait_for(process);
    return start;
}

Result<double> log_in_once(const std::string& target) {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Clock::time_point begin = Clock::now();
    RPMEM_ASSIGN(ChildProcess ssh, ChildProcess::start(ssh_words(target, "true"), nothing.get(),
                                                       nothing.get(), STDERR_FILENO));
    const auto status = ssh.wait(Deadline(start_timeout));
    const Clock::time_point end = Clock::now();
    if (!status || status->code != 0)
        return fail(ErrorClass::target_refused, EIO, "'ssh {} true' {}", target,
                    status ? status->text() : "does not end");
    return milliseconds_between(begin, end);
}

} // namespace rpmem::bench
