// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/host_key.hpp"

#include "librpmem/session/ssh2/small_file.hpp"
#include "librpmem/session/ssh2/strings.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator::ssh2 {
namespace {

constexpr std::size_t max_known_hosts = std::size_t{16} << 20;

// A signature algorithm and the type of its keys.
struct Algorithm {
    std::string_view name;
    std::string_view key_type;
};
// The best comes first.
constexpr std::array algorithms_of_libssh2 = {
    Algorithm{"ssh-ed25519", "ssh-ed25519"},
    Algorithm{"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"},
    Algorithm{"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"},
    Algorithm{"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"},
    Algorithm{"rsa-sha2-512", "ssh-rsa"},
    Algorithm{"rsa-sha2-256", "ssh-rsa"},
};

std::string_view key_type_of(std::string_view algorithm) {
    for (const Algorithm& known : algorithms_of_libssh2)
        if (known.name == algorithm)
            return known.key_type;
    return algorithm;
}

// Returns the fingerprint in the form of ssh-keygen -l.
std::string fingerprint(const Ssh2Session& session) {
    constexpr std::size_t sha256_size = 32;
    const char* hash = ::libssh2_hostkey_hash(session.get(), LIBSSH2_HOSTKEY_HASH_SHA256);
    if (!hash)
        return "without a fingerprint";
    std::string text =
        to_base64(std::span(reinterpret_cast<const unsigned char*>(hash), sha256_size));
    text.erase(text.find_last_not_of('=') + 1);
    return "SHA256:" + text;
}

} // namespace

Result<HostIdentity> HostIdentity::look_up(const std::string& host, std::uint16_t port,
                                           const std::vector<std::string>& files) {
    HostIdentity identity(host, port);
    std::vector<std::string> names;
    std::vector<KnownKey> without_port;
    for (const std::string& path : files) {
        const auto file = read_small_file(path, max_known_hosts);
        const bool is_missing = !file && file.error().code == ENOENT;
        names.push_back(path + (is_missing ? " (which does not exist)" : ""));
        if (is_missing)
            continue;
        if (!file)
            return in_context("cannot read the known hosts of " + path, file.error());
        for (KnownKey& key : known_keys(view_of(file->content), path, known_name(host, port)))
            identity.known_.push_back(std::move(key));
        for (KnownKey& key : known_keys(view_of(file->content), path, known_name(host, 22)))
            without_port.push_back(std::move(key));
    }
    identity.files_ = fmt::format("{}", fmt::join(names, " and "));
    // As in ssh(1), the keys of port 22 are also valid for another port that has none.
    if (identity.known_.empty())
        identity.known_ = std::move(without_port);
    return identity;
}

std::vector<std::string_view> HostIdentity::algorithms() const {
    std::vector<std::string_view> names;
    names.reserve(std::size(algorithms_of_libssh2));
    for (const Algorithm& algorithm : algorithms_of_libssh2)
        names.push_back(algorithm.name);
    std::stable_partition(names.begin(), names.end(), [&](std::string_view name) {
        return std::any_of(known_.begin(), known_.end(), [&](const KnownKey& key) {
            return key.type == key_type_of(name) && !key.revoked;
        });
    });
    return names;
}

Result<> HostIdentity::check(const Ssh2Session& session) const {
    std::size_t size = 0;
    int type = 0;
    const char* raw = ::libssh2_session_hostkey(session.get(), &size, &type);
    if (!raw)
        return fail(ErrorClass::link_lost, ECONNRESET, "the ssh server of {} has sent no host key",
                    host_);
    const std::span key(reinterpret_cast<const unsigned char*>(raw), size);
    const std::string text = to_base64(key);
    bool is_known = false;
    for (const KnownKey& known : known_) {
        if (known.key != text)
            continue;
        if (known.revoked)
            return fail(ErrorClass::target_refused, EACCES,
                        "the ssh host key of {} port {} is revoked by line {} of {}: do not trust "
                        "that host until its administrator has explained why",
                        host_, port_, known.line, known.file);
        is_known = true;
    }
    if (is_known)
        return {};
    return refuse(type_of(std::as_bytes(key)), fingerprint(session));
}

Failure HostIdentity::refuse(const std::string& shown_type, const std::string& shown) const {
    const KnownKey* other = nullptr;
    for (const KnownKey& key : known_)
        if (!key.revoked && (!other || (key.type == shown_type && other->type != shown_type)))
            other = &key;
    if (!other)
        return fail(ErrorClass::target_refused, EACCES,
                    "the ssh host key of {0} port {1} is not known ({2} {3} is shown; {4} has no "
                    "line for {5}): log in once with 'ssh -p {1} {0}' and compare the fingerprint, "
                    "or add the line that 'ssh-keyscan -p {1} {0}' prints",
                    host_, port_, shown_type, shown, files_, known_name(host_, port_));
    return fail(ErrorClass::target_refused, EACCES,
                "the ssh host key of {} port {} is not the known one: line {} of {} has another "
                "{} key than the {} {} that is shown. The target was installed anew, or somebody "
                "else answers in its place; if the change is right, remove the old key: "
                "ssh-keygen -f {} -R '{}'",
                host_, port_, other->line, other->file, other->type, shown_type, shown, other->file,
                known_name(host_, port_));
}

} // namespace rpmem::initiator::ssh2
