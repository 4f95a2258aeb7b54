#include "fabric_library.hpp"

#include <dlfcn.h>

namespace rpmem::bench {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

} // namespace

Result<FabricLibrary> FabricLibrary::load() {
    // Kept until the process ends, as libfabric's providers want it.
    void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    FabricLibrary loaded;
    if (library == nullptr || !find(library, "fi_getinfo", loaded.get_info) ||
        !find(library, "fi_freeinfo", loaded.free_info) ||
        !find(library, "fi_fabric", loaded.open_fabric) ||
        !find(library, "fi_dupinfo", loaded.duplicate_) ||
        !find(library, "fi_strerror", loaded.strerror_))
        return fail(ErrorClass::resource_limit, ENOENT, "libfabric cannot be loaded: {}",
                    dlerror());
    return loaded;
}

} // namespace rpmem::bench
