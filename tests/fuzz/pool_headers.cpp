// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the headers of a pool's parts. A user who can write to a part can write any header, also
// one with a valid checksum. A wrong checksum that is accepted, a message with text of a header, or
// rewritten headers that do not belong together fail.
//
// An input has a byte of flags and the number of parts. For each part follow the header without its
// unused bytes, a byte that fills these, and the shutdown state with the checksum.
#include "rpmemd/pools/headers/pool_header.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;

constexpr std::size_t max_parts = 4;
constexpr std::size_t used_at_front = offsetof(PoolHeader, unused);
constexpr std::size_t used_at_end = header_size - offsetof(PoolHeader, shutdown_state);

// Flags that make the headers valid, so that the code after the check of the checksum is reached.
constexpr unsigned sealed = 4;
constexpr unsigned linked = 8;

PoolHeader take_header(fuzz::Input& input) {
    PoolHeader header{};
    auto* const bytes = reinterpret_cast<std::byte*>(&header);
    const auto front = input.take(used_at_front);
    const auto fill = input.take_value<std::byte>();
    const auto end = input.take(used_at_end);
    std::fill_n(bytes + used_at_front, header_size - used_at_front - used_at_end, fill);
    std::copy(front.begin(), front.end(), bytes);
    std::copy(end.begin(), end.end(), bytes + offsetof(PoolHeader, shutdown_state));
    return header;
}

std::vector<PoolHeader> take_headers(fuzz::Input& input, unsigned flags) {
    const auto count = input.take_value<std::uint8_t>() % (max_parts + 1);
    std::vector<PoolHeader> headers;
    for (std::size_t i = 0; i < count; ++i)
        headers.push_back(take_header(input));
    if ((flags & linked) != 0)
        for (std::size_t i = 0; i < count; ++i) {
            headers[i].previous_part_uuid = headers[(i + count - 1) % count].uuid;
            headers[i].next_part_uuid = headers[(i + 1) % count].uuid;
        }
    if ((flags & sealed) != 0)
        std::for_each(headers.begin(), headers.end(), seal);
    return headers;
}

bool same(const rpmem_pool_attr& left, const rpmem_pool_attr& right) {
    return std::memcmp(&left, &right, sizeof(left)) == 0;
}

// New headers for these attributes must be valid.
void check_rewritten(const std::vector<PoolHeader>& headers, const std::vector<std::string>& names,
                     HeaderLayout layout) {
    rpmem_pool_attr attributes = attributes_of(headers[0]);
    const auto allowed = check_attributes(attributes, layout);
    if (fuzz::is_refused(allowed, {EINVAL}))
        return;
    if (layout == HeaderLayout::none)
        return;
    const auto rewritten = rewrite_headers(headers, attributes);
    require(verify_headers(rewritten, names, layout).has_value(),
            "headers that were rewritten belong together");
    const auto read = attributes_of(rewritten[0]);
    static_assert(sizeof(ArchFlags) == sizeof(attributes.user_flags));
    if (std::all_of(std::begin(attributes.user_flags), std::end(attributes.user_flags),
                    [](unsigned char byte) { return byte == 0; })) {
        const auto own = machine_arch_flags();
        std::memcpy(attributes.user_flags, &own, sizeof(own));
    }
    require(same(read, attributes), "the attributes are read as they were written");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const unsigned flags = input.take_value<std::uint8_t>();
    constexpr HeaderLayout layouts[] = {HeaderLayout::every_part, HeaderLayout::first_part_only,
                                        HeaderLayout::none};
    const HeaderLayout layout = layouts[(flags & 3) % std::size(layouts)];
    const auto headers = take_headers(input, flags);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < headers.size(); ++i)
        names.push_back(fmt::format("part{}", i));

    const auto verified = verify_headers(headers, names, layout);
    if (!verified) {
        fuzz::require_error(verified.error(), {EINVAL});
        require(!fuzz::has_control_character(verified.error().text),
                "a message quotes no text of a header");
    }
    if (headers.empty())
        return 0;
    require(!verified || !is_all_zero(headers[0]), "an empty header is refused");
    require(!verified || headers[0].checksum == header_checksum(headers[0]),
            "a checksum that is wrong is refused");
    check_rewritten(headers, names, layout);
    return 0;
}
