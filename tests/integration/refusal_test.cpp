// SPDX-License-Identifier: BSD-3-Clause
// Tests what the target refuses: missing or existing pools, wrong sizes, names, pool sets and
// attributes. Requests go through a real sshd to the real daemon. A wrong errno or text at the
// caller, or a refused request that changes or creates a file, makes a test fail.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

using Refusal = PoolTest;

TEST_F(Refusal, MissingAndExisting) {
    EXPECT_TRUE(failed(create(local, 1, "none.set"), ENOENT, "none.set"));
    EXPECT_TRUE(failed(open(local, 1), ENOENT, "part0"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));

    RPMEMpool* pool = created();
    EXPECT_TRUE(failed(open(local, 1), EBUSY, "part0"));
    EXPECT_TRUE(failed(create(local, 1), EBUSY, "part0"));
    EXPECT_TRUE(failed(remove(), EAGAIN));
    expect_served(pool);

    const auto before = part(0);
    EXPECT_TRUE(failed(create(local, 1), EEXIST, "part0"));
    EXPECT_EQ(part(0), before);
}

TEST_F(Refusal, SizesNamesAndPoolSets) {
    write_simple_pool_set(4);
    EXPECT_TRUE(failed(create(local, 1), EFBIG, "8388608"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    EXPECT_TRUE(failed(create(local, 1, (directory() / "pool.set").c_str()), EINVAL, "absolute"));
    EXPECT_TRUE(failed(create(local, 1, "../pool.set"), EINVAL, "leads out"));
    write_pool_set("bad.set", "what is this");
    EXPECT_TRUE(failed(create(local, 1, "bad.set"), EINVAL, "bad.set:2"));
    write_pool_set("replica.set", "8M %/part0\nREPLICA\n8M %/part1");
    EXPECT_TRUE(failed(create(local, 1, "replica.set"), EINVAL, "REPLICA"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Refusal, AttributesMustFitThePoolSet) {
    EXPECT_TRUE(failed(create(local, 1, "pool.set", std::nullopt), EINVAL, "NOHDRS"));
    write_pool_set("bare.set", "OPTION NOHDRS\n8M %/part0");
    EXPECT_TRUE(failed(create(local, 1, "bare.set"), EINVAL, "NOHDRS"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Refusal, SetAttributes) {
    RPMEMpool* pool = created();
    const auto before = part(0);
    EXPECT_TRUE(failed(rpmem_set_attr(pool, nullptr), EINVAL));
    EXPECT_NE(std::string(rpmem_errormsg()), "");
    EXPECT_EQ(part(0), before);

    // The session still works.
    rpmem_pool_attr changed = sample_attributes();
    std::memcpy(changed.signature, "SAMPLE_2", sizeof(changed.signature));
    ASSERT_TRUE(succeeded(rpmem_set_attr(pool, &changed)));
    EXPECT_EQ(std::memcmp(part(0).data(), "SAMPLE_2", 8), 0);
    expect_served(pool);

    rpmem_pool_attr seen;
    pool = opened(1, &seen);
    EXPECT_EQ(std::memcmp(&seen, &changed, sizeof(seen)), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Refusal, RemoveTakesPartsAndPoolSet) {
    write_pool_set("pool.set", "4M %/part0\n4M %/part1");
    LocalPool small(4 * mebibyte);
    ASSERT_TRUE(succeeded(rpmem_close(sound(create(small, 1)))));
    fs::remove(directory() / "part1");
    EXPECT_TRUE(failed(remove(), ENOENT, "part1"));
    EXPECT_TRUE(succeeded(remove("pool.set", RPMEM_REMOVE_FORCE | RPMEM_REMOVE_POOL_SET)));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    EXPECT_FALSE(fs::exists(directory() / "pool.set"));
    EXPECT_TRUE(failed(remove("/pool.set"), EBADF));
}

TEST_F(Refusal, ADaemonThatCannotBeConfiguredRemovesNothing) {
    ASSERT_TRUE(succeeded(rpmem_close(created())));
    set_daemon("--log-level loud");
    EXPECT_TRUE(failed(remove(), EINVAL, "loud"));
    EXPECT_TRUE(fs::exists(directory() / "part0"));
}

TEST_F(Refusal, RemoveDoesNotRunWhatANameHides) {
    const std::string name = "x; touch " + (directory() / "hidden").string();
    EXPECT_EQ(rpmem_remove(target.c_str(), name.c_str(), 0), -1);
    EXPECT_FALSE(fs::exists(directory() / "hidden"));
}

} // namespace
} // namespace rpmem::test
