// SPDX-License-Identifier: BSD-3-Clause
// Libraries that are loaded may change what belongs to the application: libinfinipath, which
// libfabric needs, installs handlers for SIGSEGV and others when it is loaded, and libraries that
// were built with -ffast-math change how floating-point numbers are rounded.
#pragma once

#include <array>
#include <cfenv>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace rpmem {

// While it exists libraries may be loaded by this thread. Afterwards the floating-point environment
// is as it was, and so are the dispositions of signals, but for what the application itself has
// changed meanwhile.
class LoadingGuard {
public:
    LoadingGuard();
    ~LoadingGuard();
    LoadingGuard(const LoadingGuard&) = delete;
    LoadingGuard& operator=(const LoadingGuard&) = delete;

private:
    void put_back(int signal) const;

    std::array<struct sigaction, NSIG> dispositions_{};
    std::vector<std::uintptr_t> objects_; // loaded before: their addresses, sorted
    std::fenv_t floating_point_{};
};

// A function of a library, pinned to the VERSION whose structures the headers describe.
struct LibrarySymbol {
    const char* name;
    const char* version;
    void* function; // the pointer that is set to it
};

// Loads the library FILE for good: it has threads, and destructors that run when the process ends.
// Returns why it, or one of its functions, cannot be had; empty: they are there.
[[nodiscard]] std::string load_library(const char* file,
                                       std::initializer_list<LibrarySymbol> symbols);

} // namespace rpmem
