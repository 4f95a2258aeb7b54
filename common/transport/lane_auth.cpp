// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/lane_auth.hpp"

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstring>

namespace rpmem::transport {
namespace {

// The NUL that ends each label is hashed as well, so that no label is a prefix of another.
constexpr std::string_view first_label{"first\0", 6};
constexpr std::string_view target_label{"target\0", 7};
constexpr std::string_view initiator_label{"initiator\0", 10};
constexpr std::string_view facts_label{"rpmem proof 1\0", 14};

constexpr std::size_t first_signed_size = first_message_size - digest_size;
constexpr std::size_t facts_size =
    facts_label.size() + 1 + 4 + 8 + sizeof(Nonce) * 2 + sizeof(Transcript) + sizeof(Exporter);
constexpr std::size_t number_place = magic_size + 4; // in a refusal

// Writes little-endian fields into a message of fixed size, without an allocation.
class Fields {
public:
    explicit Fields(std::span<std::byte> to) : left_(to) {}

    template <std::unsigned_integral T>
    void number(T value) {
        for (std::size_t i = 0; i < sizeof(T); ++i)
            left_[i] = static_cast<std::byte>(value >> (8 * i));
        left_ = left_.subspan(sizeof(T));
    }
    void raw(ByteView bytes) {
        std::ranges::copy(bytes, left_.begin());
        left_ = left_.subspan(bytes.size());
    }

private:
    std::span<std::byte> left_;
};

template <std::unsigned_integral T>
T number_at(ByteView message, std::size_t place) {
    T value = 0;
    for (std::size_t i = sizeof(T); i > 0; --i)
        value = static_cast<T>(value << 8 | std::to_integer<T>(message[place + i - 1]));
    return value;
}

template <std::size_t Size>
std::array<std::byte, Size> array_at(ByteView message, std::size_t place) {
    std::array<std::byte, Size> bytes;
    std::ranges::copy(message.subspan(place, Size), bytes.begin());
    return bytes;
}

using NotProved = tl::unexpected<Refused>;

NotProved refuse(RefusalCode why, std::uint32_t number = 0) {
    return NotProved(Refused{.why = why, .number = number});
}

NotProved no_memory() { return refuse(RefusalCode::no_resources, ENOMEM); }

bool has_magic(std::string_view magic, ByteView message) {
    return message.size() >= magic_size && may_be(magic, message);
}

bool first_mac(const ProofSession& session, ByteView signed_part, Digest& mac) {
    return hmac_sha256(session.keys.lane.bytes(),
                       {bytes_of(first_label), session.transcript, signed_part}, mac);
}

// Returns the value T of rpmem-protocol(7).
std::array<std::byte, facts_size> encode(const ProofSession& session, const ProofFacts& facts) {
    std::array<std::byte, facts_size> bytes;
    Fields fields(bytes);
    fields.raw(bytes_of(facts_label));
    fields.number(static_cast<std::uint8_t>(facts.identity.transport));
    fields.number(facts.identity.lane);
    fields.number(facts.identity.generation);
    fields.raw(facts.initiator);
    fields.raw(facts.target);
    fields.raw(session.transcript);
    fields.raw(facts.exporter);
    return bytes;
}

Proved<Digest> facts_mac(std::string_view label, const ProofSession& session,
                         const ProofFacts& facts) {
    Digest mac;
    if (!hmac_sha256(session.keys.lane.bytes(), {bytes_of(label), encode(session, facts)}, mac))
        return no_memory();
    return mac;
}

Proved<void> check_mac(std::string_view label, const ProofSession& session, const ProofFacts& facts,
                       const Digest& claimed) {
    RPMEM_ASSIGN(const auto right, facts_mac(label, session, facts));
    if (!same_bytes(right, claimed))
        return refuse(RefusalCode::proof_wrong);
    return {};
}

} // namespace

Proved<FirstMessage> make_first(const ProofSession& session, const LaneIdentity& identity,
                                const Nonce& nonce) {
    FirstMessage message;
    Fields fields(message);
    fields.raw(bytes_of(lane_magic));
    fields.raw(session.keys.id);
    fields.number(identity.lane);
    fields.number(std::uint32_t{0});
    fields.number(identity.generation);
    fields.raw(nonce);
    Digest mac;
    if (!first_mac(session, ByteView(message).first(first_signed_size), mac))
        return no_memory();
    fields.raw(mac);
    return message;
}

Proved<ProofFacts> check_first(const ProofSession& session, wire::Provider transport,
                               ByteView message) {
    if (message.size() != first_message_size || !has_magic(lane_magic, message))
        return refuse(RefusalCode::another_format, newest_proof_format);
    if (array_at<sizeof(SessionId)>(message, 8) != session.keys.id)
        return refuse(RefusalCode::no_such_session);
    Digest mac;
    if (!first_mac(session, message.first(first_signed_size), mac))
        return no_memory();
    if (!same_bytes(mac, array_at<digest_size>(message, first_signed_size)))
        return refuse(RefusalCode::proof_wrong);
    // The message is authentic from here on, but a newer initiator may have sent it.
    if (number_at<std::uint32_t>(message, 20) != 0)
        return refuse(RefusalCode::another_format, newest_proof_format);
    const LaneIdentity identity{.lane = number_at<std::uint32_t>(message, 16),
                                .generation = number_at<std::uint64_t>(message, 24),
                                .transport = transport};
    if (identity.lane >= session.lanes)
        return refuse(RefusalCode::no_such_lane, session.lanes);
    if (identity.generation != session.generation)
        return refuse(RefusalCode::generation);
    return ProofFacts{.identity = identity, .initiator = array_at<sizeof(Nonce)>(message, 32)};
}

Proved<SecondMessage> make_second(const ProofSession& session, const ProofFacts& facts) {
    RPMEM_ASSIGN(const auto mac, facts_mac(target_label, session, facts));
    SecondMessage message;
    Fields fields(message);
    fields.raw(bytes_of(lane_magic));
    fields.raw(facts.target);
    fields.raw(mac);
    return message;
}

Proved<ProofFacts> check_second(const ProofSession& session, ProofFacts facts, ByteView message) {
    if (message.size() != second_message_size)
        return refuse(RefusalCode::another_format);
    if (has_magic(refusal_magic, message))
        return NotProved(
            Refused{.why = static_cast<RefusalCode>(number_at<std::uint32_t>(message, magic_size)),
                    .number = number_at<std::uint32_t>(message, number_place),
                    .by_peer = true});
    if (!has_magic(lane_magic, message))
        return refuse(RefusalCode::another_format);
    facts.target = array_at<sizeof(Nonce)>(message, magic_size);
    const auto mac = array_at<digest_size>(message, magic_size + sizeof(Nonce));
    return check_mac(target_label, session, facts, mac).map([&] { return facts; });
}

Proved<ThirdMessage> make_third(const ProofSession& session, const ProofFacts& facts) {
    return facts_mac(initiator_label, session, facts);
}

Proved<void> check_third(const ProofSession& session, const ProofFacts& facts, ByteView message) {
    if (message.size() != third_message_size)
        return refuse(RefusalCode::proof_wrong);
    return check_mac(initiator_label, session, facts, array_at<digest_size>(message, 0));
}

SecondMessage make_refusal(RefusalCode why, std::uint32_t number) {
    SecondMessage message{};
    Fields fields(message);
    fields.raw(bytes_of(refusal_magic));
    fields.number(static_cast<std::uint32_t>(why));
    fields.number(number);
    return message;
}

bool may_be(std::string_view magic, ByteView begin) {
    const std::size_t compared = std::min(begin.size(), magic_size);
    return std::ranges::equal(begin.first(compared), bytes_of(magic.substr(0, compared)));
}

} // namespace rpmem::transport
