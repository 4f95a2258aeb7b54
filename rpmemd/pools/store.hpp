// SPDX-License-Identifier: BSD-3-Clause
// Pools of the target as the daemon sees them: create, open, remove, and a mapped pool in between.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/durability/failure_latch.hpp"
#include "rpmemd/pools/part_file.hpp"
#include "rpmemd/pools/part_identity.hpp"
#include "rpmemd/pools/pool_attribute.hpp"

#include <librpmem.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace rpmem::target {

class Medium;
struct MappedPool; // parts, locks and reservation; see mapping.hpp

struct StoreOptions {
    std::filesystem::path poolset_dir; // absolute; names of pool sets are looked up beneath it
    bool allow_outside = false;        // let names leave poolset_dir by ".." or symbolic links
    // write_pool_set() and check_new_part() refuse paths with a component that begins with ".",
    // once links are resolved: if poolset_dir is a home, its shell and sshd run what is in such
    // files.
    bool refuse_hidden = false;
    Cancelled cancelled; // asked now and then while a pool is created
    mode_t part_mode = default_part_mode;
    // open_pool() locks parts shared, maps them PROT_READ and writes nothing
    bool read_only = false;
    bool refuse_volatile = false;    // parts on tmpfs, NFS and the like, instead of a warning
    bool require_deep_flush = false; // the right to ask persistent memory for it
    // Told of what the medium refuses before there is a pool.
    FailureLatch* failures = nullptr;
    // A directory (descriptor) for copies of headers, by which open_pool() restores what a kill or
    // a loss of power has torn; -1: there is none, and such a pool is refused.
    int header_copies = -1;
    std::filesystem::path system_root = "/"; // the directory of sys; another one for tests
};

// A pool calls this when it has ended in order, or with the failure of its medium. Its parts are
// still locked: nobody else can have opened it yet.
using WhileLocked = std::function<void(const std::optional<MediumFailure>& failure)>;

// One pool, locked and mapped. Closing (or destroying) it unmaps and unlocks every part.
//   open   -> closed  close(), or the destructor: in order, unless the medium has failed
//   open   -> closed  remove() and undo_create(): there is no pool any more
// The shutdown state on the medium is dirty while the pool is open, and if the medium failed.
class Pool {
public:
    explicit Pool(std::unique_ptr<MappedPool> mapped);
    Pool(Pool&&) noexcept;
    Pool& operator=(Pool&&) noexcept;
    ~Pool(); // as close(), errors go to the log

    [[nodiscard]] std::byte* address() const;
    [[nodiscard]] std::size_t size() const; // usable bytes: header page of the first part included
    [[nodiscard]] const Medium& medium() const; // lives as long as the pool is open
    [[nodiscard]] bool is_pmem() const;         // every part is persistent memory
    [[nodiscard]] bool has_headers() const;     // false for OPTION NOHDRS
    // Open and locked; see give_way.hpp.
    [[nodiscard]] const std::vector<PartFile>& parts() const;
    [[nodiscard]] HeaderLayout header_layout() const;
    // Why the session must end: the medium has not made something durable. Nothing is acknowledged
    // from then on, the shutdown state stays dirty, and close() drops the page cache of the parts.
    [[nodiscard]] std::optional<MediumFailure> medium_failure() const;
    [[nodiscard]] const rpmem_pool_attr& attributes() const; // all zero without headers

    // By what the pool is known again: its files, to be asked before confine(), and its headers
    // without what opening and closing change (shutdown state and checksum are zeros).
    [[nodiscard]] Result<std::vector<PartIdentity>> identify_parts() const;
    [[nodiscard]] std::vector<PoolHeader> lasting_headers() const;
    // To be used while the pool is open.
    [[nodiscard]] PoolAttribute attribute() const;

    // EACCES if opened read-only. EINVAL without headers (unless ATTRIBUTES are all zero), with
    // all-zero attributes, or if their feature SINGLEHDR does not suit the pool set.
    [[nodiscard]] Result<> may_set(const rpmem_pool_attr& attributes) const;
    // Likewise.
    Result<> set_attributes(const rpmem_pool_attr& attributes);

    // Does now what would open files later: asks the devices, and returns the directories that hold
    // the names of the parts, open (O_PATH). To be called before confine().
    Result<std::vector<UniqueFd>> prepare_confinement();
    Result<> mark_open(); // says on the medium that the pool is open; nothing if it is read-only
    // Marks a clean shutdown, unmaps, unlocks.
    Result<> close(const WhileLocked& ended = {});
    // Closes, and unlinks the part files.
    Result<> remove(const WhileLocked& ended = {});
    // Closes, and undoes create_pool(): part files that were there before stay, without a header.
    Result<> undo_create(const WhileLocked& ended = {});

private:
    Result<> end_by(Result<> (PartFile::*change)(bool has_header) const, const WhileLocked& ended);
    void unlock(const Result<>& result, const WhileLocked& ended);

    std::unique_ptr<MappedPool> mapped_;   // null: closed
    std::optional<MediumFailure> failure_; // of a pool that was closed
};

// Error codes: ENOENT pool set or part missing, EEXIST, EBUSY locked, EACCES, EFBIG (SIZE is larger
// than the pool), EBADF (NAME is absolute), EINVAL all else that is wrong with the pool set or
// headers.
Result<Pool> create_pool(const StoreOptions& options, std::string_view name, std::size_t size,
                         const rpmem_pool_attr& attributes, Log& log);
Result<Pool> open_pool(const StoreOptions& options, std::string_view name, std::size_t size,
                       Log& log);

struct RemoveOptions {
    bool force = false;    // note files that cannot be removed, and go on
    bool pool_set = false; // remove the pool set file too
    std::function<void(const std::string&)> note =
        {}; // told each failure that FORCE passes over; the log has it, too
};
// Codes as above, but EAGAIN for a part in use. A part that is missing is reported when the others
// are removed; all else that is wrong with one, before any is. A part with the header of another
// pool set stays, and so does one without a header that is not the user's own; as a pool set file
// nothing is removed but what begins as one.
Result<> remove_pool(const StoreOptions& options, std::string_view name,
                     const RemoveOptions& remove, Log& log);

} // namespace rpmem::target
