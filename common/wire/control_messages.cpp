// Encoding. Decoding is in control_decoding.cpp.
#include "common/wire/control_messages.hpp"

#include "common/wire/byte_writer.hpp"
#include "common/wire/control_layout.hpp"

namespace rpmem::wire {
namespace {

using layout::raw;

void put_request_header(ByteWriter& writer, MessageType type, std::size_t size) {
    writer.big_endian(raw(type));
    writer.big_endian(static_cast<std::uint64_t>(size));
}

void put_response_header(ByteWriter& writer, Status status, MessageType type, std::size_t size) {
    writer.big_endian(raw(status));
    writer.big_endian(raw(type));
    writer.big_endian(static_cast<std::uint64_t>(size));
}

template <typename CreateOrOpen>
void put_common(ByteWriter& writer, const CreateOrOpen& request) {
    writer.big_endian(protocol_major);
    writer.big_endian(protocol_minor);
    writer.big_endian(request.pool_size);
    writer.big_endian(request.lanes);
    writer.big_endian(raw(request.provider));
    writer.big_endian(request.inline_size);
}

void put_attributes(ByteWriter& writer, const PoolAttributes& attributes) {
    writer.text({attributes.signature, sizeof(attributes.signature)});
    writer.big_endian(attributes.major);
    writer.big_endian(attributes.compat_features);
    writer.big_endian(attributes.incompat_features);
    writer.big_endian(attributes.ro_compat_features);
    writer.raw(std::as_bytes(std::span(attributes.poolset_uuid)));
    writer.raw(std::as_bytes(std::span(attributes.uuid)));
    writer.raw(std::as_bytes(std::span(attributes.next_uuid)));
    writer.raw(std::as_bytes(std::span(attributes.prev_uuid)));
    writer.raw(std::as_bytes(std::span(attributes.user_flags)));
}

void put_pool_set(ByteWriter& writer, const std::string& pool_set) {
    writer.big_endian(static_cast<std::uint32_t>(pool_set.size() + 1));
    writer.text(pool_set);
    writer.zeros(1);
}

void put_in_band(ByteWriter& writer, const InBandAttributes& in_band) {
    writer.big_endian(in_band.port);
    writer.big_endian(raw(in_band.method));
    writer.big_endian(in_band.rkey);
    writer.big_endian(in_band.raddr);
    writer.host_order(in_band.lanes);
}

} // namespace

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

Bytes encode(const CreateRequest& request) {
    const std::size_t size = layout::create_fixed_size + request.pool_set.size() + 1;
    ByteWriter writer(size);
    put_request_header(writer, MessageType::create, size);
    put_common(writer, request);
    put_attributes(writer, request.attributes);
    put_pool_set(writer, request.pool_set);
    return writer.take();
}

Bytes encode(const OpenRequest& request) {
    const std::size_t size = layout::open_fixed_size + request.pool_set.size() + 1;
    ByteWriter writer(size);
    put_request_header(writer, MessageType::open, size);
    put_common(writer, request);
    put_pool_set(writer, request.pool_set);
    return writer.take();
}

Bytes encode(const CloseRequest& request) {
    ByteWriter writer(layout::close_size);
    put_request_header(writer, MessageType::close, layout::close_size);
    writer.host_order(request.remove ? layout::close_flag_remove : std::uint32_t{0});
    return writer.take();
}

Bytes encode(const SetAttributesRequest& request) {
    ByteWriter writer(layout::set_attributes_size);
    put_request_header(writer, MessageType::set_attributes, layout::set_attributes_size);
    put_attributes(writer, request.attributes);
    return writer.take();
}

Bytes encode(const CreateResponse& response) {
    ByteWriter writer(layout::create_response_size);
    put_response_header(writer, response.status, MessageType::create_response,
                        layout::create_response_size);
    put_in_band(writer, response.in_band);
    return writer.take();
}

Bytes encode(const OpenResponse& response) {
    ByteWriter writer(layout::open_response_size);
    put_response_header(writer, response.status, MessageType::open_response,
                        layout::open_response_size);
    put_in_band(writer, response.in_band);
    put_attributes(writer, response.attributes);
    return writer.take();
}

Bytes encode(const CloseResponse& response) {
    ByteWriter writer(response_header_size);
    put_response_header(writer, response.status, MessageType::close_response, response_header_size);
    return writer.take();
}

Bytes encode(const SetAttributesResponse& response) {
    ByteWriter writer(response_header_size);
    put_response_header(writer, response.status, MessageType::set_attributes_response,
                        response_header_size);
    return writer.take();
}

Bytes encode_refusal(MessageType request, Status status) {
    switch (response_to(request)) {
    case MessageType::create_response:
        return encode(CreateResponse{status, {}});
    case MessageType::open_response:
        return encode(OpenResponse{status, {}, {}});
    case MessageType::close_response:
        return encode(CloseResponse{status});
    default:
        return encode(SetAttributesResponse{status});
    }
}

MessageType response_to(MessageType request) {
    const layout::MessageKind* kind = layout::find_kind(request);
    return kind ? kind->response : request;
}

} // namespace rpmem::wire
