// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the text of a pool set file. A client may name any file that the daemon's user can read,
// so a message must not reveal the content of other files. A relative path, a duplicate part, an
// invalid size, or a message that quotes such a file fails.
#include "common/pools/pool_set_file.hpp"

#include "tests/fuzz/property.hpp"

#include <librpmem.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace {

using namespace rpmem;
using fuzz::require;

constexpr std::string_view name = "pool.set";

void check_parts(const PoolSet& pool_set) {
    require(!pool_set.parts.empty() && pool_set.parts.size() <= max_pool_set_parts,
            "there are parts, and not too many");
    std::set<std::filesystem::path> paths;
    for (const PoolSetPart& part : pool_set.parts) {
        require(part.path.is_absolute() && !fuzz::has_control_character(part.path.native()),
                "a path is absolute and has no control characters");
        require(paths.insert(part.path).second, "each part is listed once");
        constexpr auto largest = std::numeric_limits<std::int64_t>::max();
        require(!part.size || (*part.size >= RPMEM_MIN_PART && *part.size <= largest),
                "the size of a part is within its bounds");
    }
}

std::string written(const PoolSet& pool_set) {
    std::string text = "PMEMPOOLSET\n";
    if (pool_set.headers == HeaderLayout::first_part_only)
        text += "OPTION SINGLEHDR\n";
    if (pool_set.headers == HeaderLayout::none)
        text += "OPTION NOHDRS\n";
    for (const PoolSetPart& part : pool_set.parts)
        text += fmt::format("{} {}\n", part.size ? std::to_string(*part.size) : "AUTO",
                            part.path.native());
    return text;
}

void check_written(const PoolSet& pool_set) {
    const auto again = parse_pool_set(written(pool_set), name);
    require(again.has_value(), "what was read can be written, and read again");
    require(again->headers == pool_set.headers &&
                std::equal(again->parts.begin(), again->parts.end(), pool_set.parts.begin(),
                           pool_set.parts.end(),
                           [](const PoolSetPart& left, const PoolSetPart& right) {
                               return left.path == right.path && left.size == right.size;
                           }),
            "what is written is what was read");
}

void check_error(const Error& error, std::string_view text) {
    fuzz::require_error(error, {EINVAL});
    constexpr std::size_t longest = 1024;
    require(error.text.size() <= longest, "what a message quotes is bounded");
    require(!fuzz::has_control_character(error.text), "a message has no control characters");
    require(error.text.starts_with(name) || error.text.starts_with("pool set file"),
            "a message names the file");
    if (begins_as_pool_set(text))
        return;
    // For a file that is not a pool set, there are only four texts: a general one, and those for
    // first lines that look right in an editor.
    constexpr std::array<std::string_view, 4> first_lines = {
        "", "\xef\xbb\xbfPMEMPOOLSET\n", " PMEMPOOLSET\n", std::string_view("P\0MEMPOOLSET\n", 13)};
    require(text.size() > max_pool_set_file_size ||
                std::ranges::any_of(first_lines,
                                    [&](std::string_view line) {
                                        return error.text ==
                                               parse_pool_set(line, name).error().text;
                                    }),
            "nothing is told of a file that is no pool set");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of_input(data, size);
    static_cast<void>(parse_part_size(text));
    const auto pool_set = parse_pool_set(text, name);
    if (!pool_set) {
        check_error(pool_set.error(), text);
        return 0;
    }
    require(begins_as_pool_set(text), "a pool set begins as one");
    check_parts(*pool_set);
    check_written(*pool_set);
    return 0;
}
