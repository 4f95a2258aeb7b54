// Ways out of a process that is confined.
#pragma once

#include <string>

namespace rpmem::test {

// Tries the way NAME; PATH is a file that some need. Returns 0 if it is open, else the
// errno value of what stood in the way. Does not return where the kernel kills the process.
int try_to_leave(const std::string& name, const std::string& path);

} // namespace rpmem::test
