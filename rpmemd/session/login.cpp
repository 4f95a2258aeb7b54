// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/login.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"

#include <cerrno>

namespace rpmem::target {

std::string text_of(std::span<const char> field) {
    return printable(fixed_text({field.data(), field.size()})).substr(0, max_record_text);
}

Result<Owner> owner_of(const wire::LoginRequest& request,
                       const transport::ControlTranscript& transcript) {
    const bool shown = request.takeover != wire::TakeoverKey{};
    if (shown != (request.generation > 0))
        return fail(ErrorClass::target_refused, EBADMSG,
                    "LOGIN of generation {} was sent {} a takeover key", request.generation,
                    shown ? "with" : "without");
    Owner owner;
    bool hashed = false;
    if (shown) {
        hashed = transport::sha256({request.takeover}, owner);
    } else {
        RPMEM_ASSIGN(const auto key, transcript.takeover_key());
        hashed = transport::sha256({key.bytes()}, owner);
    }
    if (!hashed)
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash");
    return owner;
}

} // namespace rpmem::target
