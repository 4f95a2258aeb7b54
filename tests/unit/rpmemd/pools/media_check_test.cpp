// SPDX-License-Identifier: BSD-3-Clause
// Tests the warnings and refusals for pools on volatile media and without the right to deep flush,
// with parts on a real tmpfs and a sysfs of the test. The test fails if a medium is classified
// wrongly, if a warning is missing or repeated, or if the settings do not refuse the pool. Tests of
// persistent memory need PMEM_IS_PMEM_FORCE=1.
#include "common/base/medium_kind.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

TEST(MediumKinds, AreToldByTheTypeOfTheFileSystem) {
    struct Case {
        std::uint64_t type;
        MediumKind kind;
        const char* name;
    };
    for (const Case& each :
         {Case{0x01021994, MediumKind::forgetful, "tmpfs"},
          Case{0x858458f6, MediumKind::forgetful, "ramfs"}, Case{0x6969, MediumKind::remote, "NFS"},
          Case{0xff534d42, MediumKind::remote, "CIFS"},
          Case{0x65735546, MediumKind::remote, "FUSE"},
          Case{0xef53, MediumKind::lasting, ""},        // ext4
          Case{0x58465342, MediumKind::lasting, ""}}) { // XFS
        EXPECT_EQ(medium_of_type(each.type).kind, each.kind) << each.name;
        EXPECT_EQ(medium_of_type(each.type).file_system, each.name);
    }
}

class MediaCheck : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        log = *Log::to_file(root / "log", LogLevel::warning);
    }
    [[nodiscard]] std::size_t count_in_log(const std::string& text) const {
        const std::string all = read_file(root / "log");
        std::size_t count = 0;
        for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
            ++count;
        return count;
    }
};

class VolatileParts : public MediaCheck {
protected:
    void SetUp() override {
        MediaCheck::SetUp();
        std::string name = "/dev/shm/rpmem-media-XXXXXX";
        if (medium_of(std::string("/dev/shm")).file_system != "tmpfs" ||
            mkdtemp(name.data()) == nullptr)
            GTEST_SKIP() << "/dev/shm is no tmpfs";
        memory = name;
        pool_set("pool.set", fmt::format("2M {0}/part0\n2M {0}/part1\n", name));
    }
    void TearDown() override {
        if (!memory.empty())
            fs::remove_all(memory);
        MediaCheck::TearDown();
    }
    fs::path memory;
};

TEST_F(VolatileParts, AreWarnedOfOnceWhenAPoolIsMadeOrOpened) {
    ASSERT_TRUE(succeeded(create()));
    EXPECT_EQ(count_in_log("is on tmpfs: data written there is lost in a power failure"), 1U);
    ASSERT_TRUE(succeeded(open()));
    EXPECT_EQ(count_in_log("is on tmpfs"), 2U);
}

TEST_F(VolatileParts, MayBeRefused) {
    ASSERT_TRUE(succeeded(create()));
    options.refuse_volatile = true;
    EXPECT_TRUE(failed(open(), EINVAL, "volatile-medium"));
    ASSERT_TRUE(succeeded(remove()));
    EXPECT_TRUE(failed(create(), EINVAL, "lost in a power failure"));
    EXPECT_TRUE(fs::is_empty(memory));
}

// Simulates the sysfs entries of a region of persistent memory under the parts.
class PmemDeepFlush : public MediaCheck {
protected:
    void SetUp() override {
        MediaCheck::SetUp();
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
        options.system_root = root;
        struct stat status {};
        ASSERT_EQ(stat(root.c_str(), &status), 0);
        fs::create_directories(root / "sys/dev/block");
        const auto device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
        const auto of_device = root / "sys/devices/ndbus0/region7/namespace7.0/block/pmem7";
        fs::create_directories(of_device);
        fs::create_directory_symlink(of_device, root / "sys/dev/block" / device);
        region = root / "sys/devices/ndbus0/region7";
        write_file(region / "deep_flush", "1\n");
        forced = getenv("PMEM_IS_PMEM_FORCE") != nullptr;
    }
    // Calls ACTION as a user who may not write to deep_flush.
    template <typename Action>
    auto as_user(Action action) {
        constexpr uid_t user = 4242;
        fs::permissions(region / "deep_flush", fs::perms(0444));
        const bool is_root = geteuid() == 0;
        if (is_root) {
            for (const auto& path : {root, options.poolset_dir, options.poolset_dir / "pool.set"})
                EXPECT_EQ(chown(path.c_str(), user, user), 0);
            EXPECT_EQ(seteuid(user), 0);
        }
        auto result = action();
        if (is_root) {
            EXPECT_EQ(seteuid(0), 0);
        }
        return result;
    }

    fs::path region;
    bool forced = false;
};

TEST_F(PmemDeepFlush, WithoutTheRightToItIsWarnedOfOnce) {
    ASSERT_TRUE(succeeded(as_user([&] { return create(); })));
    EXPECT_EQ(count_in_log("may not request deep flushes of the persistent memory"),
              forced ? 1U : 0U);
    EXPECT_EQ(count_in_log(fmt::format(": chown 4242 {}", (region / "deep_flush").native())),
              forced && getuid() == 0 ? 1U : 0U);
}

TEST_F(PmemDeepFlush, MayBeRequired) {
    options.require_deep_flush = true;
    const auto create_it = [&] { return create(); };
    if (forced) {
        EXPECT_TRUE(failed(as_user(create_it), EACCES, "deep-flush = require"));
    } else {
        EXPECT_TRUE(succeeded(as_user(create_it))) << "no persistent memory, nothing to ask for";
    }
}

TEST_F(PmemDeepFlush, NothingIsSaidWhereItIsNotNeededOrAllowed) {
    options.require_deep_flush = true;
    for (const char* value : {"1\n", "0\n"}) {
        write_file(region / "deep_flush", value);
        if (value[0] == '1') {
            EXPECT_TRUE(succeeded(create())) << "we may write";
        } else {
            EXPECT_TRUE(succeeded(as_user([&] { return create(); })));
        }
        EXPECT_EQ(count_in_log("deep flush"), 0U);
        if (value[0] == '1') {
            ASSERT_TRUE(succeeded(remove()));
        }
    }
}

} // namespace
} // namespace rpmem::target
