// SPDX-License-Identifier: BSD-3-Clause
// How thorough a test is that tries a great many like cases.
#pragma once

#include <cstddef>

namespace rpmem {

// Every so-manieth case is tried: all of them, but with sanitizers, which make them several times
// as slow. ThreadSanitizer sees the same two threads in each. Odd, so that alternatives keep their
// turns.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t every_case = 7;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t every_case = 3;
#else
inline constexpr std::size_t every_case = 1;
#endif

} // namespace rpmem
