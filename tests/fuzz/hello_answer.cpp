// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the answer to a hello, which the daemon reads in two steps: the size, and then the rest. A
// truncated answer that is accepted, or an answer that is encoded differently, fails.
#include "common/wire/hello.hpp"
#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    fuzz::Input input(data, size);
    fuzz::Bytes message = input.take(wire::hello_size_field);
    const auto announced = wire::decode_hello_size(message, wire::hello_answer_size);
    if (fuzz::is_refused(announced, {EBADMSG}))
        return 0;
    require(*announced >= wire::hello_answer_size && *announced <= wire::max_hello_size,
            "the size of an answer is bounded");
    const fuzz::Bytes rest = input.take(*announced - message.size());
    message.insert(message.end(), rest.begin(), rest.end());
    const auto answer = wire::decode_hello_answer(message);
    if (fuzz::is_refused(answer, {EBADMSG}))
        return 0;
    require(message.size() == *announced, "an answer that is cut off is refused");
    require(answer->version != 0, "the version is not 0");
    // Fields of later versions and the two reserved bytes are ignored.
    message.resize(wire::hello_answer_size);
    std::fill_n(message.begin() + 6, 2, std::byte{0});
    auto encoded = wire::encode(*answer);
    std::copy_n(message.begin(), wire::hello_size_field, encoded.begin());
    require(encoded == message, "a decoded answer is encoded to the same bytes");
    return 0;
}
