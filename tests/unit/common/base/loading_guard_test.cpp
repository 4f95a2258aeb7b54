// SPDX-License-Identifier: BSD-3-Clause
// Tests LoadingGuard in this process, with a real library that the test loads, real signal
// dispositions and the real rounding mode. The test fails if the guard leaves a handler that lies
// in the library, or a changed rounding mode, or if it removes a handler that the application has
// installed meanwhile.
#include "common/base/loading_guard.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <csignal>

namespace rpmem::initiator {
namespace {

void handle(int) {}

auto handler_of(int signal) {
    struct sigaction now {};
    EXPECT_EQ(::sigaction(signal, nullptr, &now), 0);
    return now.sa_handler;
}

// Another thread of the application may install handlers while libraries are loaded.
TEST(LoadingGuard, LeavesWhatTheApplicationSets) {
    const auto before = handler_of(SIGUSR1);
    {
        const LoadingGuard guard;
        ASSERT_NE(std::signal(SIGUSR1, handle), SIG_ERR);
        ASSERT_NE(std::signal(SIGUSR2, SIG_IGN), SIG_ERR);
    }
    EXPECT_EQ(handler_of(SIGUSR1), handle);
    EXPECT_EQ(handler_of(SIGUSR2), SIG_IGN);
    ASSERT_NE(std::signal(SIGUSR1, before), SIG_ERR);
    ASSERT_NE(std::signal(SIGUSR2, SIG_DFL), SIG_ERR);
}

// An address in a library that was not loaded before stands for its handler.
TEST(LoadingGuard, PutsBackWhatALibrarySets) {
    const auto before = handler_of(SIGUSR1);
    void* library = nullptr;
    {
        const LoadingGuard guard;
        library = ::dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL); // small, and not loaded yet
        ASSERT_NE(library, nullptr) << ::dlerror();
        const link_map* map = nullptr;
        ASSERT_EQ(::dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
        struct sigaction of_library {};
        of_library.sa_handler = reinterpret_cast<void (*)(int)>(map->l_addr);
        ASSERT_EQ(::sigaction(SIGUSR1, &of_library, nullptr), 0);
    }
    EXPECT_EQ(handler_of(SIGUSR1), before);
    ::dlclose(library);
}

TEST(LoadingGuard, PutsBackHowNumbersAreRounded) {
    const int before = std::fegetround();
    {
        const LoadingGuard guard;
        ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
    }
    EXPECT_EQ(std::fegetround(), before);
}

} // namespace
} // namespace rpmem::initiator
