// What the target refuses: errno and text at the caller, and no change on the media.
#include "tests/integration/environment.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace rpmem::test {
namespace {

namespace fs = std::filesystem;

class Refusal : public TargetTest {
protected:
    void expect_refused(RPMEMpool* pool, int code, const std::string& words) const {
        const int seen = errno;
        EXPECT_EQ(pool, nullptr);
        EXPECT_EQ(seen, code) << rpmem_errormsg();
        EXPECT_NE(std::string(rpmem_errormsg()).find(words), std::string::npos) << rpmem_errormsg();
    }
    LocalPool local{8 * mebibyte};
};

TEST_F(Refusal, MissingAndExisting) {
    expect_refused(create(local, 1, "none.set"), ENOENT, "none.set");
    write_simple_pool_set(8);
    expect_refused(open(local, 1), ENOENT, "part0");
    EXPECT_FALSE(fs::exists(directory() / "part0"));

    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    expect_refused(open(local, 1), EBUSY, "part0");
    expect_refused(create(local, 1), EBUSY, "part0");
    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, EAGAIN) << rpmem_errormsg();
    ASSERT_EQ(rpmem_persist(pool, 8192, 100, 0, 0), 0) << rpmem_errormsg();
    ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();

    const auto before = part(0);
    expect_refused(create(local, 1), EEXIST, "part0");
    EXPECT_EQ(part(0), before);
}

TEST_F(Refusal, SizesNamesAndPoolSets) {
    write_simple_pool_set(4);
    expect_refused(create(local, 1), EFBIG, "8388608");
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    expect_refused(create(local, 1, (directory() / "pool.set").c_str()), EINVAL, "absolute");
    expect_refused(create(local, 1, "../pool.set"), EINVAL, "leads out");
    write_pool_set("bad.set", "what is this");
    expect_refused(create(local, 1, "bad.set"), EINVAL, "bad.set:2");
    write_pool_set("replica.set", "8M %/part0\nREPLICA\n8M %/part1");
    expect_refused(create(local, 1, "replica.set"), EINVAL, "REPLICA");
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Refusal, AttributesMustFitThePoolSet) {
    write_simple_pool_set(8);
    unsigned lanes = 1;
    expect_refused(
        rpmem_create(target.c_str(), "pool.set", local.data(), local.size(), &lanes, nullptr),
        EINVAL, "NOHDRS");
    write_pool_set("bare.set", "OPTION NOHDRS\n8M %/part0");
    expect_refused(create(local, 1, "bare.set"), EINVAL, "NOHDRS");
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Refusal, SetAttributes) {
    write_simple_pool_set(8);
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    const auto before = part(0);
    EXPECT_EQ(rpmem_set_attr(pool, nullptr), -1);
    EXPECT_EQ(errno, EINVAL) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()), "");
    EXPECT_EQ(part(0), before);

    // The session goes on.
    rpmem_pool_attr changed = sample_attributes();
    std::memcpy(changed.signature, "SAMPLE_2", sizeof(changed.signature));
    ASSERT_EQ(rpmem_set_attr(pool, &changed), 0) << rpmem_errormsg();
    EXPECT_EQ(std::memcmp(part(0).data(), "SAMPLE_2", 8), 0);
    ASSERT_EQ(rpmem_persist(pool, 8192, 100, 0, 0), 0) << rpmem_errormsg();
    ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();

    rpmem_pool_attr seen;
    unsigned lanes = 1;
    pool = rpmem_open(target.c_str(), "pool.set", local.data(), local.size(), &lanes, &seen);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(std::memcmp(&seen, &changed, sizeof(seen)), 0);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

TEST_F(Refusal, RemoveTakesPartsAndPoolSet) {
    write_pool_set("pool.set", "4M %/part0\n4M %/part1");
    LocalPool small(4 * mebibyte);
    RPMEMpool* pool = create(small, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    fs::remove(directory() / "part1");
    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, ENOENT) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()).find("part1"), std::string::npos) << rpmem_errormsg();
    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", RPMEM_REMOVE_FORCE | RPMEM_REMOVE_POOL_SET),
              0)
        << rpmem_errormsg();
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    EXPECT_FALSE(fs::exists(directory() / "pool.set"));
    EXPECT_EQ(rpmem_remove(target.c_str(), "/pool.set", 0), -1);
    EXPECT_EQ(errno, EBADF) << rpmem_errormsg();
}

TEST_F(Refusal, ADaemonThatCannotBeConfiguredRemovesNothing) {
    write_simple_pool_set(8);
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    set_daemon("--log-level loud");
    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, EINVAL) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()).find("loud"), std::string::npos) << rpmem_errormsg();
    EXPECT_TRUE(fs::exists(directory() / "part0"));
}

TEST_F(Refusal, RemoveDoesNotRunWhatANameHides) {
    const std::string name = "x; touch " + (directory() / "hidden").string();
    EXPECT_EQ(rpmem_remove(target.c_str(), name.c_str(), 0), -1);
    EXPECT_FALSE(fs::exists(directory() / "hidden"));
}

} // namespace
} // namespace rpmem::test
