#include "tools/bench/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <librpmem.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace rpmem::bench {
namespace {

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            return line.substr(std::min(line.find(':') + 2, line.size()));
    return "unknown";
}

std::string library() {
    Dl_info found{};
    if (dladdr(reinterpret_cast<void*>(&rpmem_open), &found) == 0 || found.dli_fname == nullptr)
        return "unknown";
    std::error_code error;
    const auto path = std::filesystem::canonical(found.dli_fname, error);
    return error ? found.dli_fname : path.string();
}

// How many processes wanted a processor, on average of the last minute.
std::string load() {
    double average = 0;
    return getloadavg(&average, 1) == 1 ? fmt::format("{:.2f}", average) : "unknown";
}

} // namespace

std::vector<std::pair<std::string, std::string>> describe_machine() {
    utsname system{};
    const bool known = uname(&system) == 0;
    return {
        {"processor", processor()},
        {"processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
        {"kernel", known ? std::string(system.sysname) + " " + system.release : "unknown"},
        {"library", library()},
        {"load", load()},
    };
}

std::vector<std::string> describe_settings() {
    std::vector<std::string> settings;
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (const std::string_view text(*variable);
            text.starts_with("RPMEM_") && !text.starts_with("RPMEM_TEST_"))
            settings.emplace_back(text);
    std::sort(settings.begin(), settings.end());
    return settings;
}

} // namespace rpmem::bench
