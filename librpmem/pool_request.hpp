// SPDX-License-Identifier: BSD-3-Clause
// The request of this end to a target, and the checks of the answer.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "librpmem/lanes/provider_choice.hpp"
#include "librpmem/settings/settings.hpp"

#include <cstddef>
#include <optional>

namespace rpmem::initiator {

// WANTED: by the application. HELLO: nothing for a peer of protocol 0.1.
unsigned lanes_to_ask(unsigned wanted, const ProviderChoice& choice, const Settings& settings,
                      const std::optional<wire::Hello>& hello);

// The request for a pool.
struct RequestedPool {
    std::size_t size;
    unsigned lanes;
    wire::Provider provider;
};
// The target is not to be trusted with what the lanes will use. EBADMSG.
Result<> check_answer(const wire::InBandAttributes& in_band, const RequestedPool& asked,
                      const wire::Agreement& agreement);

} // namespace rpmem::initiator
