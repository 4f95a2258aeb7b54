// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/login.hpp"

#include "librpmem/session/ssh2/agent.hpp"
#include "librpmem/session/ssh2/key_file.hpp"
#include "librpmem/session/ssh2/secret.hpp"
#include "librpmem/session/ssh2/small_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>

namespace rpmem::initiator::ssh2 {
namespace {

constexpr std::size_t max_key_file = std::size_t{1} << 16;

// From this version on libssh2 signs with RSA keys by SHA-2.
constexpr int version_with_rsa_sha2 = 0x010b00;

// Returns the signature without its type.
using Sign =
    std::function<Result<Bytes>(std::span<const std::byte> data, const std::string& algorithm)>;

// Returns the algorithm, which the signed request contains, see RFC 4252, section 7.
std::string algorithm_of(std::span<const std::byte> data) {
    wire::ByteReader reader(data);
    static_cast<void>(take_string(reader)); // session
    static_cast<void>(reader.big_endian<std::uint8_t>());
    for (int field = 0; field < 3; ++field) // user, service, method
        static_cast<void>(take_string(reader));
    static_cast<void>(reader.big_endian<std::uint8_t>());
    return text_of(take_string(reader).value_or(Bytes()));
}

// The context of sign_for_libssh2(), which libssh2 calls.
struct Signing {
    const Sign& sign;
    std::string fault; // why it has failed
};

int sign_for_libssh2(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* size,
                     const unsigned char* data, std::size_t data_size, void** context) {
    auto& signing = *static_cast<Signing*>(*context);
    const auto bytes = std::as_bytes(std::span(data, data_size));
    try {
        const auto made = signing.sign(bytes, algorithm_of(bytes));
        if (!made) {
            signing.fault = made.error().text;
            return -1;
        }
        *signature =
            static_cast<unsigned char*>(wiping_alloc(made->size(), nullptr)); // libssh2 frees it
        if (!*signature)
            return -1;
        std::memcpy(*signature, made->data(), made->size());
        *size = made->size();
        return 0;
    } catch (...) { // out of memory; nothing may be thrown through C
        return -1;
    }
}

// Before 1.11, libssh2 uses the type of the key as the algorithm. "ssh-rsa" means a signature with
// SHA-1, which servers refuse. sshd(8) also accepts the name of a newer algorithm as the type.
Bytes named_for_libssh2(Bytes public_key) {
    if (::libssh2_version(version_with_rsa_sha2) || type_of(public_key) != "ssh-rsa")
        return public_key;
    wire::ByteReader reader(public_key);
    static_cast<void>(take_string(reader));
    wire::ByteWriter writer(public_key.size() + 8);
    put_string(writer, "rsa-sha2-512");
    writer.raw(reader.rest());
    return writer.take();
}

bool is_usable(const std::string& type) {
    constexpr std::array types = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                  "ecdsa-sha2-nistp521", "ssh-rsa"};
    return std::find(types.begin(), types.end(), type) != types.end();
}

class Attempt {
public:
    Attempt(const Ssh2Session& session, const Login& login, const Deadline& deadline)
        : session_(session), login_(login), deadline_(deadline) {}

    Result<> run();

private:
    // Those that return Result<bool> return whether the login is complete. They fail if it cannot
    // continue.
    Result<bool> try_all();
    Result<bool> try_agent(const std::string& socket);
    Result<bool> try_file(const std::string& path);
    Result<bool> try_key(const Bytes& public_key, const Sign& sign, const std::string& name);
    Result<bool> conclude(const Result<int>& status, const std::string& name,
                          const std::string& fault);
    Result<> ask_for_methods();
    bool pass_over(const std::string& name, std::string_view why);

