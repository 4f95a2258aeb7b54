// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the requests of a client, which the daemon reads in two steps: a header, and then the
// body. A size or a name without bounds, a truncated request that is accepted, or a request that is
// encoded differently fails.
#include "common/wire/control_messages.hpp"
#include "tests/fuzz/property.hpp"

#include <variant>

namespace {

using namespace rpmem;
using fuzz::require;

void check(const wire::CreateRequest& request) {
    require(!request.pool_set.empty() && request.pool_set.size() < wire::max_pool_set_size &&
                request.pool_set.find('\0') == std::string::npos,
            "a name is neither empty nor too long, and has no NUL byte");
}
void check(const wire::OpenRequest& request) {
    check(wire::CreateRequest{.pool_set = request.pool_set});
}
void check(const wire::CloseRequest& /*request*/) {}
void check(const wire::SetAttributesRequest& /*request*/) {}
void check(const wire::LoginRequest& /*request*/) {}
void check(const wire::HeartbeatRequest& /*request*/) {}
void check(const wire::SetReplicaStateRequest& /*request*/) {}

void check_encoded(const wire::Request& request, fuzz::Bytes message) {
    const auto encoded = std::visit(
        [](const auto& one) {
            check(one);
            return wire::encode(one);
        },
        request);
    if (const auto* const close = std::get_if<wire::CloseRequest>(&request)) {
        // Unknown bits of the flags are ignored.
        const std::uint32_t flags = close->remove ? 1 : 0;
        std::memcpy(message.data() + wire::request_header_size, &flags, sizeof(flags));
    }
    require(encoded == message, "a decoded request is encoded to the same bytes");
}

// The daemon also refuses a request whose body it cannot decode. The refusal must be a valid
// response.
void check_refusal(const fuzz::Bytes& header) {
    const auto type = wire::request_type(header);
    if (!type)
        return;
    const auto refusal = wire::encode_refusal(*type, wire::Status::fatal);
    const auto decoded = wire::decode_response_header(
        std::span(refusal).first(wire::response_header_size), wire::response_to(*type));
    require(decoded && decoded->size == refusal.size() && decoded->status == wire::Status::fatal,
            "a refusal is a response");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    while (input.left() > 0) {
        fuzz::Bytes message = input.take(wire::request_header_size);
        check_refusal(message);
        const auto header = wire::decode_request_header(message);
        if (fuzz::is_refused(header, {EBADMSG}))
            return 0;
        require(wire::request_type(message) == header->type, "header and type are of one kind");
        require(header->size >= wire::request_header_size && header->size <= wire::max_message_size,
                "the size of a request is bounded");
        const fuzz::Bytes body = input.take(header->size - wire::request_header_size);
        const auto request = wire::decode_request(*header, body);
        if (fuzz::is_refused(request, {EBADMSG, EPROTONOSUPPORT}))
            continue;
        message.insert(message.end(), body.begin(), body.end());
        require(message.size() == header->size, "a request that is cut off is refused");
        check_encoded(*request, message);
    }
    return 0;
}
