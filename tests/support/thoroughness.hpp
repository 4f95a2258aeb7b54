// SPDX-License-Identifier: BSD-3-Clause
// The share of its cases that a test with very many similar cases tries.
#pragma once

#include <cstddef>

namespace rpmem {

// The step from one case to the next. It is 1, except with sanitizers, which make tests several
// times slower. ThreadSanitizer sees the same two threads in each case. The step is odd, so that
// both of two alternating kinds of cases are tried.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t every_case = 7;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t every_case = 3;
#else
inline constexpr std::size_t every_case = 1;
#endif

} // namespace rpmem
