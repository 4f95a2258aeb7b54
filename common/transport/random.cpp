#include "common/transport/random.hpp"

#include <sys/random.h>

#include <cerrno>

namespace rpmem::transport {

Result<> SystemRandom::fill(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0 && errno != EINTR)
            return fail_errno(ErrorClass::resource_limit, errno,
                              "cannot get {} random bytes of the kernel", bytes.size());
        if (got > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return {};
}

} // namespace rpmem::transport
