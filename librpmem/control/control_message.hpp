// SPDX-License-Identifier: BSD-3-Clause
// The messages between rpmemctl and a program whose pool it steers. A connection carries one
// request and one answer. Each is one packet of a fixed size, so neither end waits for the rest of
// a message.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

enum class ControlVerb : std::uint32_t { pause, resume, rate };

struct ControlRequest {
    ControlVerb verb{};
    std::uint64_t rate = 0; // bytes per second; 0 for no limit, and with the other verbs
    std::string pool{};     // PoolFacts::name

    bool operator==(const ControlRequest&) const = default;
};

struct ControlAnswer {
    std::uint32_t code = 0; // an errno value; 0 if the request was carried out
    std::string text{};     // why it was not
};

inline constexpr std::size_t control_request_size = 536;
inline constexpr std::size_t control_answer_size = 1040;

// Truncate texts that do not fit.
[[nodiscard]] std::vector<std::byte> encode(const ControlRequest& request);
[[nodiscard]] std::vector<std::byte> encode(const ControlAnswer& answer);
// Fail with EPROTONOSUPPORT if the message has another version, and with EBADMSG if it is
// malformed.
[[nodiscard]] Result<ControlRequest> decode_control_request(std::span<const std::byte> bytes);
[[nodiscard]] Result<ControlAnswer> decode_control_answer(std::span<const std::byte> bytes);

} // namespace rpmem::initiator
