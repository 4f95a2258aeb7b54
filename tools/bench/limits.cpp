#include "tools/bench/limits.hpp"

#include "tools/bench/asking.hpp"
#include "tools/bench/limit_messages.hpp"

#include <cerrno>

namespace rpmem::bench {

Result<Limits> Limits::start(const Options& options) {
    RPMEM_ASSIGN(UniqueFd control,
                 start_process([&](const UniqueFd& asked) { serve_limits(asked.get(), options); }));
    return Limits(std::move(control));
}

Result<std::uint64_t> Limits::ask(const LimitTask& task) const {
    RPMEM_TRY(send_message(control_.get(), task));
    RPMEM_ASSIGN(const Reply reply, receive_reply(control_.get(), longest_measurement));
    return reply.value;
}

Result<> Limits::connect() const {
    RPMEM_TRY(ask({.kind = LimitKind::connection}));
    return {};
}

Result<Samples> Limits::measure(const LimitTask& task) const {
    RPMEM_TRY(send_message(control_.get(), task));
    return receive_samples(control_.get(), longest_measurement);
}

Result<std::uint64_t> Limits::daemon_memory() const {
    return ask({.kind = LimitKind::daemon_memory});
}

Result<> Limits::let_strangers_come(const sockaddr_storage& lanes_at) const {
    RPMEM_TRY(ask({.kind = LimitKind::strangers_come, .lanes_at = lanes_at}));
    return {};
}

Result<std::uint64_t> Limits::let_strangers_go() const {
    return ask({.kind = LimitKind::strangers_go});
}

} // namespace rpmem::bench
