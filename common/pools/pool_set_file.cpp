// SPDX-License-Identifier: BSD-3-Clause
#include "common/pools/pool_set_file.hpp"

#include "common/base/text.hpp"

#include <librpmem.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>

namespace rpmem {
namespace {

constexpr std::string_view first_line = "PMEMPOOLSET";
constexpr std::string_view blanks = " \t";
constexpr std::size_t max_quote = 120;

// Shortens TEXT and replaces control characters, because the file may contain anything.
std::string quoted(std::string_view text) {
    std::string result;
    for (const char character : text.substr(0, max_quote)) {
        const auto byte = static_cast<unsigned char>(character);
        result += byte < 0x20 || byte == 0x7f ? '?' : character;
    }
    return text.size() > max_quote ? result + "..." : result;
}

// A word that starts with '#' ends the line.
std::vector<std::string_view> split_words(std::string_view line) {
    std::vector<std::string_view> words;
    while (true) {
        const auto start = line.find_first_not_of(blanks);
        if (start == std::string_view::npos || line[start] == '#')
            return words;
        line.remove_prefix(start);
        const auto length = std::min(line.find_first_of(blanks), line.size());
        words.push_back(line.substr(0, length));
        line.remove_prefix(length);
    }
}

bool has_control_character(std::string_view line) {
    return std::ranges::any_of(line, [](char character) {
        const auto byte = static_cast<unsigned char>(character);
        return (byte < 0x20 && character != '\t') || byte == 0x7f;
    });
}

// Returns advice if LINE is PMEMPOOLSET with additional characters that an editor does not show.
// Returns an empty text for any other line.
std::string_view invisible_in(std::string_view line) {
    constexpr std::string_view utf8_mark = "\xef\xbb\xbf";
    std::string word;
    std::ranges::copy_if(line, std::back_inserter(word),
                         [](char c) { return c >= 'A' && c <= 'Z'; });
    if (word != first_line)
        return "";
    if (line.starts_with(utf8_mark))
        return "; a byte order mark stands before it: save the file as UTF-8 without one";
    if (line.find('\0') != std::string_view::npos)
        return "; it is in UTF-16: save the file as UTF-8";
    if (line.find_first_of(" \t\r\v\f") != std::string_view::npos)
        return "; there are blanks in the line: remove them";
    return "";
}

class Parser {
public:
    Parser(std::string_view text, std::string_view name, Replicas replicas)
        : rest_(text), name_(name), replicas_(replicas) {}

    Result<PoolSet> parse() {
        if (rest_.size() > max_pool_set_file_size)
            return invalid("pool set file {} is larger than {} bytes; is it a pool set file?",
                           name_, max_pool_set_file_size);
        if (!next_line() || line_ != first_line)
            // The text does not quote the file, because a peer may name any file that the daemon's
            // user can read.
            return invalid("{}:1: this is not a pool set file: the first line must be exactly "
                           "PMEMPOOLSET{}",
                           name_, invisible_in(line_));
        while (next_line())
            RPMEM_TRY(parse_line());
        if (pool_set_.parts.empty())
            return invalid("{}:{}: the pool set has no parts; add a line \"SIZE PATH\" for each",
                           name_, line_number_);
        return std::move(pool_set_);
    }

private:
    bool next_line() {
        if (rest_.empty())
            return false;
        line_ = take_until(rest_, "\n");
        if (line_.ends_with('\r'))
            line_.remove_suffix(1);
        ++line_number_;
        return true;
    }

    [[nodiscard]] Failure wrong(std::string_view why) const {
        return invalid("{}:{}: {}: \"{}\"", name_, std::max<std::size_t>(line_number_, 1), why,
                       quoted(line_));
    }

