// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/pool_files.hpp"

#include "common/base/deadline.hpp"
#include "common/base/hex.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <thread>

namespace rpmem::target {
namespace {

constexpr std::string_view pool_prefix = "pool-";
constexpr std::size_t bytes_of_name = 16; // bytes of the digest in a name
constexpr std::chrono::seconds lock_time(1);
constexpr std::chrono::milliseconds pause(5);

bool is_old(const StateFile& file) {
    return std::time(nullptr) - file.last_seen() >
           std::chrono::duration_cast<std::chrono::seconds>(closed_record_life).count();
}

// Locks the file only for a moment.
void remove_if_old(const StateDirectory& directory, const std::string& name) {
    auto file = StateFile::open(directory, name);
    if (!file || !is_old(*file) || !file->lock() || !is_old(*file))
        return;
    const auto record = file->read<PoolRecord>();
    if (record && *record && (*record)->closed && (*record)->behind_since == 0 &&
        !has_states(**record) && (*record)->failure.empty() && file->is_at(directory, name))
        static_cast<void>(::unlinkat(directory.fd(), name.c_str(), 0));
}

} // namespace

Result<std::string> pool_file_name(const PartIdentity& first_part) {
    const std::string key = first_part.inode == 0
                                ? first_part.path
                                : fmt::format("{}:{}:{}", first_part.file_system, first_part.inode,
                                              first_part.inode_generation);
    transport::Digest digest;
    if (!transport::sha256({transport::bytes_of(key)}, digest))
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash");
    return std::string(pool_prefix) + hex_of(std::span(digest).first<bytes_of_name>());
}

Result<StateFile> open_pool_file(const StateDirectory& directory, const std::string& name) {
    for (const Deadline deadline(lock_time); !deadline.passed();) {
        RPMEM_ASSIGN(auto file, StateFile::open(directory, name));
        if (!file.lock())
            std::this_thread::sleep_for(pause);
        else if (file.is_at(directory, name))
            return file;
    }
    return fail(ErrorClass::resource_limit, EBUSY, "{} is locked by another process",
                directory.path_of(name));
}

Result<StateFile> make_pool_file(const StateDirectory& directory, const std::string& name) {
    RPMEM_ASSIGN(auto file, StateFile::make(directory, name));
    RPMEM_TRY(directory.sync());
    // Another daemon may have locked it already. None removes it, because it is not old.
    if (!file.lock())
        return open_pool_file(directory, name);
    return file;
}

std::vector<std::string> pool_file_names(const StateDirectory& directory) {
    return directory.names(pool_prefix);
}

void remove_old_pool_files(const StateDirectory& directory) {
    for (const std::string& name : directory.names(pool_prefix))
        remove_if_old(directory, name);
}

} // namespace rpmem::target
