// SPDX-License-Identifier: BSD-3-Clause
// Tests the checks of arguments: each call of the API gets invalid ones and must return the right
// errno and text, and leave the pool usable. The pools are real ones on a target behind sshd. A
// missing check, a wrong errno, or an invalid call that damages its pool makes a test fail.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

class Arguments : public PoolTest {
protected:
    rpmem_pool_attr attributes = sample_attributes();
};

// Expects FAILED to be true, errno to be CODE, and the error text to contain WORDS.
#define EXPECT_ERROR(failed, code, words)                                                          \
    do {                                                                                           \
        errno = 0;                                                                                 \
        EXPECT_TRUE(failed);                                                                       \
        EXPECT_EQ(errno, code) << rpmem_errormsg();                                                \
        EXPECT_TRUE(contains(rpmem_errormsg(), words));                                            \
    } while (false)

TEST_F(Arguments, CreateAndOpenCheckTheirs) {
    unsigned lanes = 1;
    const auto refused = [&](const char* node, const char* set, void* address, std::size_t size,
                             unsigned* count) {
        const bool create_refused =
            rpmem_create(node, set, address, size, count, &attributes) == nullptr;
        const int code = errno;
        const std::string text = rpmem_errormsg();
        const bool open_refused = rpmem_open(node, set, address, size, count, nullptr) == nullptr;
        EXPECT_EQ(errno, code);
        EXPECT_EQ(rpmem_errormsg(), text);
        return create_refused && open_refused;
    };
    std::byte* const address = local.data();
    const std::size_t size = local.size();
    EXPECT_ERROR(refused(nullptr, "pool.set", address, size, &lanes), EINVAL, "NULL");
    EXPECT_ERROR(refused(target.c_str(), nullptr, address, size, &lanes), EINVAL, "NULL");
    EXPECT_ERROR(refused(target.c_str(), "", address, size, &lanes), EINVAL, "empty");
    EXPECT_ERROR(refused(target.c_str(), "pool.set", nullptr, size, &lanes), EINVAL, "address");
    EXPECT_ERROR(refused(target.c_str(), "pool.set", address + 1, size, &lanes), EINVAL,
                 "page size");
    EXPECT_ERROR(refused(target.c_str(), "pool.set", address, 0, &lanes), EINVAL, "size");
    EXPECT_ERROR(refused(target.c_str(), "pool.set", address, size - 1, &lanes), EINVAL,
                 "page size");
    EXPECT_ERROR(refused(target.c_str(), "pool.set", address, size, nullptr), EINVAL, "lanes");
    lanes = 0;
    EXPECT_ERROR(refused(target.c_str(), "pool.set", address, size, &lanes), EINVAL, "lanes");
    lanes = 1;
    EXPECT_ERROR(refused("host:70000", "pool.set", address, size, &lanes), EINVAL, "65535");
    EXPECT_ERROR(refused("-oProxyCommand=x", "pool.set", address, size, &lanes), EINVAL, "'-'");
    EXPECT_EQ(daemon_log(), ""); // no daemon was started
}

