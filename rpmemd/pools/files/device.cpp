// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/device.hpp"

#include <libpmem2.h>

#include <cerrno>
#include <cstring>

namespace rpmem::target {
namespace {

constexpr std::size_t max_id = std::size_t{1} << 16;

// libpmem2 returns a negative errno value, or one of its own codes from -100000 down. It does not
// always set an error text.
Failure device_failure(int code, const char* what, const std::string& path) {
    const bool from_system = code > -100000;
    std::string why = pmem2_errormsg();
    if (why.empty() && code == PMEM2_E_INVALID_FILE_TYPE)
        why = "it is neither a regular file nor a Device DAX";
    else if (why.empty())
        why = from_system ? strerror(-code) : fmt::format("libpmem2 fails with {}", code);
    return fail(ErrorClass::resource_limit, from_system ? -code : EIO, "cannot {} {}: {}", what,
                path, why);
}

bool not_supported(int code) {
    return code == PMEM2_E_NOSUPP || code == -EOPNOTSUPP || code == -ENOTTY || code == -ENOSYS;
}

bool nothing_to_ask(int code) {
    return not_supported(code) || code == PMEM2_E_DAX_REGION_NOT_FOUND ||
           code == PMEM2_E_INVALID_FILE_TYPE;
}

} // namespace

void Device::Delete::operator()(pmem2_source* source) const { pmem2_source_delete(&source); }

Result<Device> Device::of(int fd, const std::string& path) {
    pmem2_source* source = nullptr;
    if (const int code = pmem2_source_from_fd(&source, fd); code != 0)
        return device_failure(code, "use", path);
    return Device(source, path);
}

Result<std::uint64_t> Device::size() const {
    std::size_t size = 0;
    if (const int code = pmem2_source_size(source_.get(), &size); code != 0)
        return device_failure(code, "determine the size of", path_);
    return size;
}

Result<std::uint64_t> Device::alignment() const {
    std::size_t alignment = 0;
    if (const int code = pmem2_source_alignment(source_.get(), &alignment); code != 0)
        return device_failure(code, "determine the alignment of", path_);
    return alignment;
}

Result<std::uint64_t> Device::unsafe_shutdown_count() const {
    std::uint64_t count = 0;
    const int code = pmem2_source_device_usc(source_.get(), &count);
    if (not_supported(code))
        return 0;
    if (code != 0)
        return device_failure(code, "read the unsafe shutdown count of the device under", path_);
    return count;
}

Result<std::string> Device::id() const {
    std::size_t length = 0;
    int code = pmem2_source_device_id(source_.get(), nullptr, &length);
    if (not_supported(code) || (code == 0 && length == 0))
        return std::string();
    if (code == 0 && length > max_id)
        return fail(ErrorClass::resource_limit, EIO,
                    "the id of the device under {} has {} bytes; the maximum is {}", path_, length,
                    max_id);
    std::string id(length, '\0');
    if (code == 0)
        code = pmem2_source_device_id(source_.get(), id.data(), &length);
    if (code != 0)
        return device_failure(code, "read the id of the device under", path_);
    return id;
}

Result<bool> Device::has_bad_blocks() const {
    pmem2_badblock_context* context = nullptr;
    int code = pmem2_badblock_context_new(&context, source_.get());
    if (nothing_to_ask(code))
        return false;
    if (code != 0)
        return device_failure(code, "look for bad blocks under", path_);
    pmem2_badblock block{};
    code = pmem2_badblock_next(context, &block);
    pmem2_badblock_context_delete(&context);
    if (code == PMEM2_E_NO_BAD_BLOCK_FOUND || nothing_to_ask(code))
        return false;
    if (code != 0)
        return device_failure(code, "look for bad blocks under", path_);
    return true;
}

} // namespace rpmem::target
