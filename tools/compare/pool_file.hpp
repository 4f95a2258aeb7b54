// SPDX-License-Identifier: BSD-3-Clause
// One file of a pool on this machine. Holes stay holes.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "tools/compare/range.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem::compare {

class PoolFile {
public:
    enum class Use { read, write };

    // A regular file. EINVAL if it is none, or empty.
    [[nodiscard]] static Result<PoolFile> open(const std::string& path, Use use);
    // Created if it does not exist; else it keeps its data, as far as SIZE goes.
    [[nodiscard]] static Result<PoolFile> make(const std::string& path, std::uint64_t size);

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    // There is no data in RANGE, only a hole, as far as the file system tells.
    [[nodiscard]] bool is_hole(Range range) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer) const;
    // Zeros become holes, or stay such.
    [[nodiscard]] Result<> write(std::uint64_t offset, std::span<const std::byte> data) const;
    [[nodiscard]] Result<> clear(Range range) const;
    // EINVAL if its size has changed since it was opened, so that it is no image of the pool.
    [[nodiscard]] Result<> make_durable() const;

private:
    PoolFile(UniqueFd fd, std::string path, std::uint64_t size)
        : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint64_t current_size() const;
    [[nodiscard]] Result<> write_data(std::uint64_t offset, std::span<const std::byte> data) const;

    UniqueFd fd_;
    std::string path_;
    std::uint64_t size_;
};

} // namespace rpmem::compare
