// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/known_hosts.hpp"

#include "common/base/text.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>

namespace rpmem::initiator::ssh2 {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::size_t sha1_size = 20;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

// '*' matches any characters, and '?' any one. NAME is in lower case. After a mismatch only the
// last '*' is extended, by one character, so the work is bounded by the product of the sizes.
bool matches_pattern(std::string_view pattern, std::string_view name) {
    std::size_t at = 0;
    std::size_t read = 0;
    std::optional<std::size_t> star;
    std::size_t taken = 0;
    while (read < name.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            taken = read;
        } else if (at < pattern.size() &&
                   (pattern[at] == '?' || lower(pattern[at]) == name[read])) {
            ++at;
            ++read;
        } else if (star) {
            at = *star + 1;
            read = ++taken;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*')
        ++at;
    return at == pattern.size();
}

// HASHED is "|1|SALT|HASH", in base64. HASH is the HMAC-SHA1 of the name, with the salt as its key.
bool matches_hash(std::string_view hashed, std::string_view name) {
    hashed.remove_prefix(3);
    const auto bar = hashed.find('|');
    const std::string_view salt_text = hashed.substr(0, bar);
    // In base64 four characters stand for three bytes. The salt is as long as the hash.
    if (bar == std::string_view::npos || salt_text.size() != (sha1_size + 2) / 3 * 4)
        return false;
    std::array<unsigned char, (sha1_size + 2) / 3 * 3> salt;
    if (::EVP_DecodeBlock(salt.data(), reinterpret_cast<const unsigned char*>(salt_text.data()),
                          static_cast<int>(salt_text.size())) < 0)
        return false;
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash;
    unsigned size = 0;
    if (!::HMAC(::EVP_sha1(), salt.data(), sha1_size,
                reinterpret_cast<const unsigned char*>(name.data()), name.size(), hash.data(),
                &size))
        return false;
    return hashed.substr(bar + 1) == to_base64(std::span(hash).first(size));
}

bool matches(std::string_view hosts, std::string_view name) {
    if (hosts.starts_with("|1|"))
        return matches_hash(hosts, name);
    bool found = false;
    while (!hosts.empty()) {
        std::string_view pattern = take_until(hosts, ",");
        const bool negated = pattern.starts_with('!');
        if (negated)
            pattern.remove_prefix(1);
        if (!matches_pattern(pattern, name))
            continue;
        if (negated)
            return false;
        found = true;
    }
    return found;
}

std::optional<KnownKey> key_of_line(std::string_view line, const std::string& name) {
    std::string_view hosts = take_word(line);
    if (hosts.empty() || hosts.starts_with('#'))
        return std::nullopt;
    bool revoked = false;
    if (hosts.starts_with('@')) {
        if (hosts != "@revoked")
            return std::nullopt;
        revoked = true;
        hosts = take_word(line);
    }
    const std::string_view type = take_word(line);
    const std::string_view key = take_word(line);
    if (key.empty() || !matches(hosts, name))
        return std::nullopt;
    return KnownKey{"", 0, revoked, std::string(type), std::string(key)};
}

} // namespace

std::string to_base64(std::span<const unsigned char> data) {
    std::string text((data.size() + 2) / 3 * 4 + 1, '\0');
    const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), data.data(),
                                       static_cast<int>(data.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

std::string known_name(const std::string& host, std::uint16_t port) {
    constexpr std::uint16_t default_port = 22;
    std::string name = host;
    std::transform(name.begin(), name.end(), name.begin(), lower);
    return port == default_port ? name : fmt::format("[{}]:{}", name, port);
}

std::vector<KnownKey> known_keys(std::string_view text, const std::string& file,
                                 const std::string& name) {
    std::vector<KnownKey> keys;
    for (std::size_t line = 1; !text.empty(); ++line)
        if (auto key = key_of_line(take_until(text, "\n"), name)) {
            key->file = file;
            key->line = line;
            keys.push_back(std::move(*key));
        }
    return keys;
}

} // namespace rpmem::initiator::ssh2
