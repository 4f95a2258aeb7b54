// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/pool.hpp"

#include "common/pools/part_layout.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/durability/sync_tracker.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/pool_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

namespace rpmem::target {
namespace {

// Puts ATTRIBUTES into the headers in memory. They have a shutdown state only if the new attributes
// require it.
Result<> renew_headers(MappedPool& pool, const rpmem_pool_attr& attributes) {
    const bool kept_state = keeps_shutdown_state(pool);
    pool.headers = rewrite_headers(pool.headers, attributes);
    pool.attributes = attributes_of(pool.headers[0]);
    auto& header = pool.headers[0];
    if (!keeps_shutdown_state(pool)) {
        header.shutdown_state = ShutdownState{};
    } else if (!kept_state) {
        RPMEM_ASSIGN(pool.devices,
                     pool.asked_devices ? *pool.asked_devices : device_state_of(pool.parts));
        header.shutdown_state = make_shutdown_state(pool.devices, true);
    }
    seal(header);
    return {};
}

// A write that was never acknowledged may have failed, and only a sync reports it. This must happen
// before the pool is marked as cleanly closed. Persistent memory needs no sync.
void sync_parts(const MappedPool& pool) {
    for (std::size_t i = 0; i < pool.parts.size(); ++i) {
        const PartFile& part = pool.parts[i];
        // run() has recorded the failure, and close() checks for it.
        static_cast<void>(pool.medium.syncs_of(i).run(0, part.size(), [&part] {
            const auto durable = part.make_durable();
            return durable ? 0 : durable.error().code;
        }));
    }
}

// Writes the old headers again. If this fails, too, only the next open can find out which headers
// the pool has. So it counts as a failure of the medium, which ends the session.
void undo_headers(const MappedPool& pool) {
    const auto written = write_headers(pool);
    if (!written && pool.medium.failure_code() == 0)
        static_cast<void>(pool.medium.syncs_of(0).run(0, header_size,
                                                      [&written] { return written.error().code; }));
}

Failure failed(const MediumFailure& failure) {
    return fail(ErrorClass::resource_limit, failure.code, "{}", failure.text);
}

} // namespace

Pool::Pool(std::unique_ptr<MappedPool> mapped) : mapped_(std::move(mapped)) {}
Pool::Pool(Pool&&) noexcept = default;

Pool& Pool::operator=(Pool&& other) noexcept {
    if (this != &other) {
        static_cast<void>(close());
        mapped_ = std::move(other.mapped_);
        failure_ = std::move(other.failure_);
    }
    return *this;
}

Pool::~Pool() {
    if (!mapped_)
        return;
    const auto log = mapped_->log;
    if (const auto closed = close(); !closed)
        log.warning("closing a pool: {}", closed.error().text);
}

std::byte* Pool::address() const { return mapped_->memory.address(); }
std::size_t Pool::size() const { return mapped_->memory.size(); }
const Medium& Pool::medium() const { return mapped_->medium; }
bool Pool::is_pmem() const { return mapped_->medium.is_pmem(); }
const std::vector<PartFile>& Pool::parts() const { return mapped_->parts; }
std::chrono::nanoseconds Pool::modified_before() const {
    std::chrono::nanoseconds latest{};
    for (const PartFile& part : parts())
        latest = std::max(latest, part.modified_before());
    return latest;
}
std::chrono::nanoseconds Pool::modified() const {
    std::chrono::nanoseconds latest{};
    for (const PartFile& part : parts())
        latest = std::max(latest, part.modified());
    return latest;
}
bool Pool::is_read_only() const { return mapped_->read_only; }
bool Pool::is_wanted() const { return std::ranges::any_of(parts(), &PartFile::is_wanted); }
HeaderLayout Pool::header_layout() const { return mapped_->header_layout; }
bool Pool::has_headers() const { return mapped_->header_layout != HeaderLayout::none; }
std::optional<MediumFailure> Pool::medium_failure() const {
    return mapped_ ? mapped_->medium.failure() : failure_;
}
const rpmem_pool_attr& Pool::attributes() const { return mapped_->attributes; }

Result<> Pool::may_set(const rpmem_pool_attr& attributes) const {
    if (mapped_->read_only)
        return fail(ErrorClass::caller_fault, EACCES,
                    "cannot set the attributes of pool {}: this session may only read (read-only)",
                    mapped_->name);
    RPMEM_TRY(check_attributes(attributes, mapped_->header_layout));
    if (const auto failure = mapped_->medium.failure(); failure && has_headers())
        return failed(*failure);
    return {};
}

Result<> Pool::set_attributes(const rpmem_pool_attr& attributes) {
    RPMEM_TRY(may_set(attributes));
    if (!has_headers())
        return {};
    const auto old_headers = mapped_->headers;
    const auto old_attributes = mapped_->attributes;
    auto result = renew_headers(*mapped_, attributes);
    if (result) {
        keep_header_copy(*mapped_, old_headers);
        result = write_headers(*mapped_);
    }
    // A medium that failed is not used again.
    if (!result && mapped_->medium.failure_code() == 0) {
        // A pool whose headers disagree might not open again.
        mapped_->headers = old_headers;
        mapped_->attributes = old_attributes;
        undo_headers(*mapped_);
    }
    return result;
}

Result<std::vector<UniqueFd>> Pool::prepare_confinement() {
    // New attributes may require a shutdown state, although the pool has none now.
    if (!mapped_->read_only && has_headers() && !keeps_shutdown_state(*mapped_))
        mapped_->asked_devices = device_state_of(mapped_->parts);
    std::vector<UniqueFd> directories;
    std::set<std::filesystem::path> known;
    for (const PartFile& part : mapped_->parts) {
        if (part.is_device_dax() || !known.insert(part.path().parent_path()).second)
            continue;
        RPMEM_ASSIGN(auto directory, part.open_directory());
        directories.push_back(std::move(directory));
    }
    return directories;
}

Result<> Pool::mark_open() {
    return mapped_->read_only ? Result<>() : write_shutdown_state(*mapped_, true);
}

void Pool::flush() const { mapped_->medium.flush_pmem(); }

Result<> Pool::close(const WhileLocked& ended) {
    if (!mapped_)
        return {};
    Result<> result;
    if (!mapped_->read_only) {
        if (!mapped_->medium.is_pmem())
            sync_parts(*mapped_);
        if (mapped_->medium.failure_code() == 0)
            result = write_shutdown_state(*mapped_, false);
    }
    failure_ = mapped_->medium.failure();
    if (failure_) {
        result = failed(*failure_);
        // The next session must read what the medium has, and not pages that it never received.
        mapped_->memory.release();
        drop_cache(mapped_->parts);
    }
    unlock(result, ended);
    return result;
}

Result<> Pool::remove(const WhileLocked& ended) { return end_by(&PartFile::remove, ended); }

Result<> Pool::undo_create(const WhileLocked& ended) { return end_by(&PartFile::undo, ended); }

void Pool::unlock(const Result<>& result, const WhileLocked& ended) {
    if (ended && (result || failure_))
        ended(failure_);
    mapped_.reset();
}

Result<> Pool::end_by(Result<> (PartFile::*change)(bool has_header) const,
                      const WhileLocked& ended) {
    if (!mapped_)
        return {};
    Result<> result;
    for (std::size_t i = 0; i < mapped_->parts.size(); ++i) {
        // The parts are still locked, so no other session has opened what is removed here.
        auto changed = (mapped_->parts[i].*change)(has_header(mapped_->header_layout, i));
        if (!changed && result)
            result = std::move(changed);
    }
    if (mapped_->is_hidden)
        static_cast<void>(mapped_->first_page->discard());
    unlock(result, ended);
    return result;
}

} // namespace rpmem::target
