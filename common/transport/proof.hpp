// SPDX-License-Identifier: BSD-3-Clause
// The messages by which both ends of a lane prove to each other that they know the secret of its
// session. Functions of bytes only; docs/transport.md, "Who may connect", has the format. What
// comes first and what follows is in proof_ends.hpp.
#pragma once

#include "common/transport/crypto.hpp"
#include "common/transport/refusal.hpp"
#include "common/transport/secret.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace rpmem::transport {

inline constexpr std::size_t magic_size = 8;
inline constexpr std::string_view lane_magic = "RPMEMLN1";    // first and second message
inline constexpr std::string_view refusal_magic = "RPMEMNO1"; // in the place of the second message
inline constexpr std::uint32_t newest_proof_format = 1;       // the digit of the magic

inline constexpr std::size_t first_message_size = 96;
inline constexpr std::size_t second_message_size = 72; // and of a refusal
inline constexpr std::size_t third_message_size = 32;
using FirstMessage = std::array<std::byte, first_message_size>;
using SecondMessage = std::array<std::byte, second_message_size>;
using ThirdMessage = std::array<std::byte, third_message_size>;

using Nonce = std::array<std::byte, 32>;
using SessionId = std::array<std::byte, 8>;
// What a lane's connection request brings where the network has such: it is visible there, and
// proves nothing. It keeps strangers from taking memory.
using Token = std::array<std::byte, 16>; // as wire::Token
using Transcript = Digest;
// Of TLS, with the label "EXPORTER-rpmem-lane-1"; zeros without TLS.
using Exporter = std::array<std::byte, 32>;

struct SessionKeys {
    Secret lane;
    Secret tls;      // the pre-shared key
    Secret takeover; // for a session that takes over the pool of this one
    SessionId id;    // public
    Token token;
};
[[nodiscard]] Result<SessionKeys> derive_keys(const Secret& secret);

// What both ends have agreed on, as it crossed the control channel. Each message tells its size, so
// that no two agreements have the same bytes.
[[nodiscard]] Result<Transcript> transcript_of(ByteView hello, ByteView answer, ByteView request,
                                               ByteView response);

// What all lanes of a session prove themselves by. It stays where it is while one of them does.
struct ProofSession {
    SessionKeys keys;
    Transcript transcript;
    std::uint32_t lanes = 0;      // only the target needs it
    std::uint64_t generation = 0; // see wire::LoginRequest
};

// What the control channel of a session carried before its lanes connect. Lanes prove that both
// ends mean the same by it.
class ControlTranscript {
public:
    // SECRET: of the session, as HELLO brought it.
    [[nodiscard]] static Result<ControlTranscript> make(const wire::SessionSecret& secret,
                                                        ByteView hello, ByteView answer);
    ~ControlTranscript();
    ControlTranscript(ControlTranscript&&) = default;
    ControlTranscript& operator=(ControlTranscript&&) = default;

    // The request for the pool, and the response that gave it.
    void add(ByteView request, ByteView response);
    // LANES: that the session has; only the target needs it.
    [[nodiscard]] Result<ProofSession> prove_by(std::uint32_t lanes,
                                                std::uint64_t generation = 0) const;
    // The key by which later generations prove themselves, if this is the session of generation 0.
    [[nodiscard]] Result<Secret> takeover_key() const;

private:
    ControlTranscript(Secret secret, ByteView hello, ByteView answer);

    Secret secret_;
    std::array<wire::Bytes, 4> said_;
};

struct LaneIdentity {
    std::uint32_t lane = 0;
    std::uint64_t generation = 0;
    wire::Provider transport = wire::Provider::tcp; // not in the first message

    bool operator==(const LaneIdentity&) const = default;
};

// The subject of the second and the third message.
struct ProofFacts {
    LaneIdentity identity;
    Nonce initiator{};
    Nonce target{};
    Exporter exporter{};
};

template <typename T>
using Proved = tl::expected<T, Refused>;

// Nothing here throws or keeps memory. The checks take bytes of any kind and number; those that
// make a message fail only if libcrypto has no memory.
[[nodiscard]] Proved<FirstMessage> make_first(const ProofSession& session,
                                              const LaneIdentity& identity, const Nonce& nonce);
// Sets all but the target's nonce and the exporter.
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

[[nodiscard]] SecondMessage make_refusal(Refusal why, std::uint32_t number);

// Whether these first bytes of a message may still become MAGIC.
[[nodiscard]] bool may_be(std::string_view magic, ByteView begin);

} // namespace rpmem::transport
