// libfabric is loaded when it is needed first: its own start takes a good part of a second on some
// systems, and much of what this project does gets by without it.
#pragma once

#include "common/base/result.hpp"

#include <string>

namespace rpmem::fabric {

// ELIBACC if libfabric cannot be loaded. Later calls, from any thread, find it loaded.
Result<> load_library();

// "1.17"; empty if libfabric cannot be loaded.
std::string library_version();

// Sets a variable of the environment; false if it is too late: libfabric has read them, or
// freeze_environment() was called.
bool set_before_start(const char* variable, const char* value);
// Nothing is set any more: other threads may read the environment from now on.
void freeze_environment();

} // namespace rpmem::fabric
