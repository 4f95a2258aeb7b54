// Libraries that are loaded may change what belongs to the application: libinfinipath, which
// libfabric needs, installs handlers for SIGSEGV and others when it is loaded, and libraries that
// were built with -ffast-math change how floating-point numbers are rounded.
#pragma once

#include <array>
#include <cfenv>
#include <csignal>
#include <cstdint>
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

} // namespace rpmem
