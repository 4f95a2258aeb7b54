#include "limits.hpp"

#include "limit_messages.hpp"
#include "limit_processes.hpp"

#include <cerrno>

namespace rpmem::bench {

Result<Limits> Limits::start(const std::string& provider, const std::string& medium) {
    Result<UniqueFd> control =
        start_process([&](const UniqueFd& asked) { serve_limits(asked, provider, medium); });
    if (!control)
        return propagate(std::move(control));
    return Limits(std::move(*control));
}

Result<Samples> Limits::measure(const LimitTask& task) const {
    const auto gone = [] {
        return fail(ErrorClass::bug, ECHILD, "the process of the raw measurements has ended");
    };
    if (!send_message(control_.get(), task))
        return gone();
    const auto reply = receive_message<Reply>(control_.get());
    if (!reply)
        return gone();
    RPMEM_TRY(result_of(*reply));
    Samples samples;
    samples.nanoseconds.resize(reply->samples);
    if (!receive_bytes(control_.get(), std::as_writable_bytes(std::span(samples.nanoseconds))))
        return gone();
    samples.elapsed = Nanoseconds(reply->elapsed);
    samples.own_cpu = Nanoseconds(reply->own_cpu);
    samples.other_cpu = Nanoseconds(reply->other_cpu);
    return samples;
}

} // namespace rpmem::bench
