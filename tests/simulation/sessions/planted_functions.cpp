#include "tests/simulation/sessions/planted.hpp"

namespace rpmem::simulation::sessions {
namespace {

Planted current = Planted::none;

} // namespace

void plant(Planted planted) { current = planted; }

} // namespace rpmem::simulation::sessions
