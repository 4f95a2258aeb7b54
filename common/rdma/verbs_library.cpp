#include "common/rdma/verbs_library.hpp"

#include "common/base/loading_guard.hpp"
#include "common/base/shared_symbol.hpp"

#include <cerrno>
#include <string>

namespace rpmem::rdma {
namespace {

constexpr const char* library_name = "libibverbs.so.1";

struct Loaded {
    VerbsFunctions functions{};
    std::string problem; // why it could not be loaded
};

Loaded load_verbs() {
    const LoadingGuard guard;
    Loaded loaded;
    // Never closed: its drivers, and libfabric, keep what it gave them.
    void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        loaded.problem = ::dlerror();
        return loaded;
    }
    constexpr const char* version = "IBVERBS_1.1";
    VerbsFunctions& functions = loaded.functions;
    find_symbol(library, "ibv_get_device_list", version, functions.get_device_list, loaded.problem);
    find_symbol(library, "ibv_free_device_list", version, functions.free_device_list,
                loaded.problem);
    find_symbol(library, "ibv_get_device_name", version, functions.get_device_name, loaded.problem);
    find_symbol(library, "ibv_open_device", version, functions.open_device, loaded.problem);
    find_symbol(library, "ibv_close_device", version, functions.close_device, loaded.problem);
    find_symbol(library, "ibv_alloc_pd", version, functions.alloc_pd, loaded.problem);
    find_symbol(library, "ibv_dealloc_pd", version, functions.dealloc_pd, loaded.problem);
    find_symbol(library, "ibv_reg_mr", version, functions.reg_mr, loaded.problem);
    find_symbol(library, "ibv_dereg_mr", version, functions.dereg_mr, loaded.problem);
    find_symbol(library, "ibv_fork_init", version, functions.fork_init, loaded.problem);
    find_symbol(library, "ibv_is_fork_initialized", "IBVERBS_1.13", functions.is_fork_initialized,
                loaded.problem);
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
