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

Result<bool> KeptAttributes::join(const Send& send, const std::function<Result<bool>()>& join) {
    const std::lock_guard lock(mutex_);
    if (kept_) {
        RPMEM_TRY(send(*kept_));
        forget();
    }
    return join();
}

Result<std::optional<rpmem_pool_attr>> KeptAttributes::send_earlier(const Send& send) {
    const std::lock_guard lock(mutex_);
    const auto earlier = kept_ = equalizer_.kept_attributes();
    if (earlier) {
        RPMEM_TRY(send(*earlier));
        forget();
    }
    return earlier;
}

// If the record cannot be written, it still has the attributes, and later ones replace them.
void KeptAttributes::forget() {
    if (kept_ && equalizer_.keep(std::nullopt))
        kept_.reset();
}

} // namespace rpmem::initiator
