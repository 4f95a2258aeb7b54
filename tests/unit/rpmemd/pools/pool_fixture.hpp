// SPDX-License-Identifier: BSD-3-Clause
// A temporary directory with pool sets and parts, the golden headers of tests/data/headers, and
// functions that read and compare headers.
#pragma once

#include "common/base/log.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/pools/pool.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <librpmem.h>

#include <numeric>

namespace rpmem::target {

using test::failed;
using test::read_file;
using test::succeeded;
using test::value_of;

inline constexpr std::size_t MiB = std::size_t{1} << 20;

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream stream(path, std::ios::binary);
    stream << bytes;
    ASSERT_TRUE(stream.flush()) << path;
}

inline PoolHeader header_of(const std::string& bytes) {
    PoolHeader header{};
    EXPECT_GE(bytes.size(), sizeof(header));
    std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof(header)));
    return header;
}

inline std::string bytes_of(const PoolHeader& header) {
    return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

inline std::string golden(const std::string& name) {
    return read_file(std::filesystem::path(HEADER_DATA_DIR) / ("hdr-" + name + ".bin"));
}

// The attributes of the golden headers. Fields have different values, so that exchanged bytes are
// found.
inline rpmem_pool_attr golden_attributes(std::uint32_t incompat, unsigned char base = 0x10) {
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, base == 0x10 ? "GOLDEN_1" : "GOLDEN_2", 8);
    attributes.major = 0x01020304U + base;
    attributes.compat_features = 0x11223344;
    attributes.incompat_features = incompat;
    attributes.ro_compat_features = 0x55667788;
    unsigned char* const fields[] = {attributes.poolset_uuid, attributes.uuid, attributes.next_uuid,
                                     attributes.prev_uuid, attributes.user_flags};
    for (unsigned char* field : fields) {
        std::iota(field, field + 16, base);
        base = static_cast<unsigned char>(base + 0x10);
    }
    return attributes;
}

inline bool same_attributes(const rpmem_pool_attr& left, const rpmem_pool_attr& right) {
    return std::memcmp(&left, &right, sizeof(left)) == 0;
}

inline bool same_headers(const std::vector<PoolHeader>& left,
                         const std::vector<PoolHeader>& right) {
    return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                     [](const auto& one, const auto& other) {
                                                         return bytes_of(one) == bytes_of(other);
                                                     });
}

class PoolFixture : public testing::Test {
protected:
    void SetUp() override {
        options.poolset_dir = root / "sets";
        std::filesystem::create_directory(options.poolset_dir);
    }

    // Writes a pool set file. "@" in TEXT is replaced by the directory of the parts.
    void pool_set(const std::string& name, std::string text) {
        for (auto at = text.find('@'); at != std::string::npos; at = text.find('@', at))
            text.replace(at, 1, root.native());
        write_file(options.poolset_dir / name, "PMEMPOOLSET\n" + text);
    }

    [[nodiscard]] std::filesystem::path part(const std::string& name) const { return root / name; }
    [[nodiscard]] bool has(const std::string& name) const {
        return std::filesystem::exists(part(name));
    }

    // Writes a part file of SIZE bytes that begins with BYTES.
    void make_part(const std::string& name, std::size_t size, const std::string& bytes = {}) {
        write_file(part(name), bytes);
        std::filesystem::resize_file(part(name), size);
    }

    Result<Pool> create(const std::string& name = "pool.set", std::size_t size = 0,
                        const rpmem_pool_attr& attributes = golden_attributes(2)) {
        return create_pool(options, name, size, attributes, log);
    }
    Result<Pool> open(const std::string& name = "pool.set", std::size_t size = 0) {
        return open_pool(options, name, size, log);
    }
    Result<> remove(const std::string& name = "pool.set", const RemoveOptions& flags = {}) {
        return remove_pool(options, name, flags, log);
    }

    const test::TemporaryDirectory temporary;
    const std::filesystem::path root = temporary.path();
    PoolOptions options;
    Log log;
};

} // namespace rpmem::target
