// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the copy of a pool's headers, and the recovery of headers that a power failure has torn. A
// copy that is encoded differently, or a torn header that is not restored, fails.
//
// An input has a byte of flags and the bytes to decode. With the flag SEALED, the rest selects a
// change of attributes, and where it is cut.
#include "rpmemd/pools/headers/header_copy.hpp"

#include "rpmemd/pools/headers/header_recovery.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;

constexpr unsigned sealed = 1;
constexpr std::size_t max_headers = 4;

bool same(const std::vector<PoolHeader>& left, const std::vector<PoolHeader>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), are_same_headers);
}

void check_decoded(const fuzz::Bytes& bytes) {
    const auto copy = decode_header_copy(bytes);
    if (fuzz::is_refused(copy, {EINVAL}))
        return;
    require(!copy->before.empty() && copy->before.size() == copy->after.size(),
            "there are as many headers before as after");
    const auto again = encode(*copy);
    require(again.size() <= bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()),
            "a decoded copy is encoded to the same bytes");
}

// Checks a change of attributes that is cut: the old headers with bytes of the new ones at places
// that the input selects.
void check_cut(fuzz::Input& input) {
    std::vector<Uuid> uuids(input.take_value<std::uint8_t>() % max_headers + 1);
    for (std::size_t i = 0; i < uuids.size(); ++i)
        uuids[i].fill(static_cast<unsigned char>(i + 1));
    const auto before = build_headers(input.take_value<rpmem_pool_attr>(), uuids, 7);
    const auto after = rewrite_headers(before, input.take_value<rpmem_pool_attr>());
    const auto bytes = encode({before, after});
    const auto copy = decode_header_copy(bytes);
    require(copy && same(copy->before, before) && same(copy->after, after),
            "an encoded copy is decoded to the same headers");
    auto headers = before;
    const auto whole = input.take_value<std::uint8_t>(); // number of new headers at the end
    for (std::size_t i = headers.size() - whole % (headers.size() + 1); i < headers.size(); ++i)
        headers[i] = after[i];
    auto& torn = headers[input.take_value<std::uint8_t>() % headers.size()];
    auto* const to = reinterpret_cast<std::byte*>(&torn);
    const auto* const from =
        reinterpret_cast<const std::byte*>(&after[std::size_t(&torn - headers.data())]);
    while (input.left() > 0) {
        const std::size_t at = input.take_value<std::uint16_t>() % header_size;
        std::copy_n(from + at, std::min<std::size_t>(8, header_size - at), to + at);
    }
    const auto restored = restore_torn(headers, *copy);
    require(restored.has_value(), "a cut is restored from its copy");
    require(!has_torn(*restored), "no header stays torn");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const unsigned flags = input.take_value<std::uint8_t>();
    if ((flags & sealed) != 0)
        check_cut(input);
    else
        check_decoded(input.take(input.left()));
    return 0;
}
