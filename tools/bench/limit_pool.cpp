#include "tools/bench/limit_pool.hpp"

#include <libpmem.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace rpmem::bench {

Result<LimitPool> LimitPool::map(const std::string& path, std::size_t size) {
    LimitPool pool;
    std::size_t mapped = size;
    int is_pmem = 1; // memory is flushed as persistent memory is
    void* const address =
        path.empty()
            ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : pmem_map_file(path.c_str(), size, PMEM_FILE_CREATE, 0600, &mapped, &is_pmem);
    if (address == nullptr || address == MAP_FAILED)
        return fail(ErrorClass::caller_fault, errno, "cannot map {} bytes of {}: {}", size,
                    path.empty() ? "memory" : path,
                    path.empty() ? std::strerror(errno) : pmem_errormsg());
    pool.bytes_ = std::span(static_cast<std::byte*>(address), mapped);
    pool.is_pmem_ = is_pmem != 0;
    std::memset(address, 0, mapped);
    return pool;
}

LimitPool::~LimitPool() {
    if (!bytes_.empty())
        pmem_unmap(bytes_.data(), bytes_.size());
}

void LimitPool::copy(std::size_t offset, std::span<const std::byte> bytes) const {
    if (is_pmem_)
        pmem_memcpy(bytes_.data() + offset, bytes.data(), bytes.size(), PMEM_F_MEM_NODRAIN);
    else
        std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
}

Result<> LimitPool::drain(std::size_t offset, std::size_t size) const {
    if (is_pmem_)
        pmem_drain();
    else if (pmem_msync(bytes_.data() + offset, size) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot sync the medium");
    return {};
}

} // namespace rpmem::bench
