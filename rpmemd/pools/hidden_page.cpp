// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/hidden_page.hpp"

#include "rpmemd/durability/medium.hpp"
#include "rpmemd/pools/headers/first_page.hpp"
#include "rpmemd/pools/headers/header_recovery.hpp"
#include "rpmemd/pools/pool.hpp"

#include <cerrno>

namespace rpmem::target {
namespace {

Result<FirstPageFile> open_saved(const PoolOptions& options, std::string_view name,
                                 const PartFile& first, bool read_only) {
    RPMEM_ASSIGN(const auto part, identify(first));
    const auto pool_set = options.poolset_dir / name;
    return read_only ? FirstPageFile::open_to_read(options.header_copies, pool_set, part)
                     : FirstPageFile::open(options.header_copies, pool_set, part);
}

// Returns whether the page of the part is hidden. PAGE is what the part has now.
bool is_hidden_by(const SavedPage& saved, const PoolHeader& page, bool has_header) {
    if (!has_header && saved.state == SavedPage::State::hidden)
        return true; // the initiator may have sent any bytes since
    return is_remainder(page, saved.page) && !are_same_headers(page, saved.page);
}

} // namespace

Result<> open_first_page(const PoolOptions& options, const PartFile& first, MappedPool& pool) {
    if (options.header_copies < 0)
        return {};
    auto opened = open_saved(options, pool.name, first, pool.read_only);
    if (opened)
        pool.first_page = std::make_unique<FirstPageFile>(std::move(*opened));
    else if (!pool.read_only && opened.error().code == ENOTSUP)
        return Failure(opened.error());
    else if (!pool.read_only)
        pool.log.warning("pool {}: {}; other programs of this machine can open the pool while it "
                         "is catching up",
                         pool.name, opened.error().text);
    else if (opened.error().code != ENOENT)
        pool.log.warning("pool {}: {}", pool.name, opened.error().text);
    return {};
}

Result<> look_at_first_page(MappedPool& pool, const PartFile& first) {
    pool.is_hidden = false;
    if (!pool.first_page || !pool.first_page->saved())
        return {};
    RPMEM_ASSIGN(const auto page, first.read_header());
    pool.is_hidden =
        is_hidden_by(*pool.first_page->saved(), page, has_header(pool.header_layout, 0));
    return {};
}

Result<> settle_first_page(MappedPool& pool, const PartFile& first) {
    if (!pool.first_page || !pool.first_page->saved())
        return {};
    // The page is back, or another program has created a pool in the part.
    if (!pool.is_hidden)
        return pool.first_page->discard();
    const SavedPage saved = *pool.first_page->saved();
    if (!has_header(pool.header_layout, 0) && saved.state == SavedPage::State::hidden)
        return {};
    RPMEM_ASSIGN(const auto page, first.read_header());
    if (!is_all_zero(page))
        RPMEM_TRY(first.write_header(PoolHeader{}));
    return saved.state == SavedPage::State::hidden
               ? Result<>()
               : pool.first_page->save(SavedPage::State::hidden, saved.page);
}

std::optional<PoolHeader> hidden_header(const PoolOptions& options, std::string_view pool_set,
                                        const PartFile& first) {
    if (options.header_copies < 0)
        return std::nullopt;
    const auto page = first.read_header();
    const auto file = open_saved(options, pool_set, first, true);
    if (!page || !file || !file->saved() || !is_hidden_by(*file->saved(), *page, true))
        return std::nullopt;
    return file->saved()->page;
}

Result<PoolHeader> header_of(const MappedPool& pool, const PartFile& part, std::size_t index) {
    if (index == 0 && pool.is_hidden)
        return pool.first_page->saved()->page;
    return part.read_header();
}

Result<> write_header_of(const MappedPool& pool, const PartFile& part, std::size_t index,
                         SyncTracker* syncs) {
    if (index == 0 && pool.is_hidden)
        return pool.first_page->save(SavedPage::State::hidden, pool.headers[0]);
    // A saved page that could not be discarded must not come back over this header.
    if (index == 0 && pool.first_page && pool.first_page->saved())
        RPMEM_TRY(pool.first_page->discard());
    return part.write_header(pool.headers[index], syncs);
}

bool Pool::hides_first_page() const { return mapped_->is_hidden; }

// The record already states that the pool is catching up. So if the page cannot be saved, the
// request succeeds all the same, and the page stays visible.
Result<> Pool::hide_first_page() {
    MappedPool& pool = *mapped_;
    if (!pool.first_page || (pool.is_hidden && has_headers()))
        return {};
    const PartFile& first = pool.parts.front();
    RPMEM_ASSIGN(const PoolHeader page,
                 has_headers() ? Result<PoolHeader>(pool.headers[0]) : first.read_header());
    // The saved page is already the one from before the zeros.
    if (pool.is_hidden && is_all_zero(page))
        return {};
    if (const auto saved = pool.first_page->save(SavedPage::State::zeroing, page); !saved) {
        pool.log.warning("pool {}: {}; other programs of this machine can open the pool while it "
                         "is catching up",
                         pool.name, saved.error().text);
        return {};
    }
    pool.is_hidden = true;
    RPMEM_TRY(first.write_header(PoolHeader{}, &pool.medium.syncs_of(0)));
    RPMEM_TRY(pool.first_page->save(SavedPage::State::hidden, page));
    pool.log.info("pool {}: its first page is hidden while it is catching up", pool.name);
    return {};
}

Result<> Pool::show_first_page() {
    MappedPool& pool = *mapped_;
    if (!pool.is_hidden)
        return {};
    if (has_headers())
        RPMEM_TRY(pool.parts.front().write_header(pool.headers[0], &pool.medium.syncs_of(0)));
    pool.is_hidden = false; // also if the saved page stays, see write_header_of()
    return pool.first_page->discard();
}

Result<> Pool::restore_first_page() {
    MappedPool& pool = *mapped_;
    if (!pool.is_hidden || has_headers())
        return show_first_page();
    const PartFile& first = pool.parts.front();
    const PoolHeader saved = pool.first_page->saved()->page;
    RPMEM_ASSIGN(const auto page, first.read_header());
    if (is_all_zero(page)) { // otherwise the initiator has sent its own
        // If this is interrupted, the next session hides the page again.
        RPMEM_TRY(pool.first_page->save(SavedPage::State::zeroing, saved));
        RPMEM_TRY(first.write_header(saved, &pool.medium.syncs_of(0)));
    }
    return show_first_page();
}

} // namespace rpmem::target
