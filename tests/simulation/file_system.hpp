// SPDX-License-Identifier: BSD-3-Clause
// The files of one simulated machine, in memory: the state that processes see, and the durable
// state that is left after a power failure.
#pragma once

#include "tests/simulation/random.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::simulation {

struct OpenFile;

struct Node {
    using Names = std::map<std::string, std::shared_ptr<Node>, std::less<>>;

    ino_t inode = 0;
    std::uint32_t generation = 1; // generation of the inode
    bool is_refused = false;      // open(2) fails
    mode_t mode = 0;
    std::int64_t changed = 0; // seconds since the epoch
    // Members of a file. MEMORY has the mapped bytes of a part of a pool. The durable image may be
    // shorter than the bytes. Bytes after its end are not checked.
    std::vector<std::byte> own_bytes{};
    std::span<std::byte> memory{};
    int memory_fd = -1;
    std::vector<std::byte> durable{};
    std::map<std::string, std::string> attributes{};
    std::map<std::string, std::string> durable_attributes{};
    // Members of a directory.
    Names names{};
    Names durable_names{};
    // The holders of locks by flock(2).
    const OpenFile* exclusive = nullptr;
    std::set<const OpenFile*> shared{};

    [[nodiscard]] bool is_directory() const { return S_ISDIR(mode); }
    [[nodiscard]] std::span<std::byte> bytes() { return memory.empty() ? own_bytes : memory; }
    void resize(std::size_t size) {
        own_bytes.resize(size);
        durable.resize(size);
    }
    // Makes COPY durable at OFFSET.
    void sync(std::size_t offset, std::span<const std::byte> copy) {
        const std::size_t length =
            std::min(copy.size(), durable.size() - std::min(offset, durable.size()));
        std::copy_n(copy.begin(), length, durable.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    // After a power failure, each UNIT bytes that were not synced are either completely durable or
    // lost.
    void lose_power(Random& random, std::size_t unit) {
        // A journal has either all of a change or nothing.
        if (random.chance(50))
            durable_attributes = attributes;
        attributes = durable_attributes;
        const std::span<std::byte> now = bytes();
        for (std::size_t at = 0; at < durable.size(); at += unit) {
            // Most of a large file is durable.
            constexpr std::size_t large = 4096;
            if (at % large == 0 && at + large <= durable.size() &&
                std::memcmp(now.data() + at, durable.data() + at, large) == 0) {
                at += large - unit;
                continue;
            }
            const std::size_t size = std::min(unit, durable.size() - at);
            if (std::memcmp(now.data() + at, durable.data() + at, size) == 0)
                continue;
            if (random.chance(50))
                std::memcpy(durable.data() + at, now.data() + at, size);
            else
                std::memcpy(now.data() + at, durable.data() + at, size);
        }
    }
};

struct Process;

struct OpenFile {
    const Process* owner;
    std::shared_ptr<Node> node;
    std::string path;
    std::size_t position = 0;
    bool may_write = false;

    ~OpenFile() { unlock(); }
    void unlock() const {
        if (node->exclusive == this)
            node->exclusive = nullptr;
        node->shared.erase(this);
    }
};

class FileSystem {
public:
    static constexpr std::size_t sector = 512;
    static constexpr std::size_t word = 8; // the unit of mapped memory

    FileSystem() : root_(make_directory()) {}

    // Returns null if PATH does not exist.
    [[nodiscard]] std::shared_ptr<Node> find(const std::shared_ptr<Node>& from,
                                             std::string_view path) const {
        std::shared_ptr<Node> node = path.starts_with('/') ? root_ : from;
        while (!path.empty() && node) {
            const std::size_t end = std::min(path.find('/'), path.size());
            const std::string_view name = path.substr(0, end);
            path.remove_prefix(std::min(end + 1, path.size()));
            if (name.empty() || name == ".")
                continue;
            const auto found = node->names.find(name);
            node = found == node->names.end() ? nullptr : found->second;
        }
        return node;
    }
    std::shared_ptr<Node> make_file(Node& directory, const std::string& name, mode_t mode) {
        auto file = std::make_shared<Node>(Node{.inode = ++inodes_, .mode = S_IFREG | mode});
        return directory.names[name] = std::move(file);
    }
    std::shared_ptr<Node> make_directory(Node& directory, const std::string& name) {
        return directory.names[name] = make_directory();
    }
    [[nodiscard]] ino_t new_inode() { return ++inodes_; }
    // Makes the current state durable.
    void sync_all() { sync_all(*root_); }
    void lose_power(Random& random) { lose_power(*root_, random); }
    [[nodiscard]] const std::shared_ptr<Node>& root() const { return root_; }

private:
    std::shared_ptr<Node> make_directory() {
        return std::make_shared<Node>(Node{.inode = ++inodes_, .mode = S_IFDIR | 0700});
    }
    static void sync_all(Node& node) {
        node.durable_names = node.names;
        node.durable_attributes = node.attributes;
        std::ranges::copy(node.bytes().first(node.durable.size()), node.durable.begin());
        for (auto& [name, child] : node.names)
            sync_all(*child);
    }
    // A name that was created or removed and not synced may exist or not.
    static void lose_power(Node& node, Random& random) {
        node.lose_power(random, node.memory.empty() ? sector : word);
        Node::Names kept = node.durable_names;
        for (const auto& [name, child] : node.names)
            if (!kept.contains(name) && random.chance(50))
                kept.emplace(name, child);
        for (const auto& [name, child] : node.durable_names)
            if (!node.names.contains(name) && random.chance(50))
                kept.erase(name);
        node.names = node.durable_names = kept;
        for (auto& [name, child] : node.names)
            lose_power(*child, random);
    }

    ino_t inodes_ = 0;
    std::shared_ptr<Node> root_;
};

} // namespace rpmem::simulation
