// SPDX-License-Identifier: BSD-3-Clause
// libfabric is loaded when it is needed first: its own start takes a good part of a second on some
// systems, and much of what this project does gets by without it.
#pragma once

#include "common/base/freed_by.hpp"
#include "common/base/result.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
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

// Owners of its objects. fi_close() fails only with objects open beneath, and this layer keeps the
// order.
struct Closer {
    template <typename Object>
    void operator()(Object* object) const {
        fi_close(&object->fid);
    }
};

template <typename Object>
using Handle = std::unique_ptr<Object, Closer>;

using Info = std::unique_ptr<fi_info, FreedBy<fi_freeinfo>>;

// The words for CODE, a positive errno value of libfabric's, and what to do about it.
std::string explain(int code);

// STATUS is a libfabric return value (negative).
template <typename... Args>
[[nodiscard]] Failure fail_fabric(ErrorClass kind, int status, fmt::format_string<Args...> format,
                                  Args&&... args) {
    const int code = -status;
    return Failure(
        Error{code, kind, fmt::format(format, std::forward<Args>(args)...) + ": " + explain(code)});
}

// The same, of a STATUS that may be 0: then nothing is wrong.
template <typename... Args>
[[nodiscard]] Result<> checked(int status, ErrorClass kind, fmt::format_string<Args...> format,
                               Args&&... args) {
    return status == 0 ? Result<>()
                       : fail_fabric(kind, status, format, std::forward<Args>(args)...);
}

} // namespace rpmem::fabric
