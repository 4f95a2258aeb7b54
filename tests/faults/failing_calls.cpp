// SPDX-License-Identifier: BSD-3-Clause
// Makes one call of a library function fail, by LD_PRELOAD into the tests and the real daemon.
// Calls of the functions in call_table.hpp are counted if code of the project makes them, and the
// call with the number in FailingCalls fails.
#include "tests/faults/failing_calls.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace {

using rpmem::faults::FailingCalls;
using rpmem::faults::Side;

constexpr const char* daemon_name = "rpmemd";
constexpr const char* library_name = "librpmem.so";

struct Code {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool is_own; // code of the project, not of a library that allocates for it
};

FailingCalls* shared = nullptr; // null if no call of this process counts
std::array<Code, 16> codes{};
std::size_t code_count = 0;

bool is_this_daemon() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const char* const name = length > 0 ? std::strrchr(path.data(), '/') : nullptr;
    return name && std::strcmp(name + 1, daemon_name) == 0;
}

int note_code(dl_phdr_info* info, std::size_t, void* of_daemon) {
    const bool is_program = info->dlpi_name[0] == '\0';
    const auto is_named = [&](const char* name) {
        return std::strstr(info->dlpi_name, name) != nullptr;
    };
    const bool is_own = of_daemon ? is_program : is_named(library_name);
    if (!is_own && !is_named("/libstdc++.so") && !is_named("/libspdlog.so") &&
        !is_named("/libfmt.so"))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum && code_count < codes.size(); ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0)
            continue;
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        codes[code_count++] = {begin, begin + segment.p_memsz, is_own};
    }
    return 0;
}

void begin(FailingCalls* calls, bool of_daemon) {
    std::array<void*, 1> none{};
    ::backtrace(none.data(), none.size()); // loads a library, which a confined daemon cannot do
    ::dl_iterate_phdr(note_code, of_daemon ? static_cast<void*>(calls) : nullptr);
    shared = calls;
}

void begin_in_daemon() {
    const char* const path = std::getenv(rpmem::faults::variable);
    if (!path || !is_this_daemon())
        return;
    const int fd = ::open(path, O_RDWR | O_CLOEXEC);
    void* const memory =
        ::mmap(nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED)
        std::abort();
    auto* const calls = static_cast<FailingCalls*>(memory);
    if (calls->side == Side::daemon)
        begin(calls, true);
}

bool counts(const void* caller, bool also_on_behalf) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    return std::any_of(codes.data(), codes.data() + code_count, [&](const Code& code) {
        return address >= code.begin && address < code.end && (code.is_own || also_on_behalf);
    });
}

void describe(const void* address, char* text, std::size_t size) {
    Dl_info info{};
    const bool known = ::dladdr(address, &info) != 0 && info.dli_fname;
    const char* const name = known ? std::strrchr(info.dli_fname, '/') : nullptr;
    static_cast<void>(std::snprintf(text, size, "%s+%#zx", name ? name + 1 : "?",
                                    reinterpret_cast<std::size_t>(address) -
                                        reinterpret_cast<std::size_t>(info.dli_fbase)));
}

constexpr std::uint64_t hash_of_nothing = 14695981039346656037U; // FNV-1a

std::uint64_t hash(std::uint64_t before, std::uint64_t value) {
    return (before ^ value) * 1099511628211U;
}

// Objects have other addresses in each process, so the hash uses offsets within them.
std::uint64_t place_of(std::span<void* const> frames, bool only_ours) {
    std::uint64_t place = hash_of_nothing;
    for (const void* frame : frames) {
        if (only_ours && !counts(frame, true))
            continue;
        Dl_info info{};
        const bool known = ::dladdr(frame, &info) != 0;
        const auto base = known ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0;
        place = hash(place, reinterpret_cast<std::uintptr_t>(frame) - base);
    }
    return place;
}

std::uint64_t site_of(const char* function, std::span<void* const> frames) {
    std::uint64_t name = hash_of_nothing;
    for (const char* letter = function; *letter != '\0'; ++letter)
        name = hash(name, static_cast<unsigned char>(*letter));
    return name << 32 | place_of(frames, true) >> 32;
}

enum class Caller { own, also_on_behalf };

