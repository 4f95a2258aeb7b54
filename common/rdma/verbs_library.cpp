#include "rdma/verbs_library.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace rpmem::rdma {
namespace {

constexpr const char* library_name = "libibverbs.so.1";

struct Loaded {
    VerbsFunctions functions{};
    std::string problem; // why it could not be loaded
};

template <typename Function>
void find(void* library, const char* name, const char* version, Loaded& loaded,
          Function& function) {
    void* const address = ::dlvsym(library, name, version);
    static_assert(sizeof(address) == sizeof(function));
    std::memcpy(&function, &address, sizeof(address));
    if (!address)
        loaded.problem = ::dlerror();
}

Loaded load_verbs() {
    Loaded loaded;
    // Never closed: its drivers, and libfabric, keep what it gave them.
    void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        loaded.problem = ::dlerror();
        return loaded;
    }
    constexpr const char* version = "IBVERBS_1.1";
    VerbsFunctions& functions = loaded.functions;
    find(library, "ibv_get_device_list", version, loaded, functions.get_device_list);
    find(library, "ibv_free_device_list", version, loaded, functions.free_device_list);
    find(library, "ibv_get_device_name", version, loaded, functions.get_device_name);
    find(library, "ibv_open_device", version, loaded, functions.open_device);
    find(library, "ibv_close_device", version, loaded, functions.close_device);
    find(library, "ibv_alloc_pd", version, loaded, functions.alloc_pd);
    find(library, "ibv_dealloc_pd", version, loaded, functions.dealloc_pd);
    find(library, "ibv_reg_mr", version, loaded, functions.reg_mr);
    find(library, "ibv_dereg_mr", version, loaded, functions.dereg_mr);
    find(library, "ibv_fork_init", version, loaded, functions.fork_init);
    find(library, "ibv_is_fork_initialized", "IBVERBS_1.13", loaded, functions.is_fork_initialized);
    return loaded;
}

} // namespace

Result<const VerbsFunctions*> verbs_library() {
    // Never destroyed, as threads may use it while the process ends.
    static const Loaded& loaded = *new Loaded(load_verbs());
    if (!loaded.problem.empty())
        return fail(ErrorClass::resource_limit, ELIBACC,
                    "cannot load {} (of rdma-core 35 or newer): {}; apt-get install libibverbs1",
                    library_name, loaded.problem);
    return &loaded.functions;
}

} // namespace rpmem::rdma
