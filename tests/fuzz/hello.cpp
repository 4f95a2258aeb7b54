// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the hello of a daemon, which the library reads in two steps: the size, and then the rest.
// A field without bounds, a truncated hello that is accepted, or a hello that is encoded
// differently fails.
#include "common/wire/hello.hpp"

#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using fuzz::require;

void check_address(const HostAddress& address) {
    constexpr std::size_t ipv4_size = 4;
    if (address.family == HostAddress::Family::ipv4)
        require(std::all_of(address.bytes.begin() + ipv4_size, address.bytes.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }),
                "behind the four bytes of an IPv4 address are zeros");
    require(!text_of(address).empty() && parse_address(text_of(address)).has_value(),
            "an address has a text");
    static_cast<void>(reach_of(address));
}

void check_fields(const wire::Hello& hello) {
    require(hello.version != 0 && hello.lanes != 0, "version and lanes are not 0");
    require(hello.addresses.empty() || (hello.capabilities & wire::capability_addresses) != 0,
            "addresses come with their capability");
    require(hello.addresses.size() <= wire::max_hello_addresses, "the addresses are bounded");
    std::for_each(hello.addresses.begin(), hello.addresses.end(), check_address);
}

void check_encoded(const wire::Hello& hello, fuzz::Bytes message) {
    const auto encoded = wire::encode(hello);
    const auto again = wire::decode_hello(encoded);
    require(again && wire::encode(*again) == encoded && again->addresses == hello.addresses,
            "an encoded hello is decoded to the same");
    // Unknown fields and families of addresses are ignored, so the encoded hello may be shorter.
    // Reserved bytes, and bytes after an IPv4 address, are also ignored.
    const std::size_t fixed = std::min(wire::hello_size, message.size());
    std::fill_n(message.begin() + 6, 2, std::byte{0});
    std::fill(message.begin() + 24, message.begin() + wire::hello_size, std::byte{0});
    require(std::equal(encoded.begin() + wire::hello_size_field,
                       encoded.begin() + static_cast<std::ptrdiff_t>(fixed),
                       message.begin() + wire::hello_size_field),
            "a decoded hello is encoded to the same bytes");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    fuzz::Bytes message = input.take(wire::hello_size_field);
    const auto announced = wire::decode_hello_size(message, wire::hello_size);
    if (fuzz::is_refused(announced, {EBADMSG}))
        return 0;
    require(*announced >= wire::hello_size && *announced <= wire::max_hello_size,
            "the size of a hello is bounded");
    const fuzz::Bytes rest = input.take(*announced - message.size());
    message.insert(message.end(), rest.begin(), rest.end());
    const auto hello = wire::decode_hello(message);
    if (fuzz::is_refused(hello, {EBADMSG}))
        return 0;
    require(message.size() == *announced, "a hello that is cut off is refused");
    check_fields(*hello);
    check_encoded(*hello, message);
    return 0;
}
