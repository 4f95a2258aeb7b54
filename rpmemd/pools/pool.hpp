// SPDX-License-Identifier: BSD-3-Clause
// The pools of the target: create, open and remove them, and use an open one.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/durability/failure_latch.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/files/part_identity.hpp"
#include "rpmemd/pools/files/pool_attribute.hpp"

#include <librpmem.h>

#include <chrono>
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

struct PoolOptions {
    std::filesystem::path poolset_dir; // absolute; names of pool sets are relative to it
    bool allow_outside = false;        // let names lead out of poolset_dir by ".." or by links
    // Makes write_pool_set() and check_new_part() refuse hidden paths. A path is hidden if one of
    // its components begins with "." after links are resolved. If poolset_dir is a home directory,
    // a shell or sshd executes the contents of some hidden files.
    bool refuse_hidden = false;
    Cancelled cancelled; // checked repeatedly while parts are allocated
    mode_t part_mode = default_part_mode;
    // Makes open_pool() lock the parts shared, map them PROT_READ and write nothing.
    bool read_only = false;
    bool refuse_volatile = false;    // refuse parts on tmpfs, NFS and the like; else log a warning
    bool require_deep_flush = false; // refuse persistent memory without the right to deep flush it
    // Receives failures of the medium from the time before there is a Pool.
    FailureLatch* failures = nullptr;
    // Descriptor of the directory for copies of headers and for first pages. From a copy
    // open_pool() restores a header that was torn by a kill or a power failure, and it finds a
    // hidden header there. With -1 it refuses such pools.
    int header_copies = -1;
    std::filesystem::path system_root = "/"; // the directory that contains sys, for tests
};

// Called when a pool was closed or removed cleanly, or with the failure of its medium. The parts
// are still locked, so no other session can have opened the pool yet.
using WhileLocked = std::function<void(const std::optional<MediumFailure>& failure)>;

// A pool, locked and mapped. Its end unmaps and unlocks every part.
//   open -> closed  close() or the destructor: clean, unless the medium has failed
//   open -> closed  remove() or undo_create(): the pool does not exist any more
// The shutdown state on the medium, if the pool keeps one, is dirty while the pool is open for
// writing. It stays dirty if the medium fails.
class Pool {
public:
    explicit Pool(std::unique_ptr<MappedPool> mapped);
    Pool(Pool&&) noexcept;
    Pool& operator=(Pool&&) noexcept;
    ~Pool(); // like close(), but logs errors

    [[nodiscard]] std::byte* address() const;
    [[nodiscard]] std::size_t size() const; // usable bytes, with the header page of the first part
    [[nodiscard]] const Medium& medium() const;               // valid while the pool is open
    [[nodiscard]] bool is_pmem() const;                       // every part is persistent memory
    [[nodiscard]] bool has_headers() const;                   // false for OPTION NOHDRS
    [[nodiscard]] const std::vector<PartFile>& parts() const; // open and locked
    // When a part was last modified: before the pool was opened, and now. 0 if that is unknown.
    [[nodiscard]] std::chrono::nanoseconds modified_before() const;
    [[nodiscard]] std::chrono::nanoseconds modified() const;
    // Returns whether a process waits to open a part for writing, see PartFile::is_wanted().
    [[nodiscard]] bool is_wanted() const;
    [[nodiscard]] HeaderLayout header_layout() const;
    [[nodiscard]] bool is_read_only() const;
    // Returns the first failure of the medium, after which the session must end. From then on
    // nothing is acknowledged, the shutdown state stays dirty, and close() drops the page cache of
    // the parts.
    [[nodiscard]] std::optional<MediumFailure> medium_failure() const;
    [[nodiscard]] const rpmem_pool_attr& attributes() const; // all zero without headers

