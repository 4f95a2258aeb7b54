#include "fabric/handle.hpp"

#include <sys/resource.h>

#include <cerrno>

namespace rpmem::fabric {

std::string explain(int code) {
    std::string text = fi_strerror(code);
    rlimit limit{};
    if (code == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        text += fmt::format(": this process may have {} (ulimit -n; LimitNOFILE= of systemd), and "
                            "each lane in use (on the target, each worker) takes up to 10",
                            limit.rlim_cur);
    return text;
}

} // namespace rpmem::fabric
