// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/pool_attribute.hpp"

#include "rpmemd/durability/sync_tracker.hpp"
#include "rpmemd/pools/files/part_file.hpp"

#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

namespace rpmem::target {
namespace {

Failure no_attributes(const PartFile& part) {
    return fail(ErrorClass::resource_limit, ENOTSUP,
                "part {} cannot have the attribute {}: its file system has no user attributes",
                part.path().native(), pool_attribute_name);
}

} // namespace

Result<std::optional<std::string>> PoolAttribute::read() const {
    if (part_->is_device_dax())
        return no_attributes(*part_);
    std::string value(max_pool_attribute_size, '\0');
    const ssize_t length =
        ::fgetxattr(part_->fd(), pool_attribute_name, value.data(), value.size());
    if (length >= 0) {
        value.resize(static_cast<std::size_t>(length));
        return value;
    }
    if (errno == ENODATA)
        return std::nullopt;
    if (errno == ENOTSUP)
        return no_attributes(*part_);
    return fail_errno(ErrorClass::resource_limit, errno, "cannot read the attribute {} of part {}",
                      pool_attribute_name, part_->path().native());
}

bool PoolAttribute::put(std::string_view value, int flags) const {
    return ::fsetxattr(part_->fd(), pool_attribute_name, value.data(), value.size(), flags) == 0;
}

Result<> PoolAttribute::write(std::string_view value,
                              const std::optional<std::string>& former) const {
    if (part_->is_device_dax())
        return no_attributes(*part_);
    if (!put(value, former ? XATTR_REPLACE : 0)) {
        if (errno == ENOTSUP)
            return no_attributes(*part_);
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot write the attribute {} of part {}", pool_attribute_name,
                          part_->path().native());
    }
    // fdatasync(2) need not make attributes durable.
    const auto sync = [this] { return ::fsync(part_->fd()) == 0 ? 0 : errno; };
    const int code = syncs_ ? syncs_->run(0, 0, sync) : sync();
    if (code == 0)
        return {};
    // Restore the attribute. Otherwise the next session would read from the cache a claim that was
    // never made durable.
    const bool restored = (former ? put(*former, XATTR_REPLACE)
                                  : ::fremovexattr(part_->fd(), pool_attribute_name) == 0) &&
                          sync() == 0; // SYNCS_ has failed, and would fail again
    return fail_errno(ErrorClass::resource_limit, code,
                      "cannot make the attribute {} of part {} durable{}", pool_attribute_name,
                      part_->path().native(),
                      restored ? "" : ", nor restore its former value durably");
}

} // namespace rpmem::target
