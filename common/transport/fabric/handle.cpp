#include "common/transport/fabric/handle.hpp"

#include "common/base/io.hpp"

namespace rpmem::fabric {

std::string explain(int code) {
    return fi_strerror(code) + limit_behind(code, "each lane in use takes up to 10");
}

} // namespace rpmem::fabric
