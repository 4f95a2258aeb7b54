// SPDX-License-Identifier: BSD-3-Clause
// What the daemon says unasked, as the library reads it: the header of a response, and as much text
// as it announces.
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
