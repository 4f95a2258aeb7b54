// SPDX-License-Identifier: BSD-3-Clause
// The messages of the lane handshake, in which both ends prove that they know the secret of the
// session. No input or output. docs/transport.md, "Who may connect", documents the format.
// proof_ends.hpp has the order of the messages.
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
inline constexpr std::string_view refusal_magic = "RPMEMNO1"; // instead of the second message
inline constexpr std::uint32_t newest_proof_format = 1;       // the digit of the magic

inline constexpr std::size_t first_message_size = 96;
inline constexpr std::size_t second_message_size = 72; // also a refusal
inline constexpr std::size_t third_message_size = 32;
using FirstMessage = std::array<std::byte, first_message_size>;
using SecondMessage = std::array<std::byte, second_message_size>;
using ThirdMessage = std::array<std::byte, third_message_size>;

using Nonce = std::array<std::byte, 32>;
using SessionId = std::array<std::byte, 8>;
// The connection request of a lane over libfabric contains a token. It is visible in the network
// and authenticates nobody, but unauthenticated connections without it get no memory.
using Token = std::array<std::byte, 16>; // the same type as wire::Token
using Transcript = Digest;
// Keying material exported from TLS with the label "EXPORTER-rpmem-lane-1". Zeros without TLS.
using Exporter = std::array<std::byte, 32>;

struct SessionKeys {
    Secret lane;
    Secret tls;      // the pre-shared key
    Secret takeover; // proves that a later session may take over the pool of this one
    SessionId id;    // public
    Token token;
};
[[nodiscard]] Result<SessionKeys> derive_keys(const Secret& secret);

// Hashes the messages of the control channel on which both ends have agreed. Each message contains
// its size, so different messages never give the same input.
[[nodiscard]] Result<Transcript> transcript_of(ByteView hello, ByteView answer, ByteView request,
                                               ByteView response);

// The keys and facts that all lanes of a session use in their handshake. It must not move or end
// during one.
struct ProofSession {
    SessionKeys keys;
    Transcript transcript;
    std::uint32_t lanes = 0;      // only used by the target
    std::uint64_t generation = 0; // see wire::LoginRequest
};

// The messages of the control channel before the lanes connect. The handshake of a lane covers
// them, so both ends must have seen the same ones.
class ControlTranscript {
public:
    // SECRET is the session secret in HELLO.
    [[nodiscard]] static Result<ControlTranscript> make(const wire::SessionSecret& secret,
                                                        ByteView hello, ByteView answer);
    ~ControlTranscript();
    ControlTranscript(ControlTranscript&&) = default;
    ControlTranscript& operator=(ControlTranscript&&) = default;

    // Adds CREATE or OPEN and its response.
    void add(ByteView request, ByteView response);
    // Returns what lanes need for their handshake. LANES is the number of lanes; only the target
    // uses it.
    [[nodiscard]] Result<ProofSession> prove_by(std::uint32_t lanes,
                                                std::uint64_t generation = 0) const;
    // Returns the takeover key of this session, which must be of generation 0.
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

[[nodiscard]] SecondMessage make_refusal(Refusal why, std::uint32_t number);

// Returns whether a message that begins with BEGIN may have MAGIC. Bytes after magic_size are
// ignored.
[[nodiscard]] bool may_be(std::string_view magic, ByteView begin);

} // namespace rpmem::transport
