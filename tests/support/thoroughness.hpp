// How thorough a test is that tries a great many like cases.
#pragma once

#include <cstddef>

namespace rpmem {

// Every so-manieth case is tried: all of them, but with ThreadSanitizer, which makes them several
// times as slow, and sees the same two threads in each. Odd, so that alternatives keep their turns.
#ifdef __SANITIZE_THREAD__
inline constexpr std::size_t every_case = 7;
#else
inline constexpr std::size_t every_case = 1;
#endif

} // namespace rpmem
