// Functions of a library that is loaded when it is needed. See dlvsym(3).
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace rpmem {

// Pinned to the VERSION whose structures the headers describe. On failure PROBLEM says why.
template <typename Function>
void find_symbol(void* library, const char* name, const char* version, Function& function,
                 std::string& problem) {
    void* const address = ::dlvsym(library, name, version);
    static_assert(sizeof(address) == sizeof(function));
    std::memcpy(&function, &address, sizeof(address));
    if (!address)
        problem = ::dlerror();
}

} // namespace rpmem
