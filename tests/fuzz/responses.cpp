// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the initial status and the responses of a daemon, as the library reads them. The first
// byte of each selects the response that the library expects. An invalid port or method, a size
// without bounds, or a response that is encoded differently fails.
#include "common/wire/control_messages.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using fuzz::require;

void check_in_band(wire::Status status, const wire::InBandAttributes& in_band) {
    if (status != wire::Status::success)
        return;
    require(in_band.port >= 1 && in_band.port <= 65535, "a port is from 1 to 65535");
    require(in_band.lanes >= 1, "there is a lane");
    const auto method = static_cast<unsigned>(in_band.method);
    require(method >= 1 && method <= 3, "a persist method is known");
}
void check(const wire::CreateResponse& response) {
    check_in_band(response.status, response.in_band);
}
void check(const wire::OpenResponse& response) { check_in_band(response.status, response.in_band); }
void check(const wire::CloseResponse& /*response*/) {}
void check(const wire::SetAttributesResponse& /*response*/) {}
void check(const wire::SetReplicaStateResponse& /*response*/) {}

template <typename Response>
void check_response(fuzz::Input& input) {
    fuzz::Bytes message = input.take(wire::response_header_size);
    const auto header = wire::decode_response_header(message, Response::type);
    if (fuzz::is_refused(header, {EBADMSG}))
        return;
    require(header->size >= wire::response_header_size && header->size <= wire::max_message_size,
            "the size of a response is bounded");
    require(!wire::describe(header->status).empty() &&
                (wire::errno_of(header->status) == 0) == (header->status == wire::Status::success),
            "each status has a text, and each but success an errno value");
    const fuzz::Bytes body = input.take(header->size - wire::response_header_size);
    const auto response = wire::decode_response<Response>(*header, body);
    if (fuzz::is_refused(response, {EBADMSG}))
        return;
    check(*response);
    message.insert(message.end(), body.begin(), body.end());
    require(wire::encode(*response) == message, "a decoded response is encoded to the same bytes");
}

void check_initial_status(fuzz::Input& input) {
    const fuzz::Bytes bytes = input.take(wire::initial_status_size);
    const auto status = wire::decode_initial_status(bytes);
    if (status)
        require(wire::encode_initial_status(*status) == bytes, "a status is encoded as it came");
    else
        fuzz::require_error(status.error(), {EBADMSG});
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    while (input.left() > 0)
        switch (input.take_value<std::uint8_t>() % 6) {
        case 0:
            check_initial_status(input);
            break;
        case 1:
            check_response<wire::CreateResponse>(input);
            break;
        case 2:
            check_response<wire::OpenResponse>(input);
            break;
        case 3:
            check_response<wire::CloseResponse>(input);
            break;
        case 4:
            check_response<wire::SetAttributesResponse>(input);
            break;
        default:
            check_response<wire::SetReplicaStateResponse>(input);
        }
    return 0;
}
