// What is wanted of RDMA devices that can page memory in on demand instead of having it pinned.
#pragma once

namespace rpmem {

enum class PagingPolicy { when_needed, always, never };

} // namespace rpmem
