// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/library.hpp"

#include "common/base/io.hpp"
#include "common/base/loading_guard.hpp"

#include <cerrno>
#include <cstdlib>
#include <mutex>

namespace rpmem::fabric {
namespace {

constexpr const char* file_name = "libfabric.so.1";

struct Functions {
    decltype(&::fi_getinfo) getinfo = nullptr;
    decltype(&::fi_freeinfo) freeinfo = nullptr;
    decltype(&::fi_dupinfo) dupinfo = nullptr;
    decltype(&::fi_fabric) fabric = nullptr;
    decltype(&::fi_strerror) strerror = nullptr;
    decltype(&::fi_version) version = nullptr;
    std::string problem; // why it could not be loaded
};

Functions load() {
    Functions loaded;
    loaded.problem =
        rpmem::load_library(file_name, {{"fi_getinfo", "FABRIC_1.3", &loaded.getinfo},
                                        {"fi_freeinfo", "FABRIC_1.3", &loaded.freeinfo},
                                        {"fi_dupinfo", "FABRIC_1.3", &loaded.dupinfo},
                                        {"fi_fabric", "FABRIC_1.1", &loaded.fabric},
                                        {"fi_strerror", "FABRIC_1.0", &loaded.strerror},
                                        {"fi_version", "FABRIC_1.0", &loaded.version}});
    return loaded;
}

// Never destroyed, because threads may use it while the process ends.
const Functions& functions() {
    static const Functions& loaded = *new Functions(load());
    return loaded;
}

// Global, because the environment belongs to the process. fi_getinfo(3) sets the flag, because
// libfabric reads the environment in its first call.
std::mutex environment_mutex;
bool environment_is_read = false;

} // namespace

std::string explain(int code) {
    return fi_strerror(code) + limit_behind(code, "each lane in use takes up to 10");
}

Result<> load_library() {
    if (functions().problem.empty())
        return {};
    return fail(ErrorClass::resource_limit, ELIBACC,
                "cannot load {} (version 1.17 or newer): {}; apt-get install libfabric1", file_name,
                functions().problem);
}

std::string library_version() {
    if (!load_library())
        return {};
    const std::uint32_t version = functions().version();
    return fmt::format("{}.{}", FI_MAJOR(version), FI_MINOR(version));
}

bool set_before_start(const char* variable, const char* value) {
    const std::lock_guard lock(environment_mutex);
    return !environment_is_read && ::setenv(variable, value, 1) == 0;
}

void freeze_environment() {
    const std::lock_guard lock(environment_mutex);
    environment_is_read = true;
}

} // namespace rpmem::fabric

// The functions that the headers of libfabric declare. Call them only after load_library() has
// succeeded.
extern "C" {

int fi_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags,
               const fi_info* hints, fi_info** info) {
    rpmem::fabric::freeze_environment();
    const rpmem::LoadingGuard guard; // fi_getinfo(3) may load providers and drivers
    return rpmem::fabric::functions().getinfo(version, node, service, flags, hints, info);
}

void fi_freeinfo(fi_info* info) { rpmem::fabric::functions().freeinfo(info); }

fi_info* fi_dupinfo(const fi_info* info) { return rpmem::fabric::functions().dupinfo(info); }

int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
    return rpmem::fabric::functions().fabric(attributes, fabric, context);
}

const char* fi_strerror(int code) { return rpmem::fabric::functions().strerror(code); }
}
