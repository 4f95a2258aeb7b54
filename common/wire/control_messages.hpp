// SPDX-License-Identifier: BSD-3-Clause
// The messages of the out-of-band channel (protocol 0.1) and their encoding. No input or output.
// Fields are big-endian, except for the initial status, the flags of CLOSE and the lanes of a
// response, which are in host order.
//
// A receiver reads a header (request_header_size or response_header_size bytes) and decodes it.
// Then it reads the body of header.size - <header size> bytes, which the decoder has bounded.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/status.hpp"

#include <librpmem.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rpmem::wire {

inline constexpr std::uint16_t protocol_major = 0;
inline constexpr std::uint16_t protocol_minor = 1;

inline constexpr std::size_t initial_status_size = 4;
inline constexpr std::size_t request_header_size = 12;
inline constexpr std::size_t response_header_size = 16;
inline constexpr std::size_t max_pool_set_size = 4096; // bytes of a pool set's name, NUL included
inline constexpr std::size_t max_message_size = 148 + max_pool_set_size; // CREATE is the largest

enum class MessageType : std::uint32_t {
    create = 1,
    create_response = 2,
    open = 3,
    open_response = 4,
    close = 5,
    close_response = 6,
    set_attributes = 7,
    set_attributes_response = 8,
    medium_failure = 10, // unsolicited, see common/wire/unsolicited.hpp
    // The following types require capability_resume.
    login = 11,
    login_response = 12,
    heartbeat = 13,        // has no response
    target_heartbeat = 14, // unsolicited, see common/wire/unsolicited.hpp
    notice = 16,           // likewise
    pool_claim = 18,       // likewise; requires capability_pool_claim
    // The following types require capability_compare.
    pool_state = 20, // unsolicited, see common/wire/unsolicited.hpp
    set_replica_state = 21,
    set_replica_state_response = 22,
};

// A decoder keeps values without an enumerator. tcp requires a hello.
enum class Provider : std::uint32_t { verbs = 1, sockets = 2, tcp = 3 };
[[nodiscard]] const char* name_of(Provider provider);
enum class PersistMethod : std::uint32_t { general_purpose = 1, appliance = 2 };

using PoolAttributes = ::rpmem_pool_attr;

struct RequestHeader {
    MessageType type{};
    std::uint64_t size = 0; // of the whole message, this header included
};

struct ResponseHeader {
    Status status{};
    MessageType type{};
    std::uint64_t size = 0; // of the whole message, this header included
};

struct CreateRequest {
    static constexpr MessageType type = MessageType::create;
    std::uint64_t pool_size = 0;
    std::uint32_t lanes = 0;
    Provider provider{};
    std::uint64_t inline_size = 0; // bytes of inline data per persist message
    PoolAttributes attributes{};   // all zero if there are none
    std::string pool_set;
};

struct OpenRequest {
    static constexpr MessageType type = MessageType::open;
    std::uint64_t pool_size = 0;
    std::uint32_t lanes = 0;
    Provider provider{};
    std::uint64_t inline_size = 0;
    std::string pool_set;
};

struct CloseRequest {
    static constexpr MessageType type = MessageType::close;
    bool remove = false; // remove the pool that this session created
};

struct SetAttributesRequest {
    static constexpr MessageType type = MessageType::set_attributes;
    PoolAttributes attributes{};
};

inline constexpr std::size_t takeover_key_size = 32;
using TakeoverKey = std::array<std::byte, takeover_key_size>;

// Identifies the initiator. LOGIN precedes CREATE and OPEN. Generation 0 is a new session. A later
// generation takes over the pool of an earlier session of the same initiator. Its takeover key
// proves that: both ends derive it from the secret of generation 0.
struct LoginRequest {
    static constexpr MessageType type = MessageType::login;
    std::uint64_t generation = 0;
    TakeoverKey takeover{};      // zeros in generation 0
    std::array<char, 64> host{}; // names of the host and the user for display, padded with NULs
    std::array<char, 32> user{};
};

