// SPDX-License-Identifier: BSD-3-Clause
// The name of an initiator, from LOGIN.
#pragma once

#include "common/transport/proof.hpp"
#include "common/wire/control_messages.hpp"
#include "rpmemd/registry/records.hpp"

#include <span>
#include <string>

namespace rpmem::target {

// Up to its NULs, for people.
[[nodiscard]] std::string text_of(std::span<const char> field);

// Of the session whose generation is 0: both ends derive the key of that one, and its initiator
// shows the key later.
[[nodiscard]] Result<Owner> owner_of(const wire::LoginRequest& request,
                                     const transport::ControlTranscript& transcript);

} // namespace rpmem::target