[[gnu::noinline]] bool fails(const void* caller, const char* function, Caller whose) {
    FailingCalls* const calls = shared;
    if (!calls || !calls->counts || !counts(caller, whose == Caller::also_on_behalf))
        return false;
    const std::uint64_t number = ++calls->count;
    const std::uint64_t wanted = calls->site;
    if (number != calls->number && wanted == 0 && !calls->notes_places)
        return false;
    std::array<void*, FailingCalls::max_callers> frames{};
    const auto depth =
        static_cast<std::size_t>(::backtrace(frames.data(), static_cast<int>(frames.size())));
    const std::span<void* const> callers{frames.data(), depth};
    const std::uint64_t site = site_of(function, callers);
    if (calls->notes_places && number <= rpmem::faults::max_calls) {
        calls->places[number - 1] = place_of(callers, false);
        calls->sites[number - 1] = site;
    }
    if (wanted != 0 ? site != wanted || calls->has_failed.exchange(true) : number != calls->number)
        return false;
    std::strncpy(calls->function, function, sizeof(calls->function) - 1);
    for (std::size_t i = 0; i < depth; ++i)
        describe(frames[i], calls->callers[i], sizeof(calls->callers[i]));
    calls->has_failed = true;
    return true;
}

// All these functions take and return values that fit into a register, and have at most eight
// parameters. A function ignores arguments that it does not have.
using Word = long;
using Function = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word);

Function resolve(std::atomic<Function>& next, const char* symbol) {
    Function found = next.load(std::memory_order_relaxed);
    if (!found) {
        found = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, symbol));
        next = found;
    }
    return found;
}

} // namespace

extern "C" __attribute__((visibility("default"))) void rpmem_count_calls(FailingCalls* calls) {
    if (calls)
        begin(calls, false);
    else
        shared = nullptr;
}

using Main = int (*)(int, char**, char**);
static Main main_of_program = nullptr;

// Calls of the program's constructors do not count. At that time nothing can report an error yet.
static int counted_main(int argc, char** argv, char** environment) {
    begin_in_daemon();
    return main_of_program(argc, argv, environment);
}

extern "C" __attribute__((visibility("default"))) int
__libc_start_main(Main program, int argc, char** argv, void (*initialize)(), void (*finish)(),
                  void (*finish_loader)(), void* stack) {
    main_of_program = program;
    const auto next =
        reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
    return next(counted_main, argc, argv, initialize, finish, finish_loader, stack);
}

// FAILURE is the statement that makes the call fail.
#define INTERPOSE(name, symbol, is_candidate, whose, failure)                                      \
    extern "C" __attribute__((visibility("default"))) Word interposed_##name(                      \
        Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h) __asm__(symbol);           \
    extern "C" Word interposed_##name(Word a, Word b, Word c, Word d, Word e, Word f, Word g,      \
                                      Word h) {                                                    \
        static constinit std::atomic<Function> next = nullptr;                                     \
        if ((is_candidate) && fails(__builtin_return_address(0), symbol, whose)) {                 \
            failure;                                                                               \
        }                                                                                          \
        return resolve(next, symbol)(a, b, c, d, e, f, g, h);                                      \
    }

#define CALL(name, result, code)                                                                   \
    INTERPOSE(name, #name, true, Caller::own, errno = code; return result)
#include "tests/faults/call_table.hpp"

// Other commands of fcntl(2) do not fail on an open descriptor.
INTERPOSE(fcntl, "fcntl", b == F_DUPFD_CLOEXEC || b == F_DUPFD, Caller::own, errno = EMFILE;
          return -1)
INTERPOSE(syscall, "syscall",
          a == SYS_pidfd_open || a == SYS_openat2 || a == SYS_landlock_create_ruleset ||
              a == SYS_landlock_add_rule,
          Caller::own, errno = EMFILE;
          return -1)

// Only calls of the project's own code count here. C libraries handle their own failures to
// allocate.
#define ALLOCATES(name, result)                                                                    \
    INTERPOSE(name, #name, true, Caller::own, errno = ENOMEM; return result)
ALLOCATES(malloc, 0)
ALLOCATES(calloc, 0)
ALLOCATES(realloc, 0)
ALLOCATES(strdup, 0)
ALLOCATES(aligned_alloc, 0)
ALLOCATES(posix_memalign, ENOMEM)

// The function is looked up, so that this library does not load the C++ library into each process.
[[noreturn]] static void throw_bad_alloc() {
    reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv"))();
    std::abort();
}

#define THROWS(name, symbol)                                                                       \
    INTERPOSE(name, symbol, true, Caller::also_on_behalf, throw_bad_alloc())
THROWS(new, "_Znwm")
THROWS(new_array, "_Znam")
THROWS(new_aligned, "_ZnwmSt11align_val_t")
THROWS(new_array_aligned, "_ZnamSt11align_val_t")
INTERPOSE(new_nothrow, "_ZnwmRKSt9nothrow_t", true, Caller::also_on_behalf, return 0)
INTERPOSE(new_array_nothrow, "_ZnamRKSt9nothrow_t", true, Caller::also_on_behalf, return 0)
