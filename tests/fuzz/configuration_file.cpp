// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the configuration file of the daemon. A value outside of its bounds, an error without file
// and line, or an output of --check-config that is read back differently fails.
#include "rpmemd/settings/configuration_file.hpp"

#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;

constexpr std::string_view home = "/home/user";

void check_bounds(const Configuration& configuration) {
    constexpr unsigned max_threads = 1024;
    constexpr unsigned max_spin = 1000000;
    constexpr std::size_t max_addresses = 8;
    require(configuration.threads <= max_threads, "the threads are bounded");
    require(configuration.spin_time <= max_spin, "the spin time is bounded");
    require(configuration.accept_timeout >= std::chrono::seconds(1) &&
                configuration.accept_timeout <= std::chrono::hours(1),
            "the accept timeout is bounded");
    require((configuration.part_mode & 0600) == 0600 &&
                (configuration.part_mode & ~mode_t{0666}) == 0,
            "a part can be read and written by its owner, and run by nobody");
    require(configuration.addresses.size() <= max_addresses, "the addresses are bounded");
    require(configuration.poolset_dir.is_absolute(), "poolset-dir is absolute");
    require(configuration.log_file.starts_with('/'), "log-file is absolute");
    require(configuration.persist_general || configuration.persist_apm,
            "there is a persist method");
}

// The output of --check-config must be a valid configuration file with the same settings.
void check_described(const Layer& layer) {
    auto again = parse_configuration(describe(layer), "described");
    require(again.has_value(),
            "what is described can be read: " + (again ? std::string() : again.error().text));
    const auto completed = complete(std::move(*again), home);
    require(completed.has_value() && completed->size() == layer.size(),
            "what is described is complete");
    for (const auto& [name, value] : layer)
        require(completed->at(name).text == value.text,
                fmt::format("{} is described as \"{}\", not as \"{}\"", name,
                            completed->at(name).text, value.text));
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto layer = parse_configuration(fuzz::text_of_input(data, size), "rpmemd.conf");
    if (!layer) {
        fuzz::require_error(layer.error(), {EINVAL});
        require(layer.error().text.starts_with("rpmemd.conf, line "),
                "a message names file and line");
        require(!fuzz::has_control_character(layer.error().text), "a message is printable");
        return 0;
    }
    const auto completed = complete(*layer, home);
    if (!completed) {
        fuzz::require_error(completed.error(), {EINVAL});
        require(!fuzz::has_control_character(completed.error().text), "a message is printable");
        return 0;
    }
    require(completed->size() == setting_table().size(), "each setting has a value");
    check_bounds(configuration_of(*completed));
    check_described(*completed);
    return 0;
}
