// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/loading_guard.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace rpmem {
namespace {

using Objects = std::vector<std::uintptr_t>;

int add_object(dl_phdr_info* object, std::size_t, void* objects) {
    static_cast<Objects*>(objects)->push_back(object->dlpi_addr);
    return 0;
}

// The search for the loaded object that contains an address.
struct Search {
    std::uintptr_t address;
    std::uintptr_t object = 0;
    bool found = false;
};

int look_into_object(dl_phdr_info* object, std::size_t, void* argument) {
    auto& search = *static_cast<Search*>(argument);
    for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum;
         ++part)
        if (part->p_type == PT_LOAD &&
            search.address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz) {
            search.object = object->dlpi_addr;
            search.found = true;
        }
    return search.found ? 1 : 0;
}

// sa_handler and sa_sigaction share their memory in a union.
std::uintptr_t handler_of(const struct sigaction& disposition) {
    return reinterpret_cast<std::uintptr_t>(disposition.sa_handler);
}

} // namespace

LoadingGuard::LoadingGuard() {
    // sigaction(2) fails for the two signals that the C library uses itself. Their dispositions
    // stay zero, and put_back() ignores them.
    for (int signal = 1; signal < NSIG; ++signal)
        ::sigaction(signal, nullptr, &dispositions_[static_cast<std::size_t>(signal)]);
    ::dl_iterate_phdr(add_object, &objects_);
    std::ranges::sort(objects_);
    std::fegetenv(&floating_point_);
}

LoadingGuard::~LoadingGuard() {
    std::fesetenv(&floating_point_);
    for (int signal = 1; signal < NSIG; ++signal)
        put_back(signal);
}

void LoadingGuard::put_back(int signal) const {
    const auto& before = dispositions_[static_cast<std::size_t>(signal)];
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || handler_of(now) == handler_of(before))
        return;
    // Another thread of the application may have installed a handler in the meantime. Only a
    // handler in a library that was loaded since the constructor is replaced.
    Search search{.address = handler_of(now)};
    ::dl_iterate_phdr(look_into_object, &search);
    if (!search.found || std::ranges::binary_search(objects_, search.object))
        return;
    // Another thread may replace the handler between the two calls. Then its handler is restored.
    struct sigaction replaced {};
    if (::sigaction(signal, &before, &replaced) == 0 && handler_of(replaced) != handler_of(now))
        ::sigaction(signal, &replaced, nullptr);
}

std::string load_library(const char* file, std::initializer_list<LibrarySymbol> symbols) {
    const LoadingGuard guard;
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ::dlerror();
    for (const LibrarySymbol& symbol : symbols) {
        void* const address = ::dlvsym(library, symbol.name, symbol.version);
        if (!address)
            return ::dlerror();
        std::memcpy(symbol.function, &address, sizeof(address));
    }
    return {};
}

} // namespace rpmem
