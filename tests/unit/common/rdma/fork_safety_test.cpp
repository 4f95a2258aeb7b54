// SPDX-License-Identifier: BSD-3-Clause
// Tests make_fork_safe() with the real libibverbs, which needs no device. The test fails if memory
// remains unprotected without an error, if FI_FORK_UNSAFE is ignored, or if a call that is too late
// does not fail. From Linux 5.12 on the kernel protects the memory itself, and the two tests of
// failures are skipped.
#include "common/rdma/fork_safety.hpp"
#include "common/rdma/verbs_library.hpp"
#include "tests/unit/common/rdma/in_a_child.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace rpmem::rdma {
namespace {

// The state of libibverbs cannot be reset, so each test runs in a child process.

bool kernel_copies() {
    const auto safety = fork_safety();
    return safety && *safety == ForkSafety::copied_by_kernel;
}

TEST(ForkSafety, IsMadeUnlessTheKernelCopies) {
    EXPECT_EQ(status_of([] {
                  const auto before = fork_safety();
                  const auto made = make_fork_safe();
                  const auto after = fork_safety();
                  if (!before || !made || !after || *made != *after)
                      return 1;
                  if (*before == ForkSafety::copied_by_kernel)
                      return *made == *before ? 0 : 2;
                  return *made == ForkSafety::kept_from_children ? 0 : 3;
              }),
              0);
}

TEST(ForkSafety, IsRefusedWhenLibfabricIsToldToDoWithout) {
    if (kernel_copies())
        GTEST_SKIP() << "this kernel copies: nobody is asked";
    EXPECT_EQ(status_of([] {
                  ::setenv("FI_FORK_UNSAFE", "yes", 1);
                  const auto made = make_fork_safe();
                  if (made || made.error().code != ENOTSUP)
                      return 1;
                  if (made.error().text.find("FI_FORK_UNSAFE forbids it") == std::string::npos)
                      return 2;
                  const auto after = fork_safety();
                  return after && *after == ForkSafety::unsafe ? 0 : 3;
              }),
              0);
}

TEST(ForkSafety, IsRefusedWhenItIsTooLate) {
    if (kernel_copies())
        GTEST_SKIP() << "this kernel copies: it is never too late";
    EXPECT_EQ(status_of([] {
                  const auto verbs = verbs_library();
                  if (!verbs)
                      return 1;
                  // A registration calls this function first. libibverbs exports it for drivers.
                  void* const library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
                  void* const address = ::dlvsym(library, "ibv_dontfork_range", "IBVERBS_1.1");
                  int (*dontfork_range)(void*, std::size_t) = nullptr;
                  std::memcpy(&dontfork_range, &address, sizeof(address));
                  static char memory[4096];
                  if (!dontfork_range || dontfork_range(memory, sizeof(memory)) != 0)
                      return 2;
                  const auto made = make_fork_safe();
                  if (made || made.error().code != ENOTSUP)
                      return 3;
                  return made.error().text.find("EINVAL") != std::string::npos ? 0 : 4;
              }),
              0);
}

} // namespace
} // namespace rpmem::rdma
