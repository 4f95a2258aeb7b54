#include "session/ssh2/ssh2_session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::ssh2 {
namespace {

// libssh2_init(3) must not run twice at the same time. It stays initialised: the application may
// use libssh2 as well.
int initialised() {
    static const int status = ::libssh2_init(0);
    return status;
}

} // namespace

Result<std::unique_ptr<Ssh2Session>>
Ssh2Session::start(UniqueFd socket, const std::vector<std::string_view>& host_key_algorithms,
                   const Deadline& deadline) {
    LIBSSH2_SESSION* const raw = initialised() == 0
                                     ? ::libssh2_session_init_ex(nullptr, nullptr, nullptr, nullptr)
                                     : nullptr;
    if (!raw)
        return fail(ErrorClass::resource_limit, ENOMEM, "libssh2 cannot be initialised");
    std::unique_ptr<Ssh2Session> session(new Ssh2Session(std::move(socket), raw));
    ::libssh2_session_set_blocking(raw, 0);
    RPMEM_TRY(session->prefer(host_key_algorithms));
    const auto status = session->complete(
        [&] { return ::libssh2_session_handshake(raw, session->socket()); }, deadline);
    if (!status)
        return Failure(status.error());
    if (*status != 0)
        return fail(ErrorClass::link_lost, ECONNRESET,
                    "the ssh server and libssh2 {} do not come to terms: {}", LIBSSH2_VERSION,
                    session->last_error());
    session->is_encrypted_ = true;
    return session;
}

// Names that libssh2 does not know are left out here: 1.10 takes them out with a copy that
// overlaps.
Result<> Ssh2Session::prefer(const std::vector<std::string_view>& host_key_algorithms) const {
    const char** known = nullptr;
    const int count = ::libssh2_session_supported_algs(session_, LIBSSH2_METHOD_HOSTKEY, &known);
    std::string list;
    for (const std::string_view algorithm : host_key_algorithms) {
        if (count <= 0 || std::find(known, known + count, algorithm) == known + count)
            continue;
        list += list.empty() ? "" : ",";
        list += algorithm;
    }
    if (count > 0)
        ::libssh2_free(session_, static_cast<void*>(known));
    if (::libssh2_session_method_pref(session_, LIBSSH2_METHOD_HOSTKEY, list.c_str()) != 0)
        return fail(ErrorClass::bug, EINVAL, "libssh2 knows none of the usual host key algorithms");
    return {};
}

Ssh2Session::~Ssh2Session() {
    if (is_encrypted_)
        static_cast<void>(
            ::libssh2_session_disconnect_ex(session_, SSH_DISCONNECT_BY_APPLICATION, "done", ""));
    // From here on libssh2 has nothing to wait for.
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
            return fail(ErrorClass::link_lost, ETIMEDOUT,
                        "the ssh server did not answer within the time allowed "
                        "(RPMEM_CONNECT_TIMEOUT)");
    }
}

} // namespace rpmem::ssh2