    // Return what identifies the pool in its record. Call identify_parts() before confine(), which
    // takes away the files that it needs. The headers are without the fields that opening and
    // closing change: shutdown state and checksum are zeros.
    [[nodiscard]] Result<std::vector<PartIdentity>> identify_parts() const;
    [[nodiscard]] std::vector<PoolHeader> lasting_headers() const;
    // The attribute is valid while the pool is open.
    [[nodiscard]] PoolAttribute attribute() const;

    // Checks whether the attributes may be set. Fails with
    //   EACCES  the pool is open read-only
    //   EINVAL  see check_attributes()
    // and with the code of the medium if that has failed.
    [[nodiscard]] Result<> may_set(const rpmem_pool_attr& attributes) const;
    // Writes new headers, durable on return. Fails like may_set() and PartFile::write_header(). On
    // failure tries to write the old headers again.
    Result<> set_attributes(const rpmem_pool_attr& attributes);

    // While the pool is catching up, the first page of part 0 is hidden from other programs, see
    // hidden_page.hpp. Each change is durable on return.
    // Call it when the record says that the pool is catching up. If the page cannot be saved, logs
    // a warning and leaves the page as it is.
    Result<> hide_first_page();
    // Call it before the record says that the pool is in sync. In a pool without headers, the
    // initiator has sent the page.
    Result<> show_first_page();
    // Like show_first_page(), but a pool without headers gets back the page that it had, unless the
    // initiator has sent another one.
    Result<> restore_first_page();
    [[nodiscard]] bool hides_first_page() const;

    // Opens in advance whatever the pool needs later, because a confined process cannot. Returns
    // the directories of the parts (O_PATH).
    Result<std::vector<UniqueFd>> prepare_confinement();
    // Marks the pool as open on the medium. Does nothing if it is open read-only.
    Result<> mark_open();
    // Flushes all parts that are persistent memory, so that everything stored there is durable on
    // return. close() syncs the other parts.
    void flush() const;
    // Syncs all parts, marks a clean shutdown, unmaps and unlocks. If the medium has failed, drops
    // the page cache in place of the mark.
    Result<> close(const WhileLocked& ended = {});
    // Removes the part files and closes.
    Result<> remove(const WhileLocked& ended = {});
    // Undoes create_pool() and closes. Part files that existed before stay, without a header.
    Result<> undo_create(const WhileLocked& ended = {});

private:
    Result<> end_by(Result<> (PartFile::*change)(bool has_header) const, const WhileLocked& ended);
    void unlock(const Result<>& result, const WhileLocked& ended);

    std::unique_ptr<MappedPool> mapped_;   // null when closed
    std::optional<MediumFailure> failure_; // failure of the medium, after close()
};

// Both fail with
//   ENOENT  the pool set or a part does not exist
//   EBUSY   a part is in use
//   EACCES  this user may not open a file, or other users may change it
//   EFBIG   SIZE exceeds the pool
//   EBADF   NAME is absolute, or leads out of poolset_dir without allow_outside
//   EINVAL  the pool set, a part or the headers are invalid
// and with the errno value of the system. create_pool() also fails with EEXIST if there is a pool
// already.
Result<Pool> create_pool(const PoolOptions& options, std::string_view name, std::size_t size,
                         const rpmem_pool_attr& attributes, Log& log);
Result<Pool> open_pool(const PoolOptions& options, std::string_view name, std::size_t size,
                       Log& log);

struct RemoveOptions {
    bool force = false;    // continue if a file cannot be removed
    bool pool_set = false; // remove the pool set file, too
    // Called with every error that FORCE ignores. The log has it, too.
    std::function<void(const std::string&)> note = {};
};
// Fails like open_pool(), but with EAGAIN for a part in use. A missing part is reported after the
// others are removed. Any other fault of a part is reported before one is removed. Does not remove
//   a part whose header names another pool set than the first valid header
//   a part without a header that belongs to another user
//   a pool set file that does not begin as one
Result<> remove_pool(const PoolOptions& options, std::string_view name, const RemoveOptions& remove,
                     Log& log);

} // namespace rpmem::target
