// SPDX-License-Identifier: BSD-3-Clause
// Loads shared libraries without their side effects on the application. libinfinipath, which
// libfabric needs, installs handlers for SIGSEGV and other signals when it is loaded. Libraries
// built with -ffast-math change the rounding of floating-point numbers.
#pragma once

#include <array>
#include <cfenv>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace rpmem {

// While a guard exists, its thread may load libraries. The destructor restores the floating-point
// environment. It also restores the disposition of each signal whose handler is now in a library
// that was loaded since the constructor.
class LoadingGuard {
public:
    LoadingGuard();
    ~LoadingGuard();
    LoadingGuard(const LoadingGuard&) = delete;
    LoadingGuard& operator=(const LoadingGuard&) = delete;

private:
    void put_back(int signal) const;

    std::array<struct sigaction, NSIG> dispositions_{};
    // Sorted addresses of the shared objects that were loaded before.
    std::vector<std::uintptr_t> objects_;
    std::fenv_t floating_point_{};
};

// A function of a library, in the symbol version that the headers describe.
struct LibrarySymbol {
    const char* name;
    const char* version;
    void* function; // address of the pointer that receives it
};

// Loads the library FILE and never unloads it, because it has threads, and destructors that run at
// the end of the process. Returns an empty string, or why FILE or one of SYMBOLS is not available.
[[nodiscard]] std::string load_library(const char* file,
                                       std::initializer_list<LibrarySymbol> symbols);

} // namespace rpmem
