// SPDX-License-Identifier: BSD-3-Clause
// The attributes that rpmem_set_attr() was given while the replica was away (RPMEM_ON_LOSS=alone).
// They are in the record of this machine before the call returns, and the target gets them before
// the join, or when the next session opens the pool.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "librpmem/replica/equalizer.hpp"

#include <librpmem.h>

#include <functional>
#include <mutex>
#include <optional>

namespace rpmem::initiator {

class KeptAttributes {
public:
    using Send = std::function<Result<>(const rpmem_pool_attr&)>; // to the target

    // EQUALIZER has the record. It must outlive this object.
    KeptAttributes(Equalizer& equalizer, Log log) : equalizer_(equalizer), log_(std::move(log)) {}

    // Sends ATTRIBUTES. If that fails with ENOTCONN, because the replica is away, stores them.
    [[nodiscard]] Result<> set(const rpmem_pool_attr& attributes, const Send& send);
    // Sends what is kept, then calls JOIN. No set() comes between them. Attributes that the target
    // refuses (EINVAL) are logged and dropped. Otherwise the replica would never be in sync again.
    [[nodiscard]] Result<bool> join(const Send& send, const std::function<Result<bool>()>& join);
    // Sends the attributes that an earlier session has kept, if any. Returns them if the target has
    // accepted them.
    [[nodiscard]] Result<std::optional<rpmem_pool_attr>> send_earlier(const Send& send);

private:
    [[nodiscard]] Result<> send_kept(const Send& send);
    void forget();

    Equalizer& equalizer_;
    Log log_;
    std::mutex mutex_;
    std::optional<rpmem_pool_attr> kept_; // what the record of this machine has
};

} // namespace rpmem::initiator
