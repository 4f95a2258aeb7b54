// SPDX-License-Identifier: BSD-3-Clause
// A deleter for std::unique_ptr that calls the function by which a C library frees an object.
#pragma once

namespace rpmem {

template <auto Free>
struct FreedBy {
    template <typename T>
    void operator()(T* object) const {
        Free(object);
    }
};

} // namespace rpmem
