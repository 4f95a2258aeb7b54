// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/ssh2_session.hpp"

#include "librpmem/session/ssh2/secret.hpp"

#include <openssl/crypto.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator::ssh2 {
namespace {

using namespace std::string_view_literals;

// The algorithms that are used: the defaults of ssh(1) of OpenSSH 9.2, as far as libssh2 supports
// them. Signatures with SHA-1 (ssh-rsa, ssh-dss), CBC, and key exchanges of group 1 or with SHA-1
// are never used.
constexpr std::array key_exchanges = {
    "curve25519-sha256"sv,
    "curve25519-sha256@libssh.org"sv,
    "ecdh-sha2-nistp256"sv,
    "ecdh-sha2-nistp384"sv,
    "ecdh-sha2-nistp521"sv,
    "diffie-hellman-group-exchange-sha256"sv,
    "diffie-hellman-group16-sha512"sv,
    "diffie-hellman-group18-sha512"sv,
    "diffie-hellman-group14-sha256"sv,
};

constexpr std::array ciphers = {
    "chacha20-poly1305@openssh.com"sv,
    "aes128-ctr"sv,
    "aes192-ctr"sv,
    "aes256-ctr"sv,
    "aes128-gcm@openssh.com"sv,
    "aes256-gcm@openssh.com"sv,
};

// HMAC with SHA-1 is not a signature. ssh(1) accepts it too. It comes last.
constexpr std::array checksums = {
    "hmac-sha2-256-etm@openssh.com"sv,
    "hmac-sha2-512-etm@openssh.com"sv,
    "hmac-sha2-256"sv,
    "hmac-sha2-512"sv,
    "hmac-sha1-etm@openssh.com"sv,
    "hmac-sha1"sv,
};

struct Method {
    int number; // a constant LIBSSH2_METHOD_...
    const char* what;
    std::span<const std::string_view> names; // the best first
};

// The methods with a fixed list of algorithms above. The order of the host key algorithms depends
// on the known keys.
constexpr std::array methods = {
    Method{LIBSSH2_METHOD_KEX, "key exchange", key_exchanges},
    Method{LIBSSH2_METHOD_CRYPT_CS, "cipher", ciphers},
    Method{LIBSSH2_METHOD_CRYPT_SC, "cipher", ciphers},
    Method{LIBSSH2_METHOD_MAC_CS, "checksum", checksums},
    Method{LIBSSH2_METHOD_MAC_SC, "checksum", checksums},
};

// libssh2_init(3) must not run in two threads at once. libssh2_exit(3) is not called, because the
// application may use libssh2 too.
int initialised() {
    static const int status = ::libssh2_init(0);
    return status;
}

// libssh2 1.11.1 deprecates the first form, which passes a function as a pointer to an object.
template <typename Receive>
void call_to_receive(LIBSSH2_SESSION* session, Receive* receive) {
#if LIBSSH2_VERSION_NUM < 0x010b01
    ::libssh2_session_callback_set(session, LIBSSH2_CALLBACK_RECV,
                                   reinterpret_cast<void*>(receive));
#else
    ::libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_RECV,
                                    reinterpret_cast<libssh2_cb_generic*>(receive));
#endif
}

} // namespace

// A callback of libssh2, which expects a negative errno value after a failure.
ssize_t Ssh2Session::receive(libssh2_socket_t socket, void* buffer, std::size_t size, int flags,
                             void** context) {
    const auto& session = *static_cast<const Ssh2Session*>(*context);
    if (session.input_deadline_ && session.input_deadline_->passed())
        return -ETIMEDOUT;
    const ssize_t got = ::recv(socket, buffer, size, flags);
    // libssh2 decrypts in its buffer. Earlier packets may be left in the rest of it, which libssh2
    // does not need any more.
    const auto taken = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    ::OPENSSL_cleanse(static_cast<std::byte*>(buffer) + taken, size - taken);
    return got < 0 ? -(errno == EWOULDBLOCK || errno == EINTR ? EAGAIN : errno) : got;
}

Result<std::unique_ptr<Ssh2Session>>
Ssh2Session::start(UniqueFd socket, const std::string& server,
                   const std::vector<std::string_view>& host_key_algorithms,
                   const Deadline& deadline) {
    LIBSSH2_SESSION* const raw =
        initialised() == 0
            ? ::libssh2_session_init_ex(wiping_alloc, wiping_free, wiping_realloc, nullptr)
            : nullptr;
    if (!raw)
        return fail(ErrorClass::resource_limit, ENOMEM, "cannot initialise libssh2");
    std::unique_ptr<Ssh2Session> session(new Ssh2Session(std::move(socket), raw));
    *::libssh2_session_abstract(raw) = session.get();
    call_to_receive(raw, &Ssh2Session::receive);
    ::libssh2_session_set_blocking(raw, 0);
    RPMEM_TRY(session->prefer_all(host_key_algorithms));
    const auto handshake = [&] { return ::libssh2_session_handshake(raw, session->socket()); };
    RPMEM_ASSIGN(const auto status, session->complete(handshake, deadline));
    if (status != 0)
        return session->no_handshake(status, server);
    session->is_encrypted_ = true;
    return session;
}

