// SPDX-License-Identifier: BSD-3-Clause
// Getting the parts of a new pool together, all or nothing.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"
#include "rpmemd/pools/part_file.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace rpmem::target {

// Parts of a pool in the making. Unless keep() is called, the files that were made are removed in
// the end, and headers written to files that existed are cleared again.
class PendingParts {
public:
    // EEXIST: a part holds a pool, or has another size than POOL_SET says; EFBIG: SIZE bytes do not
    // fit; EBUSY: a part is in use.
    static Result<PendingParts> claim(const PoolSet& pool_set, std::uint64_t size,
                                      PartRules rules = {});

    explicit PendingParts(HeaderLayout layout, PartRules rules = {})
        : layout_(layout), rules_(std::move(rules)) {}
    PendingParts(PendingParts&& other) noexcept;
    PendingParts& operator=(PendingParts&&) = delete;
    ~PendingParts();

    [[nodiscard]] const std::vector<PartFile>& parts() const { return parts_; }
    Result<> write_headers(const std::vector<PoolHeader>& headers);
    // As PartFile::make_durable(), of all parts.
    Result<> make_durable() const;
    std::vector<PartFile> keep();
    // Adds a file to be made, or one that exists.
    Result<> make(const std::filesystem::path& path, std::uint64_t size);
    Result<> open(const std::filesystem::path& path);
    void add(PartFile part) { parts_.push_back(std::move(part)); }

private:
    // The medium has refused the first LENGTH bytes of PART.
    Failure failed(const PartFile& part, std::uint64_t length, const Error& error) const;
    Result<> claim_files(const PoolSet& pool_set, std::uint64_t size);
    Result<> claim_in_directories(const PoolSet& pool_set, std::uint64_t size);

    HeaderLayout layout_;
    PartRules rules_;
    std::vector<PartFile> parts_;
    bool headers_written_ = false;
};

} // namespace rpmem::target
