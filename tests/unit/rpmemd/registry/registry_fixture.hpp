// SPDX-License-Identifier: BSD-3-Clause
// A temporary state-dir, and records whose fields have different values, so that exchanged fields
// are found.
#pragma once

#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::target {

using test::failed;
using test::succeeded;
using test::value_of;

inline transport::Digest digest_of(unsigned char value) {
    transport::Digest digest;
    digest.fill(std::byte{value});
    return digest;
}

inline SessionRecord session_record(std::uint64_t generation = 3) {
    return {.owner = digest_of(1),
            .generation = generation,
            .initiator = {.host = "host-a", .user = "alice", .address = "192.0.2.1"},
            .pool_set = "/pools/a.set",
            .part = "/pools/a \xff.0",
            .pool_set_key = digest_of(2),
            .since = 1700000000};
}

inline PoolRecord pool_record(std::uint64_t generation = 3) {
    return {.id = {std::byte{5}, std::byte{6}},
            .epoch = 7,
            .owner = digest_of(1),
            .generation = generation,
            .initiator = {.host = "host-a", .user = "alice", .address = "192.0.2.1"},
            .parts = digest_of(3),
            .headers = digest_of(4),
            .since = 1700000000,
            .closed = true,
            .behind_since = 0,
            .failure = "",
            .written_epoch = 7,
            .modified = 1700000000123456789,
            .released_epoch = 8};
}

class StateDirectoryTest : public testing::Test {
protected:
    [[nodiscard]] StateDirectory directory() const { return value_of(StateDirectory::open(path_)); }
    [[nodiscard]] std::size_t count_of_files() const {
        const std::filesystem::directory_iterator files(path_);
        return static_cast<std::size_t>(std::distance(begin(files), end(files)));
    }

    const test::TemporaryDirectory temporary_;
    const std::filesystem::path path_ = temporary_.path() / "state";
};

} // namespace rpmem::target