TEST_F(Arguments, RangesFlagsAndLanes) {
    RPMEMpool* pool = created(2);
    const std::size_t size = local.size();
    EXPECT_ERROR(rpmem_persist(pool, 0, 8, 0, 0) == -1, EINVAL, "header");
    EXPECT_ERROR(rpmem_persist(pool, 4095, 8, 0, 0) == -1, EINVAL, "header");
    EXPECT_ERROR(rpmem_flush(pool, 4095, 8, 0, 0) == -1, EINVAL, "header");
    EXPECT_ERROR(rpmem_deep_persist(pool, 4095, 8, 0) == -1, EINVAL, "header");
    EXPECT_ERROR(rpmem_persist(pool, size, 0, 0, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_persist(pool, size - 8, 9, 0, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_persist(pool, 8192, SIZE_MAX, 0, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_flush(pool, SIZE_MAX, 2, 0, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_deep_persist(pool, 8192, size, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_persist(pool, 8192, 8, 2, 0) == -1, EINVAL, "lane 2");
    EXPECT_ERROR(rpmem_flush(pool, 8192, 8, 99, 0) == -1, EINVAL, "lane 99");
    EXPECT_ERROR(rpmem_drain(pool, 2, 0) == -1, EINVAL, "lane 2");
    EXPECT_ERROR(rpmem_drain(pool, 0, 1) == -1, EINVAL, "flags");
    EXPECT_ERROR(rpmem_persist(pool, 8192, 8, 0, 2) == -1, EINVAL, "flags");
    EXPECT_ERROR(rpmem_flush(pool, 8192, 8, 0, 4) == -1, EINVAL, "flags");
    std::byte buffer[16];
    EXPECT_ERROR(rpmem_read(pool, buffer, size, 1, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_read(pool, buffer, size - 8, 16, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_read(pool, buffer, SIZE_MAX - 4, 16, 0) == -1, EINVAL, "within the pool");
    EXPECT_ERROR(rpmem_read(pool, buffer, 0, 16, 2) == -1, EINVAL, "lane 2");
    EXPECT_ERROR(rpmem_read(pool, nullptr, 0, 16, 0) == -1, EINVAL, "NULL");
    rpmem_replica_state_info info{};
    EXPECT_ERROR(rpmem_replica_state(pool, nullptr) == -1, EINVAL, "NULL");
    EXPECT_ERROR(rpmem_replica_state(pool, &info) == -1, EINVAL, "version of the structure is 0");
    info.version = RPMEM_REPLICA_STATE_VERSION;
    EXPECT_ERROR(rpmem_replica_state(nullptr, &info) == -1, EINVAL, "handle");
    EXPECT_ERROR(rpmem_wait_in_sync(nullptr, 0) == -1, EINVAL, "handle");
    EXPECT_ERROR(rpmem_wait_in_sync(pool, -1) == -1, EINVAL, "must be 0 to 2147483647");
    EXPECT_ERROR(rpmem_wait_in_sync(pool, INT_MIN) == -1, EINVAL, "-2147483648 ms");
    EXPECT_ERROR(rpmem_persist(nullptr, 8192, 8, 0, 0) == -1, EINVAL, "handle");
    EXPECT_ERROR(rpmem_close(nullptr) == -1, EINVAL, "handle");

    // The pool still works, and a length of 0 is valid.
    EXPECT_EQ(rpmem_persist(pool, 8192, 0, 0, 0), 0);
    EXPECT_EQ(rpmem_flush(pool, 8192, 0, 0, 0), 0);
    expect_served(pool, 100, 1);
}

TEST_F(Arguments, RemoveChecksItsOwn) {
    EXPECT_ERROR(rpmem_remove(nullptr, "pool.set", 0) == -1, EINVAL, "NULL");
    EXPECT_ERROR(rpmem_remove(target.c_str(), nullptr, 0) == -1, EINVAL, "NULL");
    EXPECT_ERROR(rpmem_remove(target.c_str(), "pool.set", 4) == -1, EINVAL, "flags");
    EXPECT_ERROR(rpmem_remove("host:", "pool.set", 0) == -1, EINVAL, "port");
}

TEST_F(Arguments, Versions) {
    EXPECT_EQ(rpmem_check_version(1, 0), nullptr);
    EXPECT_EQ(rpmem_check_version(RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION), nullptr);
    const char* newer = rpmem_check_version(1, RPMEM_MINOR_VERSION + 1);
    ASSERT_NE(newer, nullptr);
    EXPECT_TRUE(contains(std::string(newer), "1.4"));
    EXPECT_TRUE(contains(std::string(newer), "1.3"));
    EXPECT_NE(rpmem_check_version(2, 0), nullptr);
    EXPECT_NE(rpmem_check_version(0, 0), nullptr);
}

TEST_F(Arguments, MoreLanesThanPossibleIsNoError) {
    RPMEMpool* pool = created(4000000000U);
    EXPECT_GE(lanes_in_force, 1U);
    EXPECT_LT(lanes_in_force, 4000000000U);
    expect_served(pool, 100, lanes_in_force - 1);
}

} // namespace
} // namespace rpmem::test
