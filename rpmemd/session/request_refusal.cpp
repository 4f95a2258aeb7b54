// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/request_refusal.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace rpmem::target {
namespace {

struct StatusCode {
    wire::Status status;
    int code; // the first one of a status is the one that refuse() gives
};

// No system call of the daemon fails with ECHRNG, EPFNOSUPPORT, EMEDIUMTYPE, EBADRQC or
// ECONNABORTED.
constexpr StatusCode entries[] = {
    {wire::Status::bad_name, EBADF},
    {wire::Status::bad_size, EFBIG},
    {wire::Status::bad_lanes, ECHRNG},
    {wire::Status::bad_provider, EPFNOSUPPORT},
    {wire::Status::provider_not_supported, EMEDIUMTYPE},
    {wire::Status::busy, EBUSY},
    {wire::Status::exists, EEXIST},
    {wire::Status::not_found, ENOENT},
    {wire::Status::no_access, EACCES},
    {wire::Status::no_access, EPERM},
    {wire::Status::pool_configuration, EINVAL},
    {wire::Status::stale, ESTALE},
    {wire::Status::bad_state, EBADRQC},
    {wire::Status::bad_protocol, EPROTONOSUPPORT},
    {wire::Status::bad_protocol, EBADMSG},
    {wire::Status::fatal_connection, ECONNABORTED},
    {wire::Status::fatal, EREMOTEIO},
};

} // namespace

wire::Status status_of(const Error& error) {
    const auto* const entry = std::ranges::find(entries, error.code, &StatusCode::code);
    return entry != std::end(entries) ? entry->status : wire::Status::fatal;
}

Failure refuse(wire::Status status, std::string reason) {
    const auto* const entry = std::ranges::find(entries, status, &StatusCode::status);
    const int code = entry != std::end(entries) ? entry->code : EREMOTEIO;
    return Failure(Error{code, ErrorClass::target_refused, std::move(reason)});
}

} // namespace rpmem::target
