// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/control_messages.hpp"

#include "common/wire/byte_reader.hpp"
#include "common/wire/byte_writer.hpp"
#include "common/wire/control_layout.hpp"

#include <cerrno>

namespace rpmem::wire {
namespace {

using layout::check_size;
using layout::malformed;
using layout::put_header;
using layout::raw;

// Checks the size again, because the caller may not have got it from decode_*_header().
Result<> check_body(const layout::MessageKind& kind, std::uint64_t size, std::size_t header_size,
                    std::span<const std::byte> body) {
    RPMEM_TRY(check_size(kind, size));
    if (body.size() != size - header_size)
        return malformed("malformed {} message: {} bytes follow its header, its size field {} "
                         "asks for {}",
                         kind.name, body.size(), size, size - header_size);
    return {};
}

template <typename Message>
constexpr bool has_pool_set = requires(Message message) {
    message.pool_set;
};
template <typename Message>
constexpr bool has_in_band = requires(Message message) {
    message.in_band;
};
template <typename Message>
constexpr bool has_flags = requires(Message message) {
    message.remove;
};

// Encodes or decodes the fields of a message between its version and its pool set name, in the
// order of the wire. BYTES is a ByteReader or a ByteWriter.
template <typename Message>
void fields(auto& bytes, Message& message) {
    if constexpr (has_pool_set<Message>) {
        bytes.number(message.pool_size);
        bytes.number(message.lanes);
        bytes.number(message.provider);
        bytes.number(message.inline_size);
    }
    if constexpr (has_in_band<Message>) {
        auto& in_band = message.in_band;
        bytes.number(in_band.port);
        bytes.number(in_band.method);
        bytes.number(in_band.rkey);
        bytes.number(in_band.raddr);
        bytes.number_in_host_order(in_band.lanes);
    }
    if constexpr (requires { message.attributes; }) {
        auto& attributes = message.attributes;
        bytes.bytes(attributes.signature);
        bytes.number(attributes.major);
        bytes.number(attributes.compat_features);
        bytes.number(attributes.incompat_features);
        bytes.number(attributes.ro_compat_features);
        bytes.bytes(attributes.poolset_uuid);
        bytes.bytes(attributes.uuid);
        bytes.bytes(attributes.next_uuid);
        bytes.bytes(attributes.prev_uuid);
        bytes.bytes(attributes.user_flags);
    }
    if constexpr (requires { message.replica_state; })
        bytes.number(message.replica_state);
    if constexpr (requires { message.takeover; }) {
        bytes.number(message.generation);
        bytes.bytes(message.takeover);
        bytes.bytes(message.host);
        bytes.bytes(message.user);
    }
}

Result<> check_version(ByteReader& reader, const char* name) {
    const auto major = reader.big_endian<std::uint16_t>();
    const auto minor = reader.big_endian<std::uint16_t>();
    if (major == protocol_major && minor == protocol_minor)
        return {};
    return fail(ErrorClass::target_refused, EPROTONOSUPPORT,
                "{} message of protocol version {}.{}: only {}.{} is supported; use matching "
                "versions of librpmem and rpmemd",
                name, major, minor, protocol_major, protocol_minor);
}

// The pool set name is the last field, so it must fill the rest of the message.
Result<std::string> get_pool_set(ByteReader& reader, const char* name) {
    const auto size = reader.big_endian<std::uint32_t>();
    const auto bytes = reader.rest();
    if (size != bytes.size())
        return malformed("malformed {} message: the size of its pool set name is {}, but {} bytes "
                         "follow",
                         name, size, bytes.size());
    if (bytes.empty() || bytes.back() != std::byte{0})
        return malformed("malformed {} message: its pool set name of {} bytes does not end with "
                         "a NUL byte",
                         name, size);
    std::string pool_set(reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1);
    if (pool_set.empty())
        return malformed("malformed {} message: its pool set name is empty", name);
    if (const auto position = pool_set.find('\0'); position != std::string::npos)
        return malformed("malformed {} message: its pool set name has a NUL byte at {}, only the "
                         "last byte ({}) may be one",
                         name, position, pool_set.size());
    return pool_set;
}

template <typename Message>
Result<Message> decode_body(ByteReader reader, const char* name) {
    Message message;
    if constexpr (has_pool_set<Message>)
        RPMEM_TRY(check_version(reader, name));
    fields(reader, message);
    // Other flags are ignored, as the daemon of 1.12.1 ignores them.
    if constexpr (has_flags<Message>)
        message.remove = (reader.host_order<std::uint32_t>() & layout::close_flag_remove) != 0;
    if constexpr (has_pool_set<Message>) {
        RPMEM_ASSIGN(message.pool_set, get_pool_set(reader, name));
    }
    return message;
}

Result<> check_in_band(const char* name, const InBandAttributes& in_band) {
    if (in_band.port == 0 || in_band.port > 65535)
        return malformed("malformed {}: its port is {}, it must be 1 to 65535", name, in_band.port);
    if (raw(in_band.method) < 1 || raw(in_band.method) > 2)
        return malformed("malformed {}: its persist method is {}, it must be 1 or 2", name,
                         raw(in_band.method));
    if (in_band.lanes == 0)
        return malformed("malformed {}: its number of lanes is 0, it must be at least 1", name);
    return {};
}

} // namespace

Result<> layout::check_size(const MessageKind& kind, std::uint64_t size) {
    if (size >= kind.smallest && size <= kind.largest)
        return {};
    if (kind.smallest == kind.largest)
        return malformed("malformed {} message: its size field is {}, it must be {}", kind.name,
                         size, kind.smallest);
    return malformed("malformed {} message: its size field is {}, it must be {} to {}", kind.name,
                     size, kind.smallest, kind.largest);
}

void layout::put_header(ByteWriter& writer, Status status, MessageType type, std::size_t size) {
    writer.number(status);
    writer.number(type);
    writer.big_endian(static_cast<std::uint64_t>(size));
}

std::string list_message_types(bool unsolicited) {
    std::vector<std::string> names;
    for (const layout::MessageKind& kind : layout::message_kinds)
        if (unsolicited ? kind.agreed != nullptr : layout::is_request(kind))
            names.push_back(fmt::format("{} ({})", raw(kind.type), kind.name));
    return fmt::format("{}", fmt::join(names, ", "));
}

const char* name_of(Provider provider) {
    switch (provider) {
    case Provider::verbs:
        return "verbs";
    case Provider::sockets:
        return "sockets";
    case Provider::tcp:
        return "tcp";
    }
    return "?";
}

Bytes encode_initial_status(std::int32_t status) {
    ByteWriter writer(initial_status_size);
    writer.host_order(static_cast<std::uint32_t>(status));
    return writer.take();
}

Result<std::int32_t> decode_initial_status(std::span<const std::byte> bytes) {
    if (bytes.size() != initial_status_size)
        return malformed("malformed initial status: {} bytes, it must be {}", bytes.size(),
                         initial_status_size);
    ByteReader reader(bytes);
    return static_cast<std::int32_t>(reader.host_order<std::uint32_t>());
}

template <ControlMessage Message>
Bytes encode(const Message& message) {
    const layout::MessageKind& kind = *layout::find_kind(Message::type);
    std::size_t size = kind.largest;
    if constexpr (has_pool_set<Message>) // the smallest size includes the NUL
        size = kind.smallest + message.pool_set.size();
    ByteWriter writer(size);
    if constexpr (requires { message.status; }) {
        put_header(writer, message.status, kind.type, size);
    } else {
        writer.number(kind.type);
        writer.big_endian(static_cast<std::uint64_t>(size));
    }
    if constexpr (has_pool_set<Message>) {
        writer.number(protocol_major);
        writer.number(protocol_minor);
    }
    fields(writer, message);
    if constexpr (has_flags<Message>)
        writer.host_order(message.remove ? layout::close_flag_remove : std::uint32_t{0});
    if constexpr (has_pool_set<Message>) {
        writer.big_endian(static_cast<std::uint32_t>(message.pool_set.size() + 1));
        writer.text(message.pool_set);
        writer.zeros(1);
    }
    return writer.take();
}

template Bytes encode(const CreateRequest&);
template Bytes encode(const OpenRequest&);
template Bytes encode(const CloseRequest&);
template Bytes encode(const SetAttributesRequest&);
template Bytes encode(const LoginRequest&);
template Bytes encode(const HeartbeatRequest&);
template Bytes encode(const SetReplicaStateRequest&);
template Bytes encode(const CreateResponse&);
template Bytes encode(const OpenResponse&);
template Bytes encode(const CloseResponse&);
template Bytes encode(const SetAttributesResponse&);
template Bytes encode(const LoginResponse&);
template Bytes encode(const SetReplicaStateResponse&);

Bytes encode_refusal(MessageType request, Status status) {
    const layout::MessageKind& kind = *layout::find_kind(response_to(request));
    ByteWriter writer(kind.largest);
    put_header(writer, status, kind.type, kind.largest);
    writer.zeros(kind.largest - response_header_size);
    return writer.take();
}

MessageType response_to(MessageType request) {
    const layout::MessageKind* kind = layout::find_kind(request);
    return kind ? kind->response : request;
}

std::optional<MessageType> request_type(std::span<const std::byte> header) {
    if (header.size() < sizeof(std::uint32_t))
        return std::nullopt;
    ByteReader reader(header);
    const MessageType type{reader.big_endian<std::uint32_t>()};
    return layout::find_request(type) ? std::optional(type) : std::nullopt;
}

Result<RequestHeader> decode_request_header(std::span<const std::byte> bytes) {
    if (bytes.size() != request_header_size)
        return malformed("malformed request header: {} bytes, it must be {}", bytes.size(),
                         request_header_size);
    ByteReader reader(bytes);
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const auto size = reader.big_endian<std::uint64_t>();
    const layout::MessageKind* const kind = layout::find_request(type);
    if (!kind)
        return malformed("malformed request header: its type field is {}, it must be one of {}",
                         raw(type), list_message_types(false));
    RPMEM_TRY(check_size(*kind, size));
    return RequestHeader{type, size};
}

Result<Request> decode_request(const RequestHeader& header, std::span<const std::byte> body) {
    const layout::MessageKind* const kind = layout::find_request(header.type);
    if (!kind)
        return malformed("message type {} is not a request", raw(header.type));
    RPMEM_TRY(check_body(*kind, header.size, request_header_size, body));
    const ByteReader reader(body);
    switch (header.type) {
    case MessageType::create:
        return decode_body<CreateRequest>(reader, kind->name);
    case MessageType::open:
        return decode_body<OpenRequest>(reader, kind->name);
    case MessageType::close:
        return decode_body<CloseRequest>(reader, kind->name);
    case MessageType::login:
        return decode_body<LoginRequest>(reader, kind->name);
    case MessageType::heartbeat:
        return HeartbeatRequest{};
    case MessageType::set_replica_state:
        return decode_body<SetReplicaStateRequest>(reader, kind->name);
    default:
        return decode_body<SetAttributesRequest>(reader, kind->name);
    }
}

Result<ResponseHeader> decode_response_header(std::span<const std::byte> bytes,
                                              MessageType expected) {
    const layout::MessageKind* kind = layout::find_kind(expected);
    if (!kind || layout::is_request(*kind))
        return fail(ErrorClass::bug, EINVAL, "message type {} is not a response", raw(expected));
    if (bytes.size() != response_header_size)
        return malformed("malformed header of a {}: {} bytes, it must be {}", kind->name,
                         bytes.size(), response_header_size);
    ByteReader reader(bytes);
    const Status status{reader.big_endian<std::uint32_t>()};
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const auto size = reader.big_endian<std::uint64_t>();
    if (type != expected)
        return malformed("malformed {}: its type field is {}, it must be {}", kind->name, raw(type),
                         raw(expected));
    RPMEM_TRY(check_size(*kind, size));
    return ResponseHeader{status, type, size};
}

template <ControlMessage Response>
Result<Response> decode_response(const ResponseHeader& header, std::span<const std::byte> body) {
    const layout::MessageKind& kind = *layout::find_kind(Response::type);
    if (header.type != kind.type)
        return malformed("malformed {}: its type field is {}, it must be {}", kind.name,
                         raw(header.type), raw(kind.type));
    RPMEM_TRY(check_body(kind, header.size, response_header_size, body));
    RPMEM_ASSIGN(auto response, decode_body<Response>(ByteReader(body), kind.name));
    response.status = header.status;
    if constexpr (has_in_band<Response>)
        if (response.status == Status::success)
            RPMEM_TRY(check_in_band(kind.name, response.in_band));
    return response;
}

template Result<CreateResponse> decode_response(const ResponseHeader&, std::span<const std::byte>);
template Result<OpenResponse> decode_response(const ResponseHeader&, std::span<const std::byte>);
template Result<CloseResponse> decode_response(const ResponseHeader&, std::span<const std::byte>);
template Result<SetAttributesResponse> decode_response(const ResponseHeader&,
                                                       std::span<const std::byte>);
template Result<LoginResponse> decode_response(const ResponseHeader&, std::span<const std::byte>);
template Result<SetReplicaStateResponse> decode_response(const ResponseHeader&,
                                                         std::span<const std::byte>);

} // namespace rpmem::wire
