// SPDX-License-Identifier: BSD-3-Clause
// A file of a pool on this machine: an image, or a part. Reading and writing keep it sparse.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "tools/compare/range.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem::compare {

inline constexpr mode_t own_file = 0600; // like the parts of a pool

// Returns the failure of the system call that has just failed: "cannot WHAT PATH", and the reason.
[[nodiscard]] Failure cannot(const char* what, const std::string& path);

class PoolFile {
public:
    enum class Use { read, write };

    // Fails with EINVAL if PATH is not a regular file, or is empty.
    [[nodiscard]] static Result<PoolFile> open(const std::string& path, Use use);
    // Opens PATH for writing and sets its size. Creates it if it does not exist; otherwise it keeps
    // its data up to SIZE. Fails with EINVAL if PATH is not a regular file.
    [[nodiscard]] static Result<PoolFile> make(const std::string& path, std::uint64_t size);

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    // Returns whether RANGE is a hole within the file. Returns false if the file system does not
    // report holes.
    [[nodiscard]] bool is_hole(Range range) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer) const;
    // Writes DATA. Blocks of zeros become holes, or stay holes.
    [[nodiscard]] Result<> write(std::uint64_t offset, std::span<const std::byte> data) const;
    // Makes RANGE a hole, or writes zeros if the file system has no holes.
    [[nodiscard]] Result<> clear(Range range) const;
    // Fails with EINVAL if another process has changed the size since the file was opened, because
    // the file is then no image of the pool.
    [[nodiscard]] Result<> make_durable() const;

private:
    PoolFile(UniqueFd fd, std::string path, std::uint64_t size)
        : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}
    [[nodiscard]] std::uint64_t current_size() const;
    [[nodiscard]] Result<> write_data(std::uint64_t offset, std::span<const std::byte> data) const;

    UniqueFd fd_;
    std::string path_;
    std::uint64_t size_;
};

} // namespace rpmem::compare
