#include "common/transport/secret.hpp"

#include <openssl/crypto.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::transport {

Result<Secret> Secret::make() {
    void* const page =
        ::mmap(nullptr, secret_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot get a page of memory for a key of the lanes");
    // A kernel that dumps it all the same still has it wiped.
    static_cast<void>(::madvise(page, secret_size, MADV_DONTDUMP));
    return Secret(static_cast<std::byte*>(page));
}

Result<Secret> Secret::copy_of(std::span<const std::byte, secret_size> bytes) {
    auto secret = make();
    if (secret)
        std::ranges::copy(bytes, secret->bytes().begin());
    return secret;
}

Result<Secret> Secret::random(Random& source) {
    auto secret = make();
    if (secret)
        RPMEM_TRY(source.fill(secret->bytes()));
    return secret;
}

Secret::~Secret() {
    if (!page_)
        return;
    ::OPENSSL_cleanse(page_, secret_size);
    static_cast<void>(::munmap(page_, secret_size));
}

} // namespace rpmem::transport
