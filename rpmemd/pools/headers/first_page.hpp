// SPDX-License-Identifier: BSD-3-Clause
// The first page of part 0 of a pool that is catching up, in a file of state-dir. Meanwhile the
// page in the part is zeros, so that no other program opens a pool of which only some blocks are
// equal to their source.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/part_identity.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rpmem::target {

struct SavedPage {
    // zeroing: the page in the part may still be whole. hidden: zeros have replaced it, durably.
    enum class State : std::uint32_t { none, zeroing, hidden };
    State state = State::none;
    PoolHeader page{}; // bytes of the application if the pool has no headers
};

// Returns whether PAGE is SAVED with zeros in place of some of its bytes. A write of zeros over
// SAVED, or of SAVED over zeros, leaves such a page if it is interrupted.
bool is_remainder(const PoolHeader& page, const PoolHeader& saved);

// The file for a pool set. It has two slots. A write replaces the older slot, so the other one
// stays valid if the write is interrupted. The file is opened and allocated before the session is
// confined.
class FirstPageFile {
public:
    // Opens the file in DIRECTORY for the pool set with the absolute path POOL_SET. Creates it with
    // mode 0600 and a durable name if it is missing. PART is its first part: a page of another part
    // file is ignored. Fails with EINVAL if the name is not a regular file, with ENOTSUP if a
    // later version has written the file, and with the errno value of the system.
    static Result<FirstPageFile> open(int directory, const std::filesystem::path& pool_set,
                                      const PartIdentity& part);
    // Like open(), but changes nothing, and fails with ENOENT if the file is missing.
    static Result<FirstPageFile> open_to_read(int directory, const std::filesystem::path& pool_set,
                                              const PartIdentity& part);
    static std::string name_for(const std::filesystem::path& pool_set);
    // Removes the file after its pool was removed.
    static void remove(int directory, const std::filesystem::path& pool_set);

    // Returns nothing if no page is saved.
    [[nodiscard]] const std::optional<SavedPage>& saved() const { return saved_; }
    // Durable on return. After a failure, saved() is as before.
    Result<> save(SavedPage::State state, const PoolHeader& page);
    Result<> discard() { return save(SavedPage::State::none, PoolHeader{}); }

    static constexpr std::size_t slot_size = 2 * header_size;
    using Slot = std::array<std::byte, slot_size>;

private:
    FirstPageFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
    Result<> load(const PartIdentity& part);
    [[nodiscard]] Result<> put(const Slot& slot, std::size_t index) const;

    UniqueFd fd_;
    std::string name_;
    std::array<std::byte, 32> part_{}; // hash of the identity of the part
    std::uint64_t sequence_ = 0;
    std::size_t slot_ = 1; // the newest
    std::optional<SavedPage> saved_;
};

} // namespace rpmem::target
