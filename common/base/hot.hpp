// SPDX-License-Identifier: BSD-3-Clause
// For functions that every persist passes through.
#pragma once

// A branch of the processor that must end at an ENDBR instruction is one through a pointer. Nobody
// calls these functions through a pointer, so the instruction would be executed in vain.
#if defined(__CET__) && (__CET__ & 1)
#define RPMEM_CALLED_BY_NAME __attribute__((nocf_check))
#else
#define RPMEM_CALLED_BY_NAME
#endif

// The frames of these functions hold no text and no bytes of a peer, so a stack protector would
// guard nothing there. It takes six instructions of each, of about 470 in all.
#define RPMEM_NO_CANARY __attribute__((no_stack_protector))

#define RPMEM_HOT RPMEM_CALLED_BY_NAME RPMEM_NO_CANARY
