// SPDX-License-Identifier: BSD-3-Clause
// Macros that replace functions of the C library in a simulation.
#pragma once

#include <dlfcn.h>

// Defines the function that the linker's --wrap calls instead of NAME, in all code that is linked
// into the program. __real_NAME is the original function.
#define STANDS_FOR(result, name, ...)                                                              \
    extern "C" result __real_##name(__VA_ARGS__);                                                  \
    extern "C" result __wrap_##name(__VA_ARGS__);                                                  \
    extern "C" result __wrap_##name(__VA_ARGS__)

// Defines NAME itself. The C++ library calls some functions from its own shared object, which
// --wrap does not reach. A definition in the program takes their place there, too.
#define TAKES_THE_PLACE_OF(result, name, ...)                                                      \
    extern "C" [[gnu::visibility("default")]] result name(__VA_ARGS__)

namespace rpmem::simulation {

// Returns the function that a definition in the program hides: that of the C library or of a
// sanitizer.
template <typename Function>
Function* next_of(const char* name, Function* /*same type*/) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

} // namespace rpmem::simulation
