// SPDX-License-Identifier: BSD-3-Clause
// Copies memory of the application that may vanish meanwhile: another thread or process truncates
// the file behind it, or unmaps it. The load then raises SIGBUS or SIGSEGV.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace rpmem::initiator {

// Copies SOURCE like load_words(). Returns the offset of a byte whose load has faulted, or nothing.
//
// No system call can do this: the kernel copies without a signal, but may tear a word that the
// program stores. So while this function runs, SIGBUS and SIGSEGV have a handler of the library. It
// handles only faults of this thread in SOURCE. All others are passed to the handler that the
// application had, on the same stack and with the same signal mask, or have their default action.
// Afterwards the application's handler is back. One that it installs meanwhile is left in place,
// and gets the faults of this load, too.
[[nodiscard]] std::optional<std::size_t> load_words_guarded(std::byte* destination,
                                                            std::span<std::byte> source);

} // namespace rpmem::initiator
