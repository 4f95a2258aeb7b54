// SPDX-License-Identifier: BSD-3-Clause
// The number of lanes to request from a target, and the check of its response.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "librpmem/lanes/provider_choice.hpp"
#include "librpmem/settings/settings.hpp"

#include <cstddef>
#include <optional>

namespace rpmem::initiator {

// Returns the number of lanes to request: WANTED by the application, or less if the provider, the
// settings, the target or a limit on descriptors allow only fewer. HELLO is empty for a target of
// protocol 0.1.
unsigned lanes_to_ask(unsigned wanted, const ProviderChoice& choice, const Settings& settings,
                      const std::optional<wire::Hello>& hello);

// The values of the request that the response is checked against.
struct RequestedPool {
    std::size_t size;
    unsigned lanes;
    wire::Provider provider;
};
// Checks the values that the lanes will use, because a target may send any. Fails with EBADMSG.
Result<> check_answer(const wire::InBandAttributes& in_band, const RequestedPool& asked,
                      const wire::Agreement& agreement);

} // namespace rpmem::initiator
