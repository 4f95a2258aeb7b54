// SPDX-License-Identifier: BSD-3-Clause
// Sample messages for the tests of common/wire, and helpers that compare bytes. The fields of a
// message have different values, which also change in the other byte order. Therefore swapped
// fields or a wrong byte order change the encoding.
#pragma once

#include "common/wire/control_messages.hpp"
#include "common/wire/unsolicited.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>

#include <numeric>

namespace rpmem::wire::samples {

inline std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

template <std::size_t Size>
void count_up(unsigned char (&bytes)[Size], unsigned char first) {
    std::iota(std::begin(bytes), std::end(bytes), first);
}

inline PoolAttributes attributes() {
    PoolAttributes attributes{};
    std::ranges::copy(std::string_view("GOLDEN_1"), attributes.signature);
    attributes.major = 0x01020314;
    attributes.compat_features = 0x11223344;
    attributes.incompat_features = 2;
    attributes.ro_compat_features = 0x55667788;
    count_up(attributes.poolset_uuid, 0x10);
    count_up(attributes.uuid, 0x20);
    count_up(attributes.next_uuid, 0x30);
    count_up(attributes.prev_uuid, 0x40);
    count_up(attributes.user_flags, 0x50);
    return attributes;
}

inline CreateRequest create_request() {
    return {67108864, 4, Provider::sockets, 8192, attributes(), "pool.set"};
}
inline OpenRequest open_request() { return {67108864, 4, Provider::sockets, 8192, "pool.set"}; }

inline LoginRequest login_request() {
    LoginRequest request{.generation = 0x0102030405060708};
    std::ranges::generate(request.takeover, [next = 0x60]() mutable { return std::byte(next++); });
    std::ranges::copy(std::string_view("host"), request.host.begin());
    std::ranges::copy(std::string_view("user"), request.user.begin());
    return request;
}

inline PoolClaim pool_claim() {
    PoolClaim claim{.epoch = 0x1112131415161718, .generation = 0x191a1b1c1d1e1f20};
    std::ranges::generate(claim.id, [next = 1]() mutable { return std::byte(next++); });
    claim.parts.back() = std::byte{0xff};
    return claim;
}

inline PoolState pool_state() {
    PoolState state{.epoch = 0x2122232425262728,
                    .last_epoch = 0x292a2b2c2d2e2f30,
                    .behind_since = 0x3132333435363738,
                    .catching_up_since = 0x393a3b3c3d3e3f40,
                    .alone_since = 0x4142434445464748,
                    .accepted_epoch = 0x494a4b4c4d4e4f50,
                    .unchanged_for = 0x0000030304050607};
    std::ranges::generate(state.id, [next = 0x11]() mutable { return std::byte(next++); });
    state.parts.front() = std::byte{0xfe};
    return state;
}

inline InBandAttributes in_band() {
    return {0xb10d, PersistMethod::general_purpose, 0x0102030405060708, 0x7f1d26000000, 0x01020304};
}
inline CreateResponse create_response() { return {Status::success, in_band()}; }
inline OpenResponse open_response() { return {Status::success, in_band(), attributes()}; }

inline MediumFailure medium_failure() {
    return {"/pools/part0", 0x0102030405060000, 0x1000, 5, "msync: Input/output error"};
}

inline constexpr Agreement all_agreed{
    .medium_failure = true, .resume = true, .pool_claim = true, .compare = true};

// Decodes a whole message like a receiver: the header first, then the body.
inline Result<Request> receive_request(std::span<const std::byte> message) {
    RPMEM_ASSIGN(auto header, decode_request_header(
                                  message.first(std::min(message.size(), request_header_size))));
    return decode_request(header, message.subspan(request_header_size));
}

inline Bytes encode_any(const Request& request) {
    return std::visit([](const auto& message) { return encode(message); }, request);
}

// Decodes an unsolicited message like a receiver, and encodes the result again.
inline Result<Bytes> receive_unsolicited(std::span<const std::byte> message) {
    const auto header = message.first(std::min(message.size(), response_header_size));
    const auto type = unsolicited_type(header, all_agreed);
    if (!type)
        return fail(ErrorClass::target_refused, EBADMSG, "not an unsolicited message");
    RPMEM_ASSIGN(const auto size, decode_unsolicited_size(header));
    const auto body = message.subspan(response_header_size);
    if (body.size() != size)
        return fail(ErrorClass::target_refused, EBADMSG, "{} of {} bytes", body.size(), size);
    const auto again = [](const auto& decoded) { return encode(decoded); };
    if (type == MessageType::pool_claim)
        return decode_pool_claim(body).map(again);
    if (type == MessageType::pool_state)
        return decode_pool_state(body).map(again);
    return decode_medium_failure(body).map(again);
}

// Decodes a whole response like a receiver, and encodes the result again.
inline Result<Bytes> receive_response(MessageType expected, std::span<const std::byte> message) {
    if (expected == MessageType::medium_failure || expected == MessageType::pool_claim ||
        expected == MessageType::pool_state)
        return receive_unsolicited(message);
    RPMEM_ASSIGN(auto header,
                 decode_response_header(
                     message.first(std::min(message.size(), response_header_size)), expected));
    const auto body = message.subspan(response_header_size);
    const auto again = [](const auto& response) { return encode(response); };
    switch (expected) {
    case MessageType::create_response:
        return decode_response<CreateResponse>(header, body).map(again);
    case MessageType::open_response:
        return decode_response<OpenResponse>(header, body).map(again);
    case MessageType::close_response:
        return decode_response<CloseResponse>(header, body).map(again);
    case MessageType::set_replica_state_response:
        return decode_response<SetReplicaStateResponse>(header, body).map(again);
    default:
        return decode_response<SetAttributesResponse>(header, body).map(again);
    }
}

} // namespace rpmem::wire::samples
