// SPDX-License-Identifier: BSD-3-Clause
// A file on this machine that is an image of a pool: byte N of the one is byte N of the other.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem::ctl {

class ImageFile {
public:
    // A regular file. EINVAL if it is none, or empty.
    [[nodiscard]] static Result<ImageFile> open(const std::string& path);
    // Made if it is not there; else it keeps its data, as far as SIZE goes.
    [[nodiscard]] static Result<ImageFile> make(const std::string& path, std::uint64_t size);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    // There is no data in [BEGIN, END), only a hole, as far as the file system tells.
    [[nodiscard]] bool is_hole(std::uint64_t begin, std::uint64_t end) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer) const;
    // Zeros become holes, or stay such.
    [[nodiscard]] Result<> write(std::uint64_t offset, std::span<const std::byte> data) const;
    [[nodiscard]] Result<> clear(std::uint64_t begin, std::uint64_t end) const;
    // EINVAL: its size is another one now, so that it is no image of the pool.
    [[nodiscard]] Result<> make_durable() const;

private:
    ImageFile(UniqueFd fd, std::string path, std::uint64_t size)
        : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}
    [[nodiscard]] std::uint64_t current_size() const;
    [[nodiscard]] Result<> write_data(std::uint64_t offset, std::span<const std::byte> data) const;

    UniqueFd fd_;
    std::string path_;
    std::uint64_t size_;
};

} // namespace rpmem::ctl
