// For functions that every persist passes through. Their frames hold no text and no bytes of a
// peer, so a stack protector would guard nothing there; it takes six instructions of each, of about
// 340 in all.
#pragma once

#define RPMEM_NO_CANARY __attribute__((no_stack_protector))
