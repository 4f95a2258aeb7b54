// SPDX-License-Identifier: BSD-3-Clause
// Tests the check whether memory can be read, also in a process whose filter of system calls
// forbids process_vm_readv(2). The test fails if a missing page is not found or its offset is
// wrong, or if the check without that call gives another answer.
#include "common/base/unique_fd.hpp"
#include "librpmem/readable_memory.hpp"
#include "tests/support/expect.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::initiator::readable_memory {
namespace {

const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t pages = 200; // several calls

class ReadableMemory : public testing::Test {
protected:
    ~ReadableMemory() override { ::munmap(memory_, pages * page); }

    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, pages * page}; }
    void protect(std::size_t number) const {
        ASSERT_EQ(::mprotect(memory_ + number * page, page, PROT_NONE), 0);
    }
    // Page 131 must be protected.
    void expect_offsets() const {
        EXPECT_EQ(unreadable_at(bytes()), 131 * page);
        EXPECT_EQ(unreadable_at(bytes().subspan(100)), 131 * page - 100);
        EXPECT_EQ(unreadable_at(bytes().subspan(131 * page + 7, 1)), 0U);
        EXPECT_FALSE(unreadable_at(bytes().first(131 * page)));
        EXPECT_FALSE(unreadable_at(bytes().subspan(132 * page)));
        EXPECT_FALSE(unreadable_at({}));
    }

    UniqueFd file_{::memfd_create("pool", MFD_CLOEXEC)};
    std::byte* memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, pages* page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

// Makes process_vm_readv(2) fail with CODE for the rest of this process.
bool forbid(int code) {
    sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), // the number of the call
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{std::size(instructions), instructions};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Returns the exit status of a child that runs TEST.
template <typename Test>
int in_child(Test test) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(test());
    int status = -1;
    return ::waitpid(child, &status, 0) == child ? status : -1;
}

TEST_F(ReadableMemory, FindsAProtectedPage) {
    EXPECT_TRUE(is_readable(bytes()));
    protect(131);
    expect_offsets();
}

TEST_F(ReadableMemory, FindsTheEndOfATruncatedFile) {
    ASSERT_NE(::mmap(memory_, pages * page, PROT_READ, MAP_SHARED | MAP_FIXED, file_.get(), 0),
              MAP_FAILED);
    EXPECT_EQ(unreadable_at(bytes()), 0U);
    ASSERT_EQ(::ftruncate(file_.get(), static_cast<off_t>(70 * page - 1)), 0);
    EXPECT_EQ(unreadable_at(bytes()), 70 * page);
}

TEST_F(ReadableMemory, FindsAnUnmappedPage) {
    ASSERT_EQ(::munmap(memory_ + 3 * page, page), 0);
    EXPECT_EQ(unreadable_at(bytes()), 3 * page);
}

TEST_F(ReadableMemory, WithoutTheSystemCallAPipeAnswers) {
    protect(131);
    for (const int code : {EPERM, ENOSYS})
        EXPECT_EQ(in_child([&] {
                      if (!forbid(code))
                          return 77;
                      expect_offsets();
                      return HasFailure() ? 1 : 0;
                  }),
                  0);
}

// Without both, nothing can be said, so that a readable range is not refused.
TEST_F(ReadableMemory, WithoutDescriptorsTheSystemCallIsEnough) {
    protect(131);
    const auto without_descriptors = [] {
        const rlimit none{0, 0};
        return ::setrlimit(RLIMIT_NOFILE, &none) == 0;
    };
    EXPECT_EQ(in_child([&] {
                  return without_descriptors() && unreadable_at(bytes()) == 131 * page ? 0 : 1;
              }),
              0);
    EXPECT_EQ(in_child([&] {
                  return forbid(EPERM) && without_descriptors() && is_readable(bytes()) ? 0 : 1;
              }),
              0);
}

} // namespace
} // namespace rpmem::initiator::readable_memory
