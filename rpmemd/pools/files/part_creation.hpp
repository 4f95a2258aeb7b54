// SPDX-License-Identifier: BSD-3-Clause
// Collects the parts of a pool that is being created or opened, all or nothing.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/files/part_file.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace rpmem::target {

// Unless keep() is called, the destructor removes the files that were created, and clears the
// headers that write_headers() wrote to existing parts.
class PendingParts {
public:
    // Opens or creates the parts of a new pool. Fails with
    //   EEXIST  a part holds a pool, or its size is not that in POOL_SET
    //   EFBIG   SIZE bytes do not fit
    //   EBUSY   a part is in use
    //   EINVAL  POOL_SET is invalid, or a part of size AUTO is missing
    // and like PartFile.
    static Result<PendingParts> claim(const PoolSet& pool_set, std::uint64_t size,
                                      PartRules rules = {});

    explicit PendingParts(HeaderLayout layout, PartRules rules = {})
        : layout_(layout), rules_(std::move(rules)) {}
    PendingParts(PendingParts&& other) noexcept;
    PendingParts& operator=(PendingParts&&) = delete;
    ~PendingParts();

    [[nodiscard]] const std::vector<PartFile>& parts() const { return parts_; }
    Result<> write_headers(const std::vector<PoolHeader>& headers);
    // Calls PartFile::make_durable() for all parts, and returns the first error. After an error,
    // also drops the parts from the page cache.
    Result<> make_durable() const;
    // Hands the parts to the caller. The destructor then undoes nothing.
    std::vector<PartFile> keep();
    // Creates a part, or opens an existing one, and adds it.
    Result<> make(const std::filesystem::path& path, std::uint64_t size);
    Result<> open(const std::filesystem::path& path);
    void add(PartFile part) { parts_.push_back(std::move(part)); }

private:
    // Records that the first LENGTH bytes of PART could not be made durable.
    Failure failed(const PartFile& part, std::uint64_t length, const Error& error) const;
    Result<> claim_files(const PoolSet& pool_set, std::uint64_t size);
    Result<> claim_in_directories(const PoolSet& pool_set, std::uint64_t size);

    HeaderLayout layout_;
    PartRules rules_;
    std::vector<PartFile> parts_;
    bool headers_written_ = false;
};

} // namespace rpmem::target
