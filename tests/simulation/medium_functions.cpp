// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions of libpmem that make data durable, and futex(2), by simulated ones. All
// code that is linked into the program calls these instead.
#include "tests/simulation/simulated_medium.hpp"

#include <libpmem.h>
#include <libpmem2.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdarg>

using rpmem::simulation::SimulatedMedium;
using rpmem::simulation::World;

#define STANDS_FOR_ANOTHER extern "C" __attribute__((visibility("default")))

STANDS_FOR_ANOTHER void pmem_persist(const void* address, size_t size) {
    SimulatedMedium::current().persist(address, size);
}

STANDS_FOR_ANOTHER int pmem_msync(const void* address, size_t size) {
    const int code = SimulatedMedium::current().sync_file(address, size);
    errno = code;
    return code == 0 ? 0 : -1;
}

// Fails with a negative errno value.
STANDS_FOR_ANOTHER int pmem2_deep_flush(pmem2_map*, void* address, size_t size) {
    return -SimulatedMedium::current().sync_device(address, size);
}

STANDS_FOR_ANOTHER void pmem_flush(const void* address, size_t size) {
    SimulatedMedium::current().flush(address, size);
}

STANDS_FOR_ANOTHER void pmem_drain() { SimulatedMedium::current().drain(); }

STANDS_FOR_ANOTHER void* pmem_memcpy(void* destination, const void* source, size_t size,
                                     unsigned flags) {
    std::memcpy(destination, source, size);
    if ((flags & PMEM_F_MEM_NOFLUSH) == 0)
        SimulatedMedium::current().flush(destination, size);
    if ((flags & (PMEM_F_MEM_NOFLUSH | PMEM_F_MEM_NODRAIN)) == 0)
        SimulatedMedium::current().drain();
    return destination;
}

// The linker's --wrap replaces syscall(2) in the program. While a world runs, the code uses it only
// for futexes. A fiber waits where a thread would sleep.
extern "C" long __real_syscall(long number, ...);
extern "C" long __wrap_syscall(long number, ...);

extern "C" long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    std::uintptr_t arguments[6];
    for (std::uintptr_t& argument : arguments)
        argument = va_arg(list, std::uintptr_t);
    va_end(list);
    if (number != SYS_futex)
        return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                              arguments[4], arguments[5]);
    World& world = SimulatedMedium::current().world();
    const auto* const word = reinterpret_cast<const std::uint32_t*>(arguments[0]);
    if (static_cast<int>(arguments[1]) != FUTEX_WAIT_PRIVATE)
        world.wake_all(); // each fiber checks its own condition
    else if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == static_cast<std::uint32_t>(arguments[2]))
        world.block(world.now() + rpmem::simulation::second);
    return 0;
}