    const Ssh2Session& session_;
    const Login& login_;
    const Deadline& deadline_;
    std::string methods_; // methods that the server allows
    std::vector<std::string> tried_;
};

Result<> Attempt::run() {
    RPMEM_TRY(ask_for_methods());
    if (::libssh2_userauth_authenticated(session_.get()))
        return {};
    RPMEM_ASSIGN(const bool done, try_all());
    if (done)
        return {};
    return fail(
        ErrorClass::target_refused, EACCES,
        "the ssh login as {} failed. The server accepts {}. Tried: {}. Add the public key of one "
        "to ~/.ssh/authorized_keys of {} on the target",
        login_.user, methods_,
        tried_.empty() ? "no key, neither in ssh-agent nor in ~/.ssh (see ssh-keygen(1))"
                       : fmt::format("{}", fmt::join(tried_, ", ")),
        login_.user);
}

Result<> Attempt::ask_for_methods() {
    const char* list = nullptr;
    RPMEM_TRY(session_.complete(
        [&] {
            list = ::libssh2_userauth_list(session_.get(), login_.user.c_str(),
                                           static_cast<unsigned>(login_.user.size()));
            return list ? 0 : ::libssh2_session_last_errno(session_.get());
        },
        deadline_));
    if (list)
        methods_ = list;
    return {};
}

Result<bool> Attempt::try_all() {
    if (const char* socket = ::secure_getenv("SSH_AUTH_SOCK");
        socket && *socket && login_.use_agent) {
        auto done = try_agent(socket);
        if (!done || *done)
            return done;
    }
    for (const std::string& path : login_.key_files) {
        auto done = try_file(path);
        if (!done || *done)
            return done;
    }
    return false;
}

// Records why NAME did not work. Returns false: the login is not complete.
bool Attempt::pass_over(const std::string& name, std::string_view why) {
    tried_.push_back(fmt::format("{} ({})", name, why));
    return false;
}

Result<bool> Attempt::try_agent(const std::string& socket) {
    const auto agent = Agent::connect(socket);
    if (!agent)
        return pass_over("ssh-agent at " + socket, agent.error().text);
    const auto identities = agent->identities(deadline_);
    if (!identities)
        return pass_over("ssh-agent at " + socket, identities.error().text);
    for (const Agent::Identity& identity : *identities) {
        const std::string type = type_of(identity.public_key);
        const std::string name = fmt::format("{} '{}' of ssh-agent", type, identity.comment);
        if (!is_usable(type)) {
            pass_over(name, "libssh2 cannot use keys of this type");
            continue;
        }
        const auto sign = [&](std::span<const std::byte> data,
                              const std::string& algorithm) -> Result<Bytes> {
            if (algorithm == "ssh-rsa")
                return fail(ErrorClass::target_refused, EACCES,
                            "the server accepts only ssh-rsa (SHA-1) signatures for this key; they "
                            "are disabled");
            RPMEM_ASSIGN(const auto whole,
                         agent->sign(identity.public_key, data, algorithm, deadline_));
            wire::ByteReader reader(whole);
            static_cast<void>(take_string(reader)); // type of the signature
            return take_string(reader).value_or(Bytes());
        };
        auto done = try_key(identity.public_key, sign, name);
        if (!done || *done)
            return done;
    }
    return false;
}

Result<bool> Attempt::try_file(const std::string& path) {
    const auto file = read_small_file(path, max_key_file);
    if (!file && file.error().code == ENOENT && login_.key_files.size() > 1)
        return false;
    if (!file)
        return pass_over(path, file.error().text);
    if ((file->status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return pass_over(path, "not used: others may read it; chmod 600 it");
    const auto type = key_type(view_of(file->content));
    if (!type)
        return pass_over(path, type.error().text);
    if (*type == KeyType::rsa && !::libssh2_version(version_with_rsa_sha2))
        return pass_over(path, fmt::format("libssh2 {} signs with the RSA key of a file by SHA-1 "
                                           "only, which is not used; add the key to ssh-agent with "
                                           "ssh-add, use an ed25519 or ECDSA key, or libssh2 1.11",
                                           ::libssh2_version(0)));
    const std::string line = public_key_line(view_of(file->content));
    return conclude(session_.complete(
                        [&] {
                            return ::libssh2_userauth_publickey_frommemory(
                                session_.get(), login_.user.c_str(), login_.user.size(),
                                line.empty() ? nullptr : line.data(), line.size(),
                                file->content.data(), file->content.size(), nullptr);
                        },
                        deadline_),
                    path, "");
}

Result<bool> Attempt::try_key(const Bytes& public_key, const Sign& sign, const std::string& name) {
    const Bytes key = named_for_libssh2(public_key);
    Signing signing{sign, ""};
    void* context = &signing;
    const auto status = session_.complete(
        [&] {
            return ::libssh2_userauth_publickey(session_.get(), login_.user.c_str(),
                                                reinterpret_cast<const unsigned char*>(key.data()),
                                                key.size(), sign_for_libssh2, &context);
        },
        deadline_);
    return conclude(status, name, signing.fault);
}

Result<bool> Attempt::conclude(const Result<int>& completed, const std::string& name,
                               const std::string& fault) {
    RPMEM_ASSIGN(const int status, completed);
    if (status == 0)
        return true;
    const bool is_refused = status == LIBSSH2_ERROR_AUTHENTICATION_FAILED ||
                            status == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED;
    const std::string why = !fault.empty() ? fault
                            : is_refused   ? "not accepted"
                                           : session_.last_error();
    pass_over(name, why);
    if (status == LIBSSH2_ERROR_SOCKET_DISCONNECT || status == LIBSSH2_ERROR_SOCKET_RECV ||
        status == LIBSSH2_ERROR_SOCKET_SEND)
        // A server that is shutting down ends the login, too, so a reconnect tries again.
        return fail(ErrorClass::link_lost, EACCES,
                    "the ssh server ended the login as {} after these keys: {}. A server accepts "
                    "few attempts in one login (MaxAuthTries): set RPMEM_SSH_KEY to the right key",
                    login_.user, fmt::join(tried_, ", "));
    return false;
}

} // namespace

Result<> log_in(const Ssh2Session& session, const Login& login, const Deadline& deadline) {
    return Attempt(session, login, deadline).run();
}

} // namespace rpmem::initiator::ssh2
