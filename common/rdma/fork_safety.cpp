// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/fork_safety.hpp"

#include "common/rdma/environment_switch.hpp"
#include "common/rdma/verbs_library.hpp"

#include <cerrno>
#include <string_view>

namespace rpmem::rdma {
namespace {

ForkSafety to_fork_safety(ibv_fork_status status) {
    switch (status) {
    case IBV_FORK_UNNEEDED:
        return ForkSafety::copied_by_kernel;
    case IBV_FORK_ENABLED:
        return ForkSafety::kept_from_children;
    case IBV_FORK_DISABLED:
        break;
    }
    return ForkSafety::unsafe;
}

Failure unprotected(std::string_view why) {
    return fail(ErrorClass::caller_fault, ENOTSUP,
                "RDMA and fork(2) do not go together on this kernel (older than 5.12) without "
                "ibv_fork_init(3), and {}; RPMEM_FORK_SAFE=0 turns the protection off, for "
                "programs that never fork while a pool is open",
                why);
}

} // namespace

const char* describe(ForkSafety safety) {
    switch (safety) {
    case ForkSafety::copied_by_kernel:
        return "the kernel copies registered memory on fork";
    case ForkSafety::kept_from_children:
        return "registered memory is kept from children (ibv_fork_init)";
    case ForkSafety::unsafe:
        break;
    }
    return "fork is not safe yet (ibv_fork_init is needed)";
}

Result<ForkSafety> fork_safety() {
    RPMEM_ASSIGN(const auto verbs, verbs_library());
    return to_fork_safety(verbs->is_fork_initialized());
}

Result<ForkSafety> make_fork_safe() {
    auto safety = fork_safety();
    if (!safety || *safety != ForkSafety::unsafe)
        return safety;
    if (is_switched_on("FI_FORK_UNSAFE"))
        return unprotected("FI_FORK_UNSAFE forbids it; unset that variable");
    const int code = (*verbs_library())->fork_init();
    if (code == 0)
        return ForkSafety::kept_from_children;
    if (code == EINVAL)
        return unprotected("it is too late for that (EINVAL): the program has already registered "
                           "memory with an RDMA device; set RDMAV_FORK_SAFE=1 in its environment");
    return unprotected(fmt::format("that failed: {}", strerror(code)));
}

} // namespace rpmem::rdma
