#include "pool_fixture.hpp"

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

class RemovePool : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    }
    void create_and_close() { ASSERT_TRUE(succeeded(create("pool.set", 0, golden_attributes(2)))); }
    [[nodiscard]] bool has_set() const { return fs::exists(options.poolset_dir / "pool.set"); }
    [[nodiscard]] bool has(const std::string& name) const { return fs::exists(part(name)); }
};

TEST_F(RemovePool, RemovesThePartsOnly) {
    create_and_close();
    EXPECT_TRUE(succeeded(remove("pool.set")));
    EXPECT_FALSE(has("part0"));
    EXPECT_FALSE(has("part1"));
    EXPECT_TRUE(has_set());
}

TEST_F(RemovePool, RemovesThePoolSetFileOnRequest) {
    create_and_close();
    EXPECT_TRUE(succeeded(remove("pool.set", {.pool_set = true})));
    EXPECT_FALSE(has("part0"));
    EXPECT_FALSE(has_set());
}

TEST_F(RemovePool, ForceNeverLeavesThePartsBehind) {
    create_and_close();
    EXPECT_TRUE(succeeded(remove("pool.set", {.force = true, .pool_set = true})));
    EXPECT_FALSE(has("part0"));
    EXPECT_FALSE(has("part1"));
    EXPECT_FALSE(has_set());
}

TEST_F(RemovePool, WithAMissingPartNothingIsRemovedUnlessForced) {
    create_and_close();
    fs::remove(part("part1"));
    EXPECT_TRUE(failed(remove("pool.set", {.pool_set = true}), ENOENT, "part1"));
    EXPECT_TRUE(has("part0"));
    EXPECT_TRUE(has_set());
    EXPECT_TRUE(succeeded(remove("pool.set", {.force = true})));
    EXPECT_FALSE(has("part0"));
    EXPECT_TRUE(has_set());
}

TEST_F(RemovePool, APartInUseIsNeverRemoved) {
    auto pool = create("pool.set", 0, golden_attributes(2));
    ASSERT_TRUE(succeeded(pool));
    EXPECT_TRUE(failed(remove("pool.set"), EAGAIN));
    EXPECT_TRUE(succeeded(remove("pool.set", {.force = true})));
    EXPECT_TRUE(has("part0"));
    EXPECT_TRUE(has("part1"));
}

TEST_F(RemovePool, MissingAndBrokenPoolSets) {
    EXPECT_TRUE(failed(remove("no.set"), ENOENT, "no.set"));
    EXPECT_TRUE(succeeded(remove("no.set", {.force = true})));
    EXPECT_TRUE(succeeded(remove("no.set", {.force = true, .pool_set = true})));
    pool_set("bad.set", "foo bar\n");
    EXPECT_TRUE(failed(remove("bad.set", {.pool_set = true}), EINVAL, "bad.set:2:"));
    EXPECT_TRUE(fs::exists(options.poolset_dir / "bad.set"));
    EXPECT_TRUE(succeeded(remove("bad.set", {.force = true, .pool_set = true})));
    EXPECT_FALSE(fs::exists(options.poolset_dir / "bad.set"));
}

TEST_F(RemovePool, NamesThatLeadOutAreRefusedEvenIfForced) {
    create_and_close();
    const RemoveOptions all{.force = true, .pool_set = true};
    fs::rename(options.poolset_dir / "pool.set", root / "pool.set");
    EXPECT_TRUE(failed(remove("../pool.set", all), EBADF));
    EXPECT_TRUE(failed(remove((root / "pool.set").native(), all), EBADF));
    EXPECT_TRUE(has("part0"));
    EXPECT_TRUE(has("pool.set"));
}

TEST_F(RemovePool, APartWithoutAHeaderCanBeRemovedToo) {
    make_part("part0", 2 * MiB);
    make_part("part1", 10, "no pool");
    EXPECT_TRUE(succeeded(remove("pool.set")));
    EXPECT_FALSE(has("part0"));
    EXPECT_FALSE(has("part1"));
}

TEST_F(RemovePool, AnOpenPoolRemovesItself) {
    auto pool = create("pool.set", 0, golden_attributes(2));
    ASSERT_TRUE(succeeded(pool));
    EXPECT_TRUE(succeeded(pool->remove()));
    EXPECT_FALSE(has("part0"));
    EXPECT_FALSE(has("part1"));
    EXPECT_TRUE(has_set());
    EXPECT_TRUE(succeeded(pool->remove())) << "once more does nothing";
    EXPECT_TRUE(succeeded(create("pool.set", 0, golden_attributes(2))));
}

} // namespace
} // namespace rpmem::target
