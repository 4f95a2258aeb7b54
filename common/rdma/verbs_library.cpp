// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/verbs_library.hpp"

#include "common/base/loading_guard.hpp"

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
    Loaded loaded;
    VerbsFunctions& verbs = loaded.functions;
    constexpr const char* version = "IBVERBS_1.1";
    loaded.problem = load_library(
        library_name, {{"ibv_get_device_list", version, &verbs.get_device_list},
                       {"ibv_free_device_list", version, &verbs.free_device_list},
                       {"ibv_get_device_name", version, &verbs.get_device_name},
                       {"ibv_open_device", version, &verbs.open_device},
                       {"ibv_close_device", version, &verbs.close_device},
                       {"ibv_alloc_pd", version, &verbs.alloc_pd},
                       {"ibv_dealloc_pd", version, &verbs.dealloc_pd},
                       {"ibv_reg_mr", version, &verbs.reg_mr},
                       {"ibv_dereg_mr", version, &verbs.dereg_mr},
                       {"ibv_fork_init", version, &verbs.fork_init},
                       {"ibv_is_fork_initialized", "IBVERBS_1.13", &verbs.is_fork_initialized}});
    return loaded;
}

} // namespace

Result<const VerbsFunctions*> verbs_library() {
    // Never destroyed, because threads may use it while the process ends.
    static const Loaded& loaded = *new Loaded(load_verbs());
    if (!loaded.problem.empty())
        return fail(ErrorClass::resource_limit, ELIBACC,
                    "cannot load {} (of rdma-core 35 or newer): {}; apt-get install libibverbs1",
                    library_name, loaded.problem);
    return &loaded.functions;
}

} // namespace rpmem::rdma
