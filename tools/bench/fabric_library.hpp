// libfabric, loaded when it is first needed: the benchmark itself must not make the library's start
// look shorter than it is.
#pragma once

#include "base/result.hpp"

#include <rdma/fabric.h>

#include <memory>

namespace rpmem::bench {

class FabricLibrary {
public:
    static Result<FabricLibrary> load();

    [[nodiscard]] const char* text_of(int status) const { return strerror_(-status); }
    // What the library's own fi_allocinfo() does.
    [[nodiscard]] fi_info* allocate() const { return duplicate_(nullptr); }

    decltype(&::fi_getinfo) get_info = nullptr;
    decltype(&::fi_freeinfo) free_info = nullptr;
    decltype(&::fi_fabric) open_fabric = nullptr;

private:
    decltype(&::fi_dupinfo) duplicate_ = nullptr;
    decltype(&::fi_strerror) strerror_ = nullptr;
};

} // namespace rpmem::bench
