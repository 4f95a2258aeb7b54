// Which fault of the code is planted: see planted_functions.cpp.
#pragma once

#include "tests/simulation/sessions/plan.hpp"

namespace rpmem::simulation::sessions {

// From now on, in this process.
void plant(Planted planted);

} // namespace rpmem::simulation::sessions