// A decoder keeps values without an enumerator.
enum class ReplicaState : std::uint32_t {
    in_sync = 1,     // the replica has every byte that the initiator has drained
    catching_up = 2, // blocks are sent in any order, so the replica is inconsistent
    // Not a state of its own: if this session is lost, its initiator may go on without the replica.
    may_go_alone = 3,
};

// Sets the state in the record of the pool. The response means that it is durable.
struct SetReplicaStateRequest {
    static constexpr MessageType type = MessageType::set_replica_state;
    ReplicaState replica_state{};
};

// Shows that the initiator is alive.
struct HeartbeatRequest {
    static constexpr MessageType type = MessageType::heartbeat;
};

using Request = std::variant<CreateRequest, OpenRequest, CloseRequest, SetAttributesRequest,
                             LoginRequest, HeartbeatRequest, SetReplicaStateRequest>;

// The address of the pool on the fabric. A correct target sends zeros if the status is not success.
struct InBandAttributes {
    std::uint32_t port = 0;
    PersistMethod method{};
    std::uint64_t rkey = 0;
    std::uint64_t raddr = 0;
    std::uint32_t lanes = 0;
};

struct CreateResponse {
    static constexpr MessageType type = MessageType::create_response;
    Status status{};
    InBandAttributes in_band;
};

struct OpenResponse {
    static constexpr MessageType type = MessageType::open_response;
    Status status{};
    InBandAttributes in_band;
    PoolAttributes attributes{};
};

struct CloseResponse {
    static constexpr MessageType type = MessageType::close_response;
    Status status{};
};

struct SetAttributesResponse {
    static constexpr MessageType type = MessageType::set_attributes_response;
    Status status{};
};

struct LoginResponse {
    static constexpr MessageType type = MessageType::login_response;
    Status status{};
};

struct SetReplicaStateResponse {
    static constexpr MessageType type = MessageType::set_replica_state_response;
    Status status{};
};

// Any of the messages above.
template <typename Message>
concept ControlMessage = std::same_as<decltype(Message::type), const MessageType>;

using Bytes = std::vector<std::byte>;

// The daemon sends the initial status before any message: 0, hello_status if a hello follows, or
// the errno value that ended it.
[[nodiscard]] Bytes encode_initial_status(std::int32_t status);
[[nodiscard]] Result<std::int32_t> decode_initial_status(std::span<const std::byte> bytes);

// Encoding never fails. The peer checks the pool set name.
template <ControlMessage Message>
[[nodiscard]] Bytes encode(const Message& message);

// Returns the response to REQUEST with STATUS and all other fields zero.
[[nodiscard]] Bytes encode_refusal(MessageType request, Status status);

// Returns numbers and names, for error texts: of the unsolicited messages or of the requests.
[[nodiscard]] std::string list_message_types(bool unsolicited);

// Returns the type of the response to REQUEST.
[[nodiscard]] MessageType response_to(MessageType request);

// Checks the type, and that a message of that type can have the size. Fails with EBADMSG.
[[nodiscard]] Result<RequestHeader> decode_request_header(std::span<const std::byte> bytes);

// Returns the type of a request whose size may be invalid, so that it can still be refused. Returns
// nothing if HEADER is too short or its type is not that of a request.
[[nodiscard]] std::optional<MessageType> request_type(std::span<const std::byte> header);

// BODY is everything after the header. Fails with EPROTONOSUPPORT for another protocol version, and
// with EBADMSG for any other violation. The daemon checks lanes, provider, sizes and whether the
// name is absolute.
[[nodiscard]] Result<Request> decode_request(const RequestHeader& header,
                                             std::span<const std::byte> body);

// Checks the type and the size, and fails with EBADMSG. An unknown status is kept.
[[nodiscard]] Result<ResponseHeader> decode_response_header(std::span<const std::byte> bytes,
                                                            MessageType expected);

// BODY is everything after the header. If the status is not success, only the length is checked,
// and the fields are returned as received; a correct target sends zeros. Fails with EBADMSG.
template <ControlMessage Response>
[[nodiscard]] Result<Response> decode_response(const ResponseHeader& header,
                                               std::span<const std::byte> body);

} // namespace rpmem::wire
