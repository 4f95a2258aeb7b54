// SPDX-License-Identifier: BSD-3-Clause
// Static probes (USDT), for bpftrace, perf and SystemTap: see contrib/bpftrace. Each is one nop,
// whose place and arguments stand in a note of the ELF file. Without <sys/sdt.h> (Debian package
// systemtap-sdt-dev) there are none.
#pragma once

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
// The arguments are numbers that are there anyway: nothing is computed for a probe.
#define RPMEM_PROBE(provider, name, ...) STAP_PROBEV(provider, name, __VA_ARGS__)
#else
namespace rpmem {
template <typename... Values>
constexpr void no_probe(const Values&...) {}
} // namespace rpmem
#define RPMEM_PROBE(provider, name, ...) ::rpmem::no_probe(__VA_ARGS__)
#endif
