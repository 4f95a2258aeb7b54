// SPDX-License-Identifier: BSD-3-Clause
// Anonymous memory, or a mapped file that libpmem makes durable, as in rpmemd.
#pragma once

#include "common/base/result.hpp"

#include <libpmem.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace rpmem::bench {

struct Unmap {
    std::size_t size = 0;
    void operator()(std::byte* address) const { pmem_unmap(address, size); }
};

class Mapping {
public:
    Mapping() = default;

    // All pages are populated, so that no page fault is measured.
    static Result<Mapping> memory(std::size_t size) {
        void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (address == MAP_FAILED)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot map {} bytes", size);
        return Mapping(address, size, true); // flushed like persistent memory
    }

    // Creates the file if it is missing, sets its size to SIZE, and fills it with zeros.
    static Result<Mapping> file(const std::string& path, std::size_t size) {
        int is_pmem = 0;
        void* const address =
            pmem_map_file(path.c_str(), size, PMEM_FILE_CREATE, 0600, nullptr, &is_pmem);
        if (address == nullptr)
            return fail(ErrorClass::caller_fault, errno, "cannot map {} bytes of {}: {}", size,
                        path, pmem_errormsg());
        std::memset(address, 0, size);
        return Mapping(address, size, is_pmem != 0);
    }

    static Result<Mapping> existing_file(const std::string& path) {
        int is_pmem = 0;
        std::size_t size = 0;
        void* const address = pmem_map_file(path.c_str(), 0, 0, 0, &size, &is_pmem);
        if (address == nullptr)
            return fail(ErrorClass::caller_fault, errno, "cannot map {}: {}", path,
                        pmem_errormsg());
        return Mapping(address, size, is_pmem != 0);
    }

    [[nodiscard]] std::span<std::byte> bytes() const {
        return {bytes_.get(), bytes_.get_deleter().size};
    }

    // Copies BYTES to OFFSET. On persistent memory, also starts to flush the cache lines, and does
    // not wait for that.
    void copy(std::size_t offset, std::span<const std::byte> bytes) const {
        if (is_pmem_)
            pmem_memcpy(&bytes_[offset], bytes.data(), bytes.size(), PMEM_F_MEM_NODRAIN);
        else
            std::memcpy(&bytes_[offset], bytes.data(), bytes.size());
    }

    // Makes the data that were copied to this range durable.
    [[nodiscard]] Result<> drain(std::size_t offset, std::size_t size) const {
        if (is_pmem_)
            pmem_drain();
        else if (pmem_msync(&bytes_[offset], size) != 0)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot sync the medium");
        return {};
    }

private:
    Mapping(void* address, std::size_t size, bool is_pmem)
        : bytes_(static_cast<std::byte*>(address), Unmap{size}), is_pmem_(is_pmem) {}

    std::unique_ptr<std::byte[], Unmap> bytes_;
    bool is_pmem_ = true;
};

} // namespace rpmem::bench
