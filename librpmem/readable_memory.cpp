// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/readable_memory.hpp"

#include "common/base/io.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace rpmem::initiator {
namespace {

// Pages that one process_vm_readv(2) reads. A block of 64 KiB has 16.
constexpr std::size_t pages_together = 64;

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t rest_of_page(const std::byte* byte) {
    return page_size() - reinterpret_cast<std::uintptr_t>(byte) % page_size();
}

#ifndef MADV_POPULATE_READ
constexpr int MADV_POPULATE_READ = 22; // Linux 5.14; unknown to libc before 2.35
#endif

// Has the kernel put all pages of MEMORY into the page tables, as if each were read. That takes a
// third of the time of process_vm_readv(2), which waits for the first byte of each page. Returns
// false if a page cannot be read, or if the kernel does not know: before Linux 5.14, and for
// mappings of devices.
bool can_populate(std::span<const std::byte> memory) {
    const std::size_t before = page_size() - rest_of_page(memory.data());
    return ::madvise(const_cast<std::byte*>(memory.data() - before), memory.size() + before,
                     MADV_POPULATE_READ) == 0;
}

struct Probe {
    std::size_t size = 0;                       // bytes that were probed
    bool is_possible = true;                    // the kernel has answered
    std::optional<std::size_t> unreadable = {}; // an offset
};

// Probes the first pages of MEMORY.
Probe probe_pages(std::span<const std::byte> memory) {
    std::array<iovec, pages_together> pages;
    std::array<std::byte, pages_together> bytes;
    std::array<std::size_t, pages_together> offsets;
    std::size_t count = 0;
    Probe probe;
    for (; count < pages_together && probe.size < memory.size(); ++count) {
        const std::byte* const byte = memory.data() + probe.size;
        offsets[count] = probe.size;
        pages[count] = {const_cast<std::byte*>(byte), 1};
        probe.size += std::min(rest_of_page(byte), memory.size() - probe.size);
    }
    const iovec place{bytes.data(), count};
    // The ID of a thread stands for its process here.
    const ssize_t read = ::process_vm_readv(::gettid(), &place, 1, pages.data(), count, 0);
    if (read < 0)
        probe.is_possible = errno == EFAULT;
    if (const std::size_t done = read < 0 ? 0 : static_cast<std::size_t>(read); done < count)
        probe.unreadable = offsets[done];
    return probe;
}

// Returns UNKNOWN if no pipe can be made.
std::optional<std::size_t> probe_by_pipe(std::span<const std::byte> memory,
                                         std::optional<std::size_t> unknown) {
    const auto pipe = make_pipe();
    if (!pipe)
        return unknown;
    // Each byte is read back, so that the pipe is never full.
    for (std::size_t position = 0; position < memory.size();) {
        const std::byte* const byte = memory.data() + position;
        if (::write(pipe->write_end.get(), byte, 1) < 0 && errno == EFAULT)
            return position;
        std::byte taken{};
        if (::read(pipe->read_end.get(), &taken, 1) != 1)
            return unknown;
        position += rest_of_page(byte);
    }
    return std::nullopt;
}

} // namespace

// A filter of system calls may forbid process_vm_readv(2), and it cannot read the memory of some
// devices. A pipe can, but costs three system calls for each page.
std::optional<std::size_t> unreadable_at(std::span<const std::byte> memory) {
    const std::size_t together = pages_together * page_size();
    for (std::size_t position = 0; position < memory.size();) {
        const auto next = memory.subspan(position, std::min(together, memory.size() - position));
        if (can_populate(next)) {
            position += next.size();
            continue;
        }
        const Probe probe = probe_pages(memory.subspan(position));
        if (probe.unreadable) {
            const auto unknown = probe.is_possible ? probe.unreadable : std::nullopt;
            if (const auto offset = probe_by_pipe(memory.subspan(position, probe.size), unknown))
                return position + *offset;
        }
        position += probe.size;
    }
    return std::nullopt;
}

} // namespace rpmem::initiator
