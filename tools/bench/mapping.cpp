#include "tools/bench/mapping.hpp"

#include <libpmem.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace rpmem::bench {

Result<Mapping> Mapping::memory(std::size_t size, Pages pages) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (pages == Pages::touched ? MAP_POPULATE : 0);
    void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (address == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot map {} bytes of memory", size);
    return Mapping(address, size, true); // it is flushed as persistent memory is
}

Result<Mapping> Mapping::file(const std::string& path, std::size_t size) {
    std::size_t mapped = 0;
    int is_pmem = 0;
    void* const address =
        pmem_map_file(path.c_str(), size, PMEM_FILE_CREATE, 0600, &mapped, &is_pmem);
    if (address == nullptr)
        return fail(ErrorClass::caller_fault, errno, "cannot map {} bytes of {}: {}", size, path,
                    pmem_errormsg());
    std::memset(address, 0, mapped);
    return Mapping(address, mapped, is_pmem != 0);
}

void Unmap::operator()(std::byte* address) const { pmem_unmap(address, size); }

void Mapping::copy(std::size_t offset, std::span<const std::byte> bytes) const {
    if (is_pmem_)
        pmem_memcpy(&bytes_[offset], bytes.data(), bytes.size(), PMEM_F_MEM_NODRAIN);
    else
        std::memcpy(&bytes_[offset], bytes.data(), bytes.size());
}

Result<> Mapping::drain(std::size_t offset, std::size_t size) const {
    if (is_pmem_)
        pmem_drain();
    else if (pmem_msync(&bytes_[offset], size) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot sync the medium");
    return {};
}

} // namespace rpmem::bench
