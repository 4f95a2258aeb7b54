// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/kept_attributes.hpp"

#include <cerrno>

namespace rpmem::initiator {

Result<> KeptAttributes::set(const rpmem_pool_attr& attributes, const Send& send) {
    const std::lock_guard lock(mutex_);
    Result<> sent = send(attributes);
    if (sent) {
        forget();
        return {};
    }
    if (sent.error().code != ENOTCONN)
        return sent;
    RPMEM_TRY(in_context("rpmem_set_attr: the target is away", equalizer_.keep(attributes)));
    kept_ = attributes;
    return {};
}

// Removes the kept attributes, unless this fails.
Result<> KeptAttributes::send_kept(const Send& send) {
    if (!kept_)
        return {};
    const Result<> sent = send(*kept_);
    if (!sent && sent.error().code != EINVAL)
        return Result<>(Failure(sent.error()));
    if (!sent)
        log_.error("{}: the target refuses the attributes that rpmem_set_attr() was given while it "
                   "was away, and keeps its own: {}",
                   equalizer_.name(), sent.error().text);
    forget();
    return {};
}

Result<bool> KeptAttributes::join(const Send& send, const std::function<Result<bool>()>& join) {
    const std::lock_guard lock(mutex_);
    RPMEM_TRY(send_kept(send));
    return join();
}

Result<std::optional<rpmem_pool_attr>> KeptAttributes::send_earlier(const Send& send) {
    const std::lock_guard lock(mutex_);
    kept_ = equalizer_.kept_attributes();
    std::optional<rpmem_pool_attr> accepted;
    RPMEM_TRY(send_kept([&](const rpmem_pool_attr& attributes) {
        return send(attributes).map([&] { accepted = attributes; });
    }));
    return accepted;
}

// If the record cannot be written, the attributes stay kept, and the next join sends them again.
void KeptAttributes::forget() {
    if (kept_ && equalizer_.keep(std::nullopt))
        kept_.reset();
}

} // namespace rpmem::initiator
