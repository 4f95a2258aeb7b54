// What the two ends of a new session agree on, and what of the target's answer is believed.
#pragma once

#include "base/result.hpp"
#include "base/settings.hpp"
#include "fabric/provider.hpp"
#include "wire/control_messages.hpp"
#include "wire/hello.hpp"

#include <cstddef>
#include <optional>

namespace rpmem {

// HELLO everywhere: nothing for a peer of protocol 0.1.

// What lanes must bring; nothing: they are connected in their order.
std::optional<wire::Token> lane_token(const std::optional<wire::Hello>& hello);

// WANTED: by the application.
unsigned lanes_to_ask(unsigned wanted, const fabric::Provider& provider, const Settings& settings,
                      const std::optional<wire::Hello>& hello);

// The target is not to be trusted with what the lanes will use. SIZE: of the pool; ASKED: lanes.
// EBADMSG.
Result<> check_answer(const wire::InBandAttributes& in_band, std::size_t size, unsigned asked,
                      const std::optional<wire::Hello>& hello);

} // namespace rpmem