    Result<> parse_line() {
        if (line_number_ > max_pool_set_lines)
            return wrong(fmt::format("too many lines; the maximum is {}", max_pool_set_lines));
        if (has_control_character(line_))
            return wrong("control characters are not allowed");
        const auto words = split_words(line_);
        if (words.empty())
            return {};
        if (words[0] == "OPTION")
            return parse_option(words);
        if (words[0] == "REPLICA" && replicas_ == Replicas::refused)
            return wrong("the pool set of a remote replica cannot have replicas; remove the "
                         "REPLICA section");
        in_replica_ = in_replica_ || words[0] == "REPLICA";
        return in_replica_ ? Result<>() : parse_part(words);
    }

    Result<> parse_option(const std::vector<std::string_view>& words) {
        if (words.size() != 2)
            return wrong("OPTION takes one name, SINGLEHDR or NOHDRS");
        auto chosen = HeaderLayout::every_part;
        if (words[1] == "SINGLEHDR")
            chosen = HeaderLayout::first_part_only;
        else if (words[1] == "NOHDRS")
            chosen = HeaderLayout::none;
        else
            return wrong("unknown option; the options are SINGLEHDR and NOHDRS");
        if (pool_set_.headers != HeaderLayout::every_part && pool_set_.headers != chosen)
            return wrong("SINGLEHDR and NOHDRS exclude each other");
        pool_set_.headers = chosen;
        return {};
    }

    Result<> parse_part(const std::vector<std::string_view>& words) {
        if (words.size() != 2)
            return wrong("expected \"SIZE PATH\", \"OPTION NAME\" or a comment");
        PoolSetPart part;
        if (words[0] != "AUTO") {
            part.size = parse_part_size(words[0]);
            if (!part.size)
                return wrong("not a size; write it as 64M, 64MiB, 64MB or AUTO");
            if (*part.size < RPMEM_MIN_PART)
                return wrong("a part must have at least 2 MiB");
        }
        if (!words[1].starts_with('/'))
            return wrong("the path of a part must be absolute");
        part.path = words[1];
        if (std::ranges::find(pool_set_.parts, part.path, &PoolSetPart::path) !=
            pool_set_.parts.end())
            return wrong("this part is listed already");
        if (pool_set_.parts.size() == max_pool_set_parts)
            return wrong(fmt::format("too many parts; the maximum is {}", max_pool_set_parts));
        pool_set_.parts.push_back(std::move(part));
        return {};
    }

    std::string_view rest_;
    std::string_view name_;
    Replicas replicas_;
    bool in_replica_ = false; // the following lines describe a replica
    std::string_view line_;
    std::size_t line_number_ = 0;
    PoolSet pool_set_;
};

struct Unit {
    std::string_view suffix;
    std::uint64_t bytes;
};

constexpr std::uint64_t power(std::uint64_t base, unsigned exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

constexpr std::array units{
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"K", power(1024, 1)},
    Unit{"KiB", power(1024, 1)},
    Unit{"kB", power(1000, 1)},
    Unit{"M", power(1024, 2)},
    Unit{"MiB", power(1024, 2)},
    Unit{"MB", power(1000, 2)},
    Unit{"G", power(1024, 3)},
    Unit{"GiB", power(1024, 3)},
    Unit{"GB", power(1000, 3)},
    Unit{"T", power(1024, 4)},
    Unit{"TiB", power(1024, 4)},
    Unit{"TB", power(1000, 4)},
    Unit{"P", power(1024, 5)},
    Unit{"PiB", power(1024, 5)},
    Unit{"PB", power(1000, 5)},
};

} // namespace

std::optional<std::uint64_t> parse_part_size(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto unit = std::ranges::find(units, text, &Unit::suffix);
    // The size of a file is an off_t, which is signed.
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (unit == units.end() || number > largest / unit->bytes)
        return std::nullopt;
    return number * unit->bytes;
}

bool begins_as_pool_set(std::string_view text) {
    auto line = take_until(text, "\n");
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line == first_line;
}

Result<PoolSet> parse_pool_set(std::string_view text, std::string_view name, Replicas replicas) {
    return Parser(text, name, replicas).parse();
}

} // namespace rpmem
