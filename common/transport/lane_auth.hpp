// SPDX-License-Identifier: BSD-3-Clause
// The messages of the lane handshake, in which both ends prove that they know the secret of the
// session. No input or output. docs/transport.md, "Who may connect", documents the format.
// lane_auth_ends.hpp has the order of the messages.
#pragma once

#include "common/transport/control_transcript.hpp"
#include "common/transport/crypto.hpp"
#include "common/transport/refusal.hpp"
#include "common/wire/control_messages.hpp"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace rpmem::transport {

inline constexpr std::size_t magic_size = 8;
inline constexpr std::string_view lane_magic = "RPMEMLN1";    // first and second message
inline constexpr std::string_view refusal_magic = "RPMEMNO1"; // instead of the second message
inline constexpr std::uint32_t newest_proof_format = 1;       // the digit of the magic

inline constexpr std::size_t first_message_size = 96;
inline constexpr std::size_t second_message_size = 72; // also a refusal
inline constexpr std::size_t third_message_size = 32;
using FirstMessage = std::array<std::byte, first_message_size>;
using SecondMessage = std::array<std::byte, second_message_size>;
using ThirdMessage = std::array<std::byte, third_message_size>;

using Nonce = std::array<std::byte, 32>;
// Keying material exported from TLS with the label "EXPORTER-rpmem-lane-1". Zeros without TLS.
using Exporter = std::array<std::byte, 32>;

struct LaneIdentity {
    std::uint32_t lane = 0;
    std::uint64_t generation = 0;
    wire::Provider transport = wire::Provider::tcp; // not in the first message

    bool operator==(const LaneIdentity&) const = default;
};

// The values that the second and the third message authenticate.
struct ProofFacts {
    LaneIdentity identity;
    Nonce initiator{};
    Nonce target{};
    Exporter exporter{};
};

template <typename T>
using Proved = tl::expected<T, Refused>;

// The following functions do not throw, and only libcrypto allocates in them. check_*() accept any
// bytes. make_*() fail only if libcrypto has no memory.
[[nodiscard]] Proved<FirstMessage> make_first(const ProofSession& session,
                                              const LaneIdentity& identity, const Nonce& nonce);
// Returns all facts except the target's nonce and the exporter.
[[nodiscard]] Proved<ProofFacts> check_first(const ProofSession& session, wire::Provider transport,
                                             ByteView message);

[[nodiscard]] Proved<SecondMessage> make_second(const ProofSession& session,
                                                const ProofFacts& facts);
// Returns FACTS with the target's nonce.
[[nodiscard]] Proved<ProofFacts> check_second(const ProofSession& session, ProofFacts facts,
                                              ByteView message);

[[nodiscard]] Proved<ThirdMessage> make_third(const ProofSession& session, const ProofFacts& facts);
[[nodiscard]] Proved<void> check_third(const ProofSession& session, const ProofFacts& facts,
                                       ByteView message);

[[nodiscard]] SecondMessage make_refusal(RefusalCode why, std::uint32_t number);

// Returns whether a message that begins with BEGIN may have MAGIC. Bytes after magic_size are
// ignored.
[[nodiscard]] bool may_be(std::string_view magic, ByteView begin);

} // namespace rpmem::transport
