// SPDX-License-Identifier: BSD-3-Clause
// For std::unique_ptr to objects of C libraries.
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
