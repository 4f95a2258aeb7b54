// SPDX-License-Identifier: BSD-3-Clause
// The part of Equalizer that changes the record of this machine after the pool was opened.
#include "librpmem/replica/equalizer.hpp"
#include "librpmem/replica/within.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace rpmem::initiator {

Result<> Equalizer::keep(const std::optional<rpmem_pool_attr>& attributes) {
    const std::lock_guard lock(mutex_);
    if (!record_problem_.empty())
        return fail(ErrorClass::resource_limit, ENOTCONN,
                    "this machine has no record that could keep the attributes: {}",
                    record_problem_);
    InitiatorRecord record = record_;
    record.attributes.reset();
    if (attributes)
        std::memcpy(record.attributes.emplace().data(), &*attributes, sizeof(*attributes));
    auto stored =
        within(file_timeout_, [file = *record_file_, record] { return file.write(record); });
    is_write_unfinished_ = is_write_unfinished_ || (!stored && stored.error().code == ETIMEDOUT);
    if (stored)
        record_ = std::move(record);
    return stored;
}

Result<> Equalizer::forget_attributes() {
    if (keep(std::nullopt))
        return {};
    const std::lock_guard lock(mutex_);
    if (!record_.attributes)
        return {}; // the record was erased
    RPMEM_TRY(within(file_timeout_, [file = *record_file_] { return file.erase(); }));
    record_.attributes.reset();
    record_problem_ = "it was erased, because it could not be written";
    return {};
}

std::optional<rpmem_pool_attr> Equalizer::kept_attributes() const {
    if (!may_send() || !record_.attributes)
        return std::nullopt;
    rpmem_pool_attr attributes{};
    std::memcpy(&attributes, record_.attributes->data(), sizeof(attributes));
    return attributes;
}

void Equalizer::forget() {
    if (is_later_format_)
        return;
    record_problem_ = "it was erased, because the replica differs";
    record_.attributes.reset();
    const auto erased = within(file_timeout_, [file = *record_file_] { return file.erase(); });
    if (!erased)
        log_.error("{}: {}", name_, erased.error().text);
}

// Returns true if that cannot be found out in time.
bool Equalizer::maps_pool_file(std::span<const std::byte> memory) const {
    return within(file_timeout_,
                  [memory, files = files_] { return Result<bool>(maps_one_of(memory, files)); })
        .value_or(true);
}

// A record of a later format is erased, too. It would still prove that this memory is the source.
// Examining all mappings takes long, so it is done only before the first write.
Result<> Equalizer::before_read(std::span<const std::byte> destination) {
    const bool is_within = destination.data() < memory_.data() + memory_.size() &&
                           memory_.data() < destination.data() + destination.size();
    if (!record_file_ || destination.empty() || (!is_within && !is_pending()))
        return {};
    const std::lock_guard lock(mutex_);
    if (is_read_into_ || (!is_within && !maps_pool_file(destination)))
        return {};
    if (is_write_unfinished_)
        return fail(ErrorClass::resource_limit, EIO,
                    "{} cannot be erased, because its file system has not responded for {} ms; "
                    "start the program again when it does",
                    record_file_->path(), file_timeout_.count());
    RPMEM_TRY(within(file_timeout_, [file = *record_file_] { return file.erase(); }));
    is_read_into_ = true;
    record_problem_ = "the program has read the replica into the pool's memory";
    if (is_pending())
        missing_proof_ = record_problem_;
    return {};
}

} // namespace rpmem::initiator
