// SPDX-License-Identifier: BSD-3-Clause
// Static probes (USDT) for bpftrace, perf and SystemTap, see contrib/bpftrace. A probe is one nop;
// a note of the ELF file describes its address and arguments. Without <sys/sdt.h> (Debian package
// systemtap-sdt-dev) probes compile to nothing.
#pragma once

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
// Pass only values that the caller has computed anyway.
#define RPMEM_PROBE(provider, name, ...) STAP_PROBEV(provider, name, __VA_ARGS__)
#else
namespace rpmem {
template <typename... Values>
constexpr void no_probe(const Values&...) {}
} // namespace rpmem
#define RPMEM_PROBE(provider, name, ...) ::rpmem::no_probe(__VA_ARGS__)
#endif
