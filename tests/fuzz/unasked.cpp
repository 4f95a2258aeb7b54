// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes unsolicited messages of the daemon: heartbeats, claims and notices. The library reads the
// header of a response, and then the rest. A text without bounds, or a message that is encoded
// differently, fails.
#include "common/wire/unasked.hpp"

#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    fuzz::Input input(data, size);
    fuzz::Bytes message = input.take(wire::response_header_size);
    const auto type = wire::unasked_type(message);
    const auto text_size = wire::decode_notice_size(message);
    if (type == wire::MessageType::target_heartbeat)
        require(message == wire::encode_target_heartbeat(), "a heartbeat has one form");
    if (type == wire::MessageType::pool_claim) {
        const fuzz::Bytes body = input.take(wire::pool_claim_size - wire::response_header_size);
        const auto claim = wire::decode_pool_claim(body);
        if (!claim)
            return 0; // too short
        message.insert(message.end(), body.begin(), body.end());
        require(wire::encode(*claim) == message, "a claim has one form");
        return 0;
    }
    if (!text_size) {
        fuzz::require_error(text_size.error(), {EBADMSG});
        return 0;
    }
    require(*text_size > 0 && *text_size <= wire::max_notice_bytes, "the text is bounded");
    if (type != wire::MessageType::notice)
        return 0;
    const fuzz::Bytes text = input.take(*text_size);
    if (text.size() < *text_size)
        return 0;
    message.insert(message.end(), text.begin(), text.end());
    require(wire::encode_notice({reinterpret_cast<const char*>(text.data()), text.size()}) ==
                message,
            "a decoded notice is encoded to the same bytes");
    return 0;
}
