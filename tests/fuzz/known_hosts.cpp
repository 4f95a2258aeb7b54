// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes a known_hosts file. The first line of an input is the name that is looked up, the others
// are the file. A key without a type, a line number outside of the file, or a pattern that matches
// another name than the reference below fails.
#include "librpmem/session/ssh2/known_hosts.hpp"

#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::initiator;
using namespace rpmem::initiator::ssh2;
using fuzz::require;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A reference for the matching of patterns. Unlike the library, it uses a table with one row for
// each character of the pattern.
bool fits(std::string_view pattern, std::string_view name) {
    std::vector<bool> reached(name.size() + 1, false);
    reached[0] = true;
    for (const char c : pattern) {
        std::vector<bool> next(name.size() + 1, false);
        for (std::size_t i = 0; i <= name.size(); ++i)
            if (c == '*')
                next[i] = reached[i] || (i > 0 && next[i - 1]);
            else if (i > 0 && (c == '?' || lower(c) == name[i - 1]))
                next[i] = reached[i - 1];
        reached = std::move(next);
    }
    return reached[name.size()];
}

// Checks a list of names that has only one pattern.
void check_pattern(const std::string& pattern, const std::string& name) {
    if (pattern.empty() || pattern.find_first_of("#@!,| \t\r\n") != std::string::npos)
        return;
    require(known_keys(pattern + " type key", "file", name).empty() != fits(pattern, name),
            "a pattern fits what it says");
}

void check_key(const KnownKey& key, std::size_t lines) {
    require(key.line >= 1 && key.line <= lines, "the line of a key is in the file");
    require(!key.key.empty() && !key.type.empty(), "a key has a type");
    require((key.key + key.type).find_first_of(" \t\r\n") == std::string::npos,
            "type and key are words");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint16_t default_port = 22;
    fuzz::Input input(data, size);
    const std::string name = known_name(input.take_line(), default_port);
    const std::string text = input.take_text();
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const KnownKey& key : known_keys(text, "file", name))
        check_key(key, lines);
    check_pattern(text.substr(0, text.find_first_of(" \n")), name);
    return 0;
}
