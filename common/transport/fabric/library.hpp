// SPDX-License-Identifier: BSD-3-Clause
// Loads libfabric at its first use, because its start takes a good part of a second on some
// systems, and lanes over tcp do not need it.
#pragma once

#include "common/base/freed_by.hpp"
#include "common/base/result.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <string>

namespace rpmem::fabric {

// Fails with ELIBACC if libfabric cannot be loaded. Thread-safe; only the first call loads it.
Result<> load_library();

// Returns a version such as "1.17", or an empty string if libfabric cannot be loaded.
std::string library_version();

// Sets an environment variable of libfabric. Returns false if setenv(3) fails, or if it is too
// late: fi_getinfo(3) or freeze_environment() was called.
bool set_before_start(const char* variable, const char* value);
// Makes set_before_start() fail from now on, so that other threads may read the environment.
void freeze_environment();

// Owners of libfabric objects. fi_close() fails only while dependent objects are open, and this
// layer closes those first.
struct Closer {
    template <typename Object>
    void operator()(Object* object) const {
        fi_close(&object->fid);
    }
};

template <typename Object>
using Handle = std::unique_ptr<Object, Closer>;

using Info = std::unique_ptr<fi_info, FreedBy<fi_freeinfo>>;

// Returns the text for CODE, a positive error code of libfabric, and what to do.
std::string explain(int code);

// STATUS is a negative return value of libfabric.
template <typename... Args>
[[nodiscard]] Failure fail_fabric(ErrorClass kind, int status, fmt::format_string<Args...> format,
                                  Args&&... args) {
    const int code = -status;
    return Failure(
        Error{code, kind, fmt::format(format, std::forward<Args>(args)...) + ": " + explain(code)});
}

// Like fail_fabric(), but succeeds if STATUS is 0.
template <typename... Args>
[[nodiscard]] Result<> checked(int status, ErrorClass kind, fmt::format_string<Args...> format,
                               Args&&... args) {
    return status == 0 ? Result<>()
                       : fail_fabric(kind, status, format, std::forward<Args>(args)...);
}

} // namespace rpmem::fabric
