// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/pool_record_place.hpp"

#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/registry/pool_files.hpp"

#include <cerrno>
#include <utility>

namespace rpmem::target {

Result<std::optional<PoolRecord>> PoolRecordPlace::read() {
    if (!in_attribute_)
        return read_file();
    auto value = attribute_.read();
    if (!value && value.error().code == ENOTSUP) {
        in_attribute_ = false;
        return read_file();
    }
    RPMEM_TRY(value);
    value_ = std::move(*value);
    if (!value_)
        return std::nullopt;
    auto record = decode_attribute(*value_);
    if (record)
        return std::optional(std::move(*record));
    const std::string& part = attribute_.part().path().native();
    if (record.error().code == ENOTSUP)
        return fail(ErrorClass::caller_fault, EINVAL, "the attribute {} of part {} has {}",
                    pool_attribute_name, part, record.error().text);
    return fail(ErrorClass::caller_fault, EINVAL,
                "the attribute {} of part {} has {}; if nobody else writes to the pool, remove it "
                "(setfattr -x {} {})",
                pool_attribute_name, part, record.error().text, pool_attribute_name, part);
}

Result<std::optional<PoolRecord>> PoolRecordPlace::read_file() {
    if (!directory_)
        return fail(ErrorClass::resource_limit, EACCES,
                    "the record of the pool must be in state-dir, which cannot be used: the file "
                    "system of part {} has no user attributes",
                    attribute_.part().path().native());
    RPMEM_ASSIGN(const std::string name, pool_file_name(first_part_));
    auto file = access_ == Access::read_only ? StateFile::open(*directory_, name)
                                             : open_pool_file(*directory_, name);
    if (!file && file.error().code == ENOENT)
        return std::nullopt;
    RPMEM_TRY(file);
    RPMEM_ASSIGN(auto record, file->read<PoolRecord>());
    file_ = std::move(*file);
    has_states_ = record && has_states(*record);
    return record;
}

Result<> PoolRecordPlace::write(const PoolRecord& record) {
    if (!in_attribute_)
        return write_file(record);
    RPMEM_ASSIGN(std::string value, encode_attribute(record));
    auto written = attribute_.write(value, value_);
    if (written)
        value_ = std::move(value);
    else if (written.error().code == ENOTSUP && !value_)
        in_attribute_ = false;
    return written;
}

Result<> PoolRecordPlace::write_file(const PoolRecord& record) {
    if (!file_) {
        RPMEM_ASSIGN(const std::string name, pool_file_name(first_part_));
        RPMEM_ASSIGN(file_, make_pool_file(*directory_, name));
    }
    RPMEM_TRY(file_->write(record));
    // The other slot has the previous record. If that has a format which an older version does not
    // know, the older version refuses the whole file. So the other slot is overwritten, too. A
    // failure is not reported, because RECORD is durable.
    const bool had_states = std::exchange(has_states_, has_states(record));
    if (had_states && !has_states_)
        static_cast<void>(file_->write(record));
    return {};
}

} // namespace rpmem::target
