// SPDX-License-Identifier: BSD-3-Clause
// Refusals of requests: the status for the response, and how it follows from an error.
#pragma once

#include "common/base/result.hpp"
#include "common/wire/status.hpp"

#include <cerrno>
#include <string>
#include <utility>

namespace rpmem::target {

inline wire::Status status_of(const Error& error) {
    switch (error.code) {
    case EBADF:
        return wire::Status::bad_name;
    case EFBIG:
        return wire::Status::bad_size;
    case EBUSY:
        return wire::Status::busy;
    case EEXIST:
        return wire::Status::exists;
    case ENOENT:
        return wire::Status::not_found;
    case EACCES:
    case EPERM:
        return wire::Status::no_access;
    case EINVAL:
        return wire::Status::pool_configuration;
    case ESTALE:
        return wire::Status::stale;
    case EPROTONOSUPPORT:
    case EBADMSG:
        return wire::Status::bad_protocol;
    default:
        return wire::Status::fatal;
    }
}

// The status in the response, and the error text.
struct Refusal {
    wire::Status status;
    std::string reason;
};

template <typename T = void>
using Granted = tl::expected<T, Refusal>;
using NotGranted = tl::unexpected<Refusal>;

inline NotGranted refuse(wire::Status status, std::string reason) {
    return NotGranted(Refusal{status, std::move(reason)});
}
inline NotGranted refuse(const Error& error) { return refuse(status_of(error), error.text); }

} // namespace rpmem::target
