#include "medium.hpp"

#include <libpmem.h>

#include <cerrno>
#include <cstring>

namespace rpmem::bench {

Result<Medium> Medium::map(const std::string& path, std::size_t size) {
    std::size_t mapped = 0;
    int is_pmem = 0;
    void* const address =
        pmem_map_file(path.c_str(), size, PMEM_FILE_CREATE, 0600, &mapped, &is_pmem);
    if (address == nullptr)
        return fail(ErrorClass::caller_fault, errno, "cannot map {} bytes of {}: {}", size, path,
                    pmem_errormsg());
    return Medium(std::span(static_cast<std::byte*>(address), mapped), is_pmem != 0);
}

Medium::~Medium() {
    if (!bytes_.empty())
        pmem_unmap(bytes_.data(), bytes_.size());
}

Result<> Medium::write(std::span<const std::byte> bytes) const {
    if (is_pmem_) {
        pmem_memcpy_persist(bytes_.data(), bytes.data(), bytes.size());
        return {};
    }
    std::memcpy(bytes_.data(), bytes.data(), bytes.size());
    if (pmem_msync(bytes_.data(), bytes.size()) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot sync the medium");
    return {};
}

} // namespace rpmem::bench
