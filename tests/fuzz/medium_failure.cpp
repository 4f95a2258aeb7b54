// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the daemon's message about a failed medium, which the library reads in two steps: the
// header of a response, and then the rest. A text without bounds, a truncated message that is
// accepted, or a message that is encoded differently fails.
#include "common/wire/medium_failure.hpp"

#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    fuzz::Input input(data, size);
    fuzz::Bytes message = input.take(wire::response_header_size);
    const bool announced = wire::announces_medium_failure(message);
    const auto announced_size = wire::decode_medium_failure_size(message);
    if (!announced_size) {
        fuzz::require_error(announced_size.error(), {EBADMSG});
        const auto refused = wire::decode_medium_failure(message);
        require(!refused, "a message whose size is wrong is refused");
        return 0;
    }
    require(*announced_size <= 2 * (wire::max_part_bytes + wire::max_medium_failure_text),
            "the size of the message is bounded");
    const fuzz::Bytes rest = input.take(*announced_size - message.size());
    message.insert(message.end(), rest.begin(), rest.end());
    const auto failure = wire::decode_medium_failure(message);
    if (fuzz::is_refused(failure, {EBADMSG}))
        return 0;
    require(announced && message.size() == *announced_size, "only the whole message is taken");
    require(failure->code > 0, "there is an errno value");
    require(failure->part.size() <= wire::max_part_bytes &&
                failure->text.size() <= wire::max_medium_failure_text,
            "the texts are bounded");
    require(wire::encode(*failure) == message, "a decoded message is encoded to the same bytes");
    return 0;
}
