// SPDX-License-Identifier: BSD-3-Clause
// A temporary poolset-dir with four pool sets. One has a pool, two have parts without a pool, and
// one has no parts. damage() compares all parts with their first contents, so it reports a part
// that a session changed, left behind, removed or left locked.
#pragma once

#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/pool.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <librpmem.h>
#include <sys/file.h>

#include <numeric>

namespace rpmem::hostile {

inline constexpr std::uint64_t part_size = 2 * 1024 * 1024;

// Pool set names, relative to the directory of the pool sets. Each has two parts.
inline constexpr const char* existing_pool = "existing.set";
inline constexpr const char* absent_pool = "absent.set";
inline constexpr const char* blank_pool = "blank.set"; // parts with data and a header of zeros
inline constexpr const char* plain_pool = "plain.set"; // parts with data, OPTION NOHDRS

inline rpmem_pool_attr test_attributes() {
    rpmem_pool_attr attributes{};
    std::ranges::copy(std::string("HOSTILE_"), attributes.signature);
    attributes.major = 1;
    attributes.incompat_features = 2;
    std::iota(std::begin(attributes.poolset_uuid), std::end(attributes.poolset_uuid), 0x10);
    std::iota(std::begin(attributes.uuid), std::end(attributes.uuid), 0x20);
    std::iota(std::begin(attributes.next_uuid), std::end(attributes.next_uuid), 0x30);
    std::iota(std::begin(attributes.prev_uuid), std::end(attributes.prev_uuid), 0x40);
    return attributes;
}

inline std::string data_of_part(unsigned seed) {
    std::string block(4096, '\0');
    for (std::size_t index = 0; index < block.size(); ++index)
        block[index] = static_cast<char>((index * 31 + seed) % 251);
    std::string data;
    while (data.size() < part_size)
        data += block;
    return data;
}

class PoolDirectory {
public:
    PoolDirectory() {
        std::filesystem::create_directory(pool_sets());
        std::filesystem::create_directory(parts());
        write_pool_set(existing_pool, "");
        write_pool_set(absent_pool, "");
        write_pool_set(plain_pool, "OPTION NOHDRS\n");
        std::ofstream(parts() / "plain.set.0", std::ios::binary) << data_of_part(1);
        std::ofstream(parts() / "plain.set.1", std::ios::binary) << data_of_part(2);
        write_pool_set(blank_pool, "");
        const std::string no_header(4096, '\0');
        std::ofstream(parts() / "blank.set.0", std::ios::binary)
            << no_header + data_of_part(3).substr(no_header.size());
        std::ofstream(parts() / "blank.set.1", std::ios::binary)
            << no_header + data_of_part(4).substr(no_header.size());
        Log log;
        target::PoolOptions options;
        options.poolset_dir = pool_sets();
        auto pool = test::value_of(
            target::create_pool(options, existing_pool, part_size, test_attributes(), log));
        EXPECT_TRUE(pool.close());
        for (const auto& entry : std::filesystem::directory_iterator(parts()))
            contents_.emplace_back(entry.path().filename(), test::read_file(entry.path()));
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path pool_sets() const { return path_ / "sets"; }
    [[nodiscard]] std::filesystem::path log_file() const { return path_ / "log"; }
    [[nodiscard]] std::vector<std::string> daemon_arguments() const {
        return {"--config", "/dev/null",   "--poolset-dir", pool_sets(), "--log-file",
                log_file(), "--log-level", "debug",         "--sockets"};
    }

    // Returns what was changed, or an empty text.
    [[nodiscard]] std::string damage() const {
        std::size_t found = 0;
        for (const auto& entry : std::filesystem::directory_iterator(parts())) {
            const std::string name = entry.path().filename();
            const auto before = std::ranges::find(
                contents_, name, [](const auto& part) -> const auto& { return part.first; });
            if (before == contents_.end())
                return "part " + name + " was left behind";
            if (test::read_file(entry.path()) != before->second)
                return "part " + name + " has other bytes than before";
            ++found;
        }
        if (found != contents_.size())
            return "a part that was there before is gone";
        const std::string locked = locked_part();
        return locked.empty() ? locked : "part " + locked + " is still locked";
    }

    // Returns the name of a locked part, or an empty text.
    [[nodiscard]] std::string locked_part() const {
        for (const auto& entry : std::filesystem::directory_iterator(parts())) {
            const UniqueFd part(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
            if (!part || ::flock(part.get(), LOCK_EX | LOCK_NB) != 0)
                return entry.path().filename();
        }
        return {};
    }

    [[nodiscard]] std::string read_log() const { return test::read_file(log_file()); }
    void remove_log() const { std::filesystem::remove(log_file()); }
    [[nodiscard]] std::string read_part(const std::string& name) const {
        return test::read_file(parts() / name);
    }

private:
    void write_pool_set(const std::string& name, const std::string& options) const {
        std::ofstream file(pool_sets() / name);
        file << "PMEMPOOLSET\n" << options;
        for (const char* number : {"0", "1"})
            file << "2M " << (parts() / (name + "." + number)).native() << '\n';
    }
    [[nodiscard]] std::filesystem::path parts() const { return path_ / "parts"; }

    const test::TemporaryDirectory temporary_;
    const std::filesystem::path path_ = temporary_.path();
    std::vector<std::pair<std::string, std::string>> contents_; // name and bytes of each part
};

} // namespace rpmem::hostile
