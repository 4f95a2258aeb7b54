// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/secret.hpp"

#include <openssl/crypto.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::transport {

void* take_secret_pages(std::size_t size) noexcept {
    const std::size_t mapped = std::max<std::size_t>(size, 1);
    void* const pages =
        ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return nullptr;
    // If this fails, a core dump contains the pages until they are wiped.
    static_cast<void>(::madvise(pages, mapped, MADV_DONTDUMP));
    return pages;
}

void wipe_secret_pages(void* pages, std::size_t size) noexcept {
    ::OPENSSL_cleanse(pages, size);
    static_cast<void>(::munmap(pages, std::max<std::size_t>(size, 1)));
}

Result<Secret> Secret::make() {
    Secret secret(static_cast<std::byte*>(take_secret_pages(secret_size)));
    if (!secret.page_)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot get a page of memory for a key of the lanes");
    return secret;
}

Result<Secret> Secret::copy_of(std::span<const std::byte, secret_size> bytes) {
    auto secret = make();
    if (secret)
        std::ranges::copy(bytes, secret->bytes().begin());
    return secret;
}

} // namespace rpmem::transport