Failure Ssh2Session::no_handshake(int status, const std::string& server) const {
    switch (status) {
    case LIBSSH2_ERROR_BANNER_RECV:
    case LIBSSH2_ERROR_SOCKET_DISCONNECT:
    case LIBSSH2_ERROR_SOCKET_RECV:
    case LIBSSH2_ERROR_SOCKET_SEND:
        return fail(ErrorClass::link_lost, ECONNRESET,
                    "the ssh server of {} closed the connection before the login: is it "
                    "overloaded (MaxStartups in its sshd_config), or does it refuse this machine? "
                    "({})",
                    server, last_error());
    case LIBSSH2_ERROR_KEX_FAILURE:
    case LIBSSH2_ERROR_METHOD_NONE:
    case LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE:
        return fail(ErrorClass::target_refused, EACCES,
                    "the ssh server of {} and libssh2 {} have no algorithms in common. Those that "
                    "sign with SHA-1 (ssh-rsa, ssh-dss), CBC, and key exchanges of group 1 or "
                    "with SHA-1 are not used; RPMEM_SSH_TRANSPORT=process logs in by ssh(1), which "
                    "may know others ({})",
                    server, ::libssh2_version(0), last_error());
    default:
        return fail(ErrorClass::link_lost, ECONNRESET,
                    "the handshake of the ssh server of {} with libssh2 {} failed: {}", server,
                    ::libssh2_version(0), last_error());
    }
}

Result<> Ssh2Session::prefer_all(std::span<const std::string_view> host_keys) const {
    RPMEM_TRY(prefer(LIBSSH2_METHOD_HOSTKEY, host_keys, "host key"));
#ifdef LIBSSH2_METHOD_SIGN_ALGO // libssh2 1.11 and later support RSA signatures with SHA-2
    if (::libssh2_session_method_pref(session_, LIBSSH2_METHOD_SIGN_ALGO,
                                      "rsa-sha2-512,rsa-sha2-256") != 0)
        return fail(ErrorClass::bug, EINVAL, "libssh2 {} has no rsa-sha2 signatures",
                    ::libssh2_version(0));
#endif
    for (const Method& method : methods)
        RPMEM_TRY(prefer(method.number, method.names, method.what));
    return {};
}

// Names that libssh2 does not support are left out here, because libssh2 1.10 would remove them
// with an overlapping copy.
Result<> Ssh2Session::prefer(int method, std::span<const std::string_view> names,
                             const char* what) const {
    const char** known = nullptr;
    const int count = ::libssh2_session_supported_algs(session_, method, &known);
    std::string list;
    for (const std::string_view name : names) {
        if (count <= 0 || std::find(known, known + count, name) == known + count)
            continue;
        list += list.empty() ? "" : ",";
        list += name;
    }
    if (count > 0)
        ::libssh2_free(session_, static_cast<void*>(known));
    if (list.empty() || ::libssh2_session_method_pref(session_, method, list.c_str()) != 0)
        return fail(ErrorClass::bug, EINVAL, "libssh2 {} has no {} algorithm that may be used",
                    ::libssh2_version(0), what);
    return {};
}

Ssh2Session::~Ssh2Session() {
    if (is_encrypted_)
        static_cast<void>(
            ::libssh2_session_disconnect_ex(session_, SSH_DISCONNECT_BY_APPLICATION, "done", ""));
    // After this, libssh2 has nothing to wait for.
    ::shutdown(socket_.get(), SHUT_RDWR);
    for (int attempt = 0; attempt < 100; ++attempt)
        if (::libssh2_session_free(session_) != LIBSSH2_ERROR_EAGAIN)
            return;
}

bool Ssh2Session::blocked_outward() const {
    return (::libssh2_session_block_directions(session_) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

std::string Ssh2Session::last_error() const {
    char* text = nullptr;
    const int code = ::libssh2_session_last_error(session_, &text, nullptr, 0);
    return text && *text ? text : fmt::format("error {} of libssh2", code);
}

Result<> Ssh2Session::await_socket(const Deadline& deadline) const {
    const int directions = ::libssh2_session_block_directions(session_);
    pollfd waiting = {socket_.get(), 0, 0};
    if (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND)
        waiting.events |= POLLOUT;
    if (directions & LIBSSH2_SESSION_BLOCK_INBOUND || directions == 0)
        waiting.events |= POLLIN;
    while (true) {
        const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
        if (ready > 0)
            return {};
        if (ready < 0 && errno != EINTR)
            return fail_errno(ErrorClass::bug, errno, "cannot wait for the ssh server (poll)");
        if (deadline.passed())
            return too_late();
    }
}

Failure Ssh2Session::too_late() {
    return fail(ErrorClass::link_lost, ETIMEDOUT,
                "the ssh server did not answer within the time allowed");
}

} // namespace rpmem::initiator::ssh2
