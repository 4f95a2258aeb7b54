// SPDX-License-Identifier: BSD-3-Clause
// Function attributes for the path of a persist.
#pragma once

// Intel CET requires an ENDBR instruction at the target of an indirect branch. These functions are
// only called directly, so the instruction would cost time for nothing.
#if defined(__CET__) && (__CET__ & 1)
#define RPMEM_CALLED_BY_NAME __attribute__((nocf_check))
#else
#define RPMEM_CALLED_BY_NAME
#endif

// The stack frames of these functions hold no text and no bytes of a peer, so a stack protector
// would protect nothing. It costs six instructions a function, out of about 470 for a persist.
#define RPMEM_NO_CANARY __attribute__((no_stack_protector))

#define RPMEM_HOT RPMEM_CALLED_BY_NAME RPMEM_NO_CANARY
