// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/kept_attributes.hpp"

#include "librpmem/pool_attributes.hpp"

#include <cerrno>
#include <utility>

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
    if (equalizer_.has_header() != has_header(attributes))
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_set_attr: the attributes are {}all zero, but the pool has {}",
                    has_header(attributes) ? "not " : "",
                    equalizer_.has_header() ? "headers" : "no headers");
    if (const auto stored = equalizer_.keep(attributes); !stored)
        return fail(ErrorClass::resource_limit, ENOTCONN,
                    "rpmem_set_attr: the target is away, and the attributes cannot be kept: {}",
                    stored.error().text);
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

// The target has these attributes, or newer ones.
void KeptAttributes::forget() {
    if (!std::exchange(kept_, std::nullopt))
        return;
    if (const auto forgotten = equalizer_.forget_attributes(); !forgotten)
        log_.error("{}: the next session may send the attributes again that rpmem_set_attr() was "
                   "given while the target was away: {}",
                   equalizer_.name(), forgotten.error().text);
}

} // namespace rpmem::initiator
