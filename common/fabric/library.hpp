// libfabric is loaded when it is needed first: its own start takes a good part of a second on some
// systems, and much of what this project does gets by without it.
#pragma once

#include "base/result.hpp"

namespace rpmem::fabric {

// ELIBACC if libfabric cannot be loaded. Later calls, from any thread, find it loaded.
Result<> load_library();

// Loads libfabric and has it look at the machine, so that what comes later need not wait for it.
void warm_up();

} // namespace rpmem::fabric
