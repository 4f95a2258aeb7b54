// On-demand paging through libfabric, which reads whether to use it from its environment, once in a
// process: so what is decided first is decided for all pools.
#pragma once

#include "common/base/paging_policy.hpp"
#include "common/base/result.hpp"
#include "common/transport/fabric/provider.hpp"

#include <cstddef>
#include <string>

namespace rpmem::fabric {

// Has libfabric use it if POLICY says so, or if the MEMORY cannot be pinned and a device of this
// node can do without that. Returns what to tell people: what was asked for, and why; empty:
// nothing.
std::string ask_for_paging(PagingPolicy policy, std::byte* memory, std::size_t size);

// ENOTSUP if POLICY is `always` and the provider's device cannot, or if libfabric was not asked.
Result<> check_paging(PagingPolicy policy, const Provider& provider);

} // namespace rpmem::fabric
