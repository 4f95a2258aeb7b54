// SPDX-License-Identifier: BSD-3-Clause
// The identity of an initiator in LOGIN.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "common/wire/control_messages.hpp"
#include "rpmemd/registry/records.hpp"

#include <span>
#include <string>

namespace rpmem::target {

// Returns FIELD up to its first NUL for display: converted by printable(), and at most
// max_record_text bytes.
[[nodiscard]] std::string text_of(std::span<const char> field);

// Returns the hash of the takeover key. Both ends derive the key in the session of generation 0. In
// later generations the initiator presents it in REQUEST. Fails with EBADMSG if a request of
// generation 0 has a key, or a later one has none. Fails with ENOMEM if libcrypto cannot hash.
[[nodiscard]] Result<Owner> owner_of(const wire::LoginRequest& request,
                                     const transport::ControlTranscript& transcript);

} // namespace rpmem::target
