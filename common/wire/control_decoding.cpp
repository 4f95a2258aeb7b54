#include "common/wire/byte_reader.hpp"
#include "common/wire/control_layout.hpp"
#include "common/wire/control_messages.hpp"

#include <cerrno>
#include <utility>

namespace rpmem::wire {
namespace {

using layout::raw;

template <typename... Args>
Failure malformed(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorClass::target_refused, EBADMSG, format, std::forward<Args>(args)...);
}

Result<> check_size(const layout::MessageKind& kind, std::uint64_t size) {
    if (size >= kind.smallest && size <= kind.largest)
        return {};
    if (kind.smallest == kind.largest)
        return malformed("malformed {} message: its size field is {}, it must be {}", kind.name,
                         size, kind.smallest);
    return malformed("malformed {} message: its size field is {}, it must be {} to {}", kind.name,
                     size, kind.smallest, kind.largest);
}

// The header may have been made elsewhere: checked again, so that no decoder trusts its caller.
Result<> check_body(const layout::MessageKind& kind, std::uint64_t size, std::size_t header_size,
                    std::span<const std::byte> body) {
    RPMEM_TRY(check_size(kind, size));
    if (body.size() != size - header_size)
        return malformed("malformed {} message: {} bytes follow its header, its size field {} "
                         "asks for {}",
                         kind.name, body.size(), size, size - header_size);
    return {};
}

PoolAttributes get_attributes(ByteReader& reader) {
    PoolAttributes attributes{};
    reader.raw(std::as_writable_bytes(std::span(attributes.signature)));
    attributes.major = reader.big_endian<std::uint32_t>();
    attributes.compat_features = reader.big_endian<std::uint32_t>();
    attributes.incompat_features = reader.big_endian<std::uint32_t>();
    attributes.ro_compat_features = reader.big_endian<std::uint32_t>();
    reader.raw(std::as_writable_bytes(std::span(attributes.poolset_uuid)));
    reader.raw(std::as_writable_bytes(std::span(attributes.uuid)));
    reader.raw(std::as_writable_bytes(std::span(attributes.next_uuid)));
    reader.raw(std::as_writable_bytes(std::span(attributes.prev_uuid)));
    reader.raw(std::as_writable_bytes(std::span(attributes.user_flags)));
    return attributes;
}

InBandAttributes get_in_band(ByteReader& reader) {
    InBandAttributes in_band;
    in_band.port = reader.big_endian<std::uint32_t>();
    in_band.method = PersistMethod{reader.big_endian<std::uint32_t>()};
    in_band.rkey = reader.big_endian<std::uint64_t>();
    in_band.raddr = reader.big_endian<std::uint64_t>();
    in_band.lanes = reader.host_order<std::uint32_t>();
    return in_band;
}

template <typename CreateOrOpen>
Result<> get_common(ByteReader& reader, const char* name, CreateOrOpen& request) {
    const auto major = reader.big_endian<std::uint16_t>();
    const auto minor = reader.big_endian<std::uint16_t>();
    if (major != protocol_major || minor != protocol_minor)
        return fail(ErrorClass::target_refused, EPROTONOSUPPORT,
                    "{} message of protocol version {}.{}: only {}.{} is known here; use "
                    "versions of librpmem and rpmemd that fit together",
                    name, major, minor, protocol_major, protocol_minor);
    request.pool_size = reader.big_endian<std::uint64_t>();
    request.lanes = reader.big_endian<std::uint32_t>();
    request.provider = Provider{reader.big_endian<std::uint32_t>()};
    request.inline_size = reader.big_endian<std::uint64_t>();
    return {};
}

// The pool set name is the last field: all that is left must be it.
Result<std::string> get_pool_set(ByteReader& reader, const char* name) {
    const auto size = reader.big_endian<std::uint32_t>();
    const auto bytes = reader.rest();
    if (size != bytes.size())
        return malformed("malformed {} message: the size of its pool set name is {}, but {} bytes "
                         "of it are there",
                         name, size, bytes.size());
    if (bytes.empty() || bytes.back() != std::byte{0})
        return malformed("malformed {} message: its pool set name of {} bytes does not end with "
                         "a NUL byte",
                         name, size);
    std::string pool_set(reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1);
    if (pool_set.empty())
        return malformed("malformed {} message: its pool set name is empty", name);
    if (const auto position = pool_set.find('\0'); position != std::string::npos)
        return malformed("malformed {} message: its pool set name has a NUL byte at {}, only its "
                         "last byte may be one ({})",
                         name, position, pool_set.size());
    return pool_set;
}

Result<Request> decode_create(std::span<const std::byte> body) {
    ByteReader reader(body);
    CreateRequest request;
    RPMEM_TRY(get_common(reader, "CREATE", request));
    request.attributes = get_attributes(reader);
    RPMEM_ASSIGN(request.pool_set, get_pool_set(reader, "CREATE"));
    return request;
}

Result<Request> decode_open(std::span<const std::byte> body) {
    ByteReader reader(body);
    OpenRequest request;
    RPMEM_TRY(get_common(reader, "OPEN", request));
    RPMEM_ASSIGN(request.pool_set, get_pool_set(reader, "OPEN"));
    return request;
}

Result<Request> decode_close(std::span<const std::byte> body) {
    ByteReader reader(body);
    // Other bits are ignored: 1.12.1 does so, and a client may send them.
    return CloseRequest{(reader.host_order<std::uint32_t>() & layout::close_flag_remove) != 0};
}

Result<Request> decode_set_attributes(std::span<const std::byte> body) {
    ByteReader reader(body);
    return SetAttributesRequest{get_attributes(reader)};
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

Result<> check_response(const ResponseHeader& header, MessageType type,
                        std::span<const std::byte> body) {
    const layout::MessageKind& kind = *layout::find_kind(type);
    if (header.type != type)
        return malformed("malformed {}: its type field is {}, it must be {}", kind.name,
                         raw(header.type), raw(type));
    return check_body(kind, header.size, response_header_size, body);
}

} // namespace

Result<std::int32_t> decode_initial_status(std::span<const std::byte> bytes) {
    if (bytes.size() != initial_status_size)
        return malformed("malformed initial status: {} bytes, it must be {}", bytes.size(),
                         initial_status_size);
    ByteReader reader(bytes);
    return static_cast<std::int32_t>(reader.host_order<std::uint32_t>());
}

std::optional<MessageType> request_type(std::span<const std::byte> header) {
    if (header.size() < sizeof(std::uint32_t))
        return std::nullopt;
    ByteReader reader(header);
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const layout::MessageKind* kind = layout::find_kind(type);
    if (kind == nullptr || !layout::is_request(*kind))
        return std::nullopt;
    return type;
}

Result<RequestHeader> decode_request_header(std::span<const std::byte> bytes) {
    if (bytes.size() != request_header_size)
        return malformed("malformed request header: {} bytes, it must be {}", bytes.size(),
                         request_header_size);
    ByteReader reader(bytes);
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const auto size = reader.big_endian<std::uint64_t>();
    const layout::MessageKind* kind = layout::find_kind(type);
    if (kind == nullptr || !layout::is_request(*kind))
        return malformed("malformed request header: its type field is {}, it must be 1 (CREATE), "
                         "3 (OPEN), 5 (CLOSE) or 7 (SET_ATTR)",
                         raw(type));
    RPMEM_TRY(check_size(*kind, size));
    return RequestHeader{type, size};
}

Result<Request> decode_request(const RequestHeader& header, std::span<const std::byte> body) {
    const layout::MessageKind* kind = layout::find_kind(header.type);
    if (kind == nullptr || !layout::is_request(*kind))
        return malformed("message type {} is not a request", raw(header.type));
    RPMEM_TRY(check_body(*kind, header.size, request_header_size, body));
    switch (header.type) {
    case MessageType::create:
        return decode_create(body);
    case MessageType::open:
        return decode_open(body);
    case MessageType::close:
        return decode_close(body);
    default:
        return decode_set_attributes(body);
    }
}

Result<ResponseHeader> decode_response_header(std::span<const std::byte> bytes,
                                              MessageType expected) {
    const layout::MessageKind* kind = layout::find_kind(expected);
    if (kind == nullptr || layout::is_request(*kind))
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

Result<CreateResponse> decode_create_response(const ResponseHeader& header,
                                              std::span<const std::byte> body) {
    RPMEM_TRY(check_response(header, MessageType::create_response, body));
    ByteReader reader(body);
    CreateResponse response{header.status, get_in_band(reader)};
    if (response.status == Status::success)
        RPMEM_TRY(check_in_band("CREATE response", response.in_band));
    return response;
}

Result<OpenResponse> decode_open_response(const ResponseHeader& header,
                                          std::span<const std::byte> body) {
    RPMEM_TRY(check_response(header, MessageType::open_response, body));
    ByteReader reader(body);
    OpenResponse response;
    response.status = header.status;
    response.in_band = get_in_band(reader);
    response.attributes = get_attributes(reader);
    if (response.status == Status::success)
        RPMEM_TRY(check_in_band("OPEN response", response.in_band));
    return response;
}

Result<CloseResponse> decode_close_response(const ResponseHeader& header,
                                            std::span<const std::byte> body) {
    RPMEM_TRY(check_response(header, MessageType::close_response, body));
    return CloseResponse{header.status};
}

Result<SetAttributesResponse> decode_set_attributes_response(const ResponseHeader& header,
                                                             std::span<const std::byte> body) {
    RPMEM_TRY(check_response(header, MessageType::set_attributes_response, body));
    return SetAttributesResponse{header.status};
}

} // namespace rpmem::wire
