// SPDX-License-Identifier: BSD-3-Clause
// The unsolicited messages of the daemon, as the library reads them: the header of a response, and
// as many bytes as it announces.
#include "common/wire/unsolicited.hpp"

#include "common/base/text.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using fuzz::require;

void check_medium_failure(const fuzz::Bytes& body, const fuzz::Bytes& message) {
    const auto failure = wire::decode_medium_failure(body);
    if (fuzz::is_refused(failure, {EBADMSG}))
        return;
    require(failure->code > 0, "there is an errno value");
    require(wire::encode(*failure) == message, "a decoded failure is encoded to the same bytes");
}

void check_pool_state(const fuzz::Bytes& body, const fuzz::Bytes& message) {
    const auto state = wire::decode_pool_state(body);
    if (fuzz::is_refused(state, {EBADMSG}))
        return;
    require(state->behind_since >= 0 && state->catching_up_since >= 0 && state->alone_since >= 0,
            "no time is negative");
    require(wire::encode(*state) == message, "a state is encoded to the same bytes");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    fuzz::Bytes message = input.take(wire::response_header_size);
    const auto type = wire::unsolicited_type(
        message, {.medium_failure = true, .resume = true, .pool_claim = true, .compare = true});
    if (!type)
        return 0;
    const auto body_size = wire::decode_unsolicited_size(message);
    if (fuzz::is_refused(body_size, {EBADMSG}))
        return 0;
    require(*body_size <= 2 * (wire::max_part_bytes + wire::max_medium_failure_text),
            "the size of the message is bounded");
    const fuzz::Bytes body = input.take(*body_size);
    if (body.size() < *body_size)
        return 0;
    message.insert(message.end(), body.begin(), body.end());
    if (type == wire::MessageType::target_heartbeat)
        require(message == wire::encode_target_heartbeat(), "a heartbeat has one form");
    else if (type == wire::MessageType::medium_failure)
        check_medium_failure(body, message);
    else if (type == wire::MessageType::notice)
        require(wire::encode_notice(text_of(body)) == message,
                "a notice is encoded to the same bytes");
    else if (type == wire::MessageType::pool_state)
        check_pool_state(body, message);
    else
        require(wire::encode(wire::decode_pool_claim(body).value()) == message,
                "a claim is encoded to the same bytes");
    return 0;
}
