// One part of a pool: a locked file or Device DAX.
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "pools/pool_header.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace rpmem::target {

// True: nobody waits for the pool any more. Empty: never.
using Cancelled = std::function<bool()>;

class PartFile {
public:
    enum class Access { read_write, read_only };
    // Locks the part, to read shared with others who do so. ENOENT, EBUSY: locked by another;
    // EINVAL: neither file nor Device DAX.
    static Result<PartFile> open(const std::filesystem::path& path,
                                 Access access = Access::read_write);
    // Makes a new file of SIZE bytes, all of them allocated; only its owner may use it until
    // publish(). EEXIST, ECANCELED. Nothing is left behind on failure.
    static Result<PartFile> make(const std::filesystem::path& path, std::uint64_t size,
                                 const Cancelled& cancelled = {});

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool is_device_dax() const { return device_dax_; }
    [[nodiscard]] std::uint64_t alignment() const { return alignment_; } // that mappings need
    [[nodiscard]] bool is_new() const { return new_; }                   // by make()
    [[nodiscard]] int protection() const;                                // of its mappings

    // The header page; durable on return.
    [[nodiscard]] Result<PoolHeader> read_header() const;
    [[nodiscard]] Result<> write_header(const PoolHeader& header) const;

    // Allocates all of a sparse file, so that no store into it can fail later. ECANCELED.
    [[nodiscard]] Result<> allocate(const Cancelled& cancelled = {}) const;
    // Gives a new file mode 0666 and makes it and its name durable; an old one is left as it is.
    [[nodiscard]] Result<> publish() const;
    // Removes the file; of a Device DAX, clears the header page if HAS_HEADER.
    [[nodiscard]] Result<> remove(bool has_header) const;

private:
    PartFile(UniqueFd fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}
    Result<> lock() const; // as ACCESS of open() needs it
    [[nodiscard]] bool is_still_at_path() const;
    Result<> examine();

    UniqueFd fd_;
    std::filesystem::path path_;
    std::uint64_t size_ = 0;
    std::uint64_t alignment_ = 1;
    bool device_dax_ = false;
    bool new_ = false;
    Access access_ = Access::read_write;
};

// Makes a change of names in the directory of PATH durable.
Result<> sync_directory_of(const std::filesystem::path& path);

} // namespace rpmem::target
