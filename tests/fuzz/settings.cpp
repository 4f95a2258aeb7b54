// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the environment variables of the library and of the daemon. Each line of an input is one
// variable, NAME=VALUE. A setting outside of its bounds, a wrong value without a warning, or a
// variable that keeps the daemon from starting fails.
#include "librpmem/settings/settings.hpp"

#include "rpmemd/settings/settings.hpp"
#include "tests/fuzz/property.hpp"

#include <map>

namespace {

using namespace rpmem;
using namespace rpmem::initiator;
using fuzz::require;

using Variables = std::map<std::string, std::string, std::less<>>;

Variables take_variables(fuzz::Input& input) {
    Variables variables;
    while (input.left() > 0) {
        const std::string line = input.take_line();
        const auto equals = std::min(line.find('='), line.size());
        const std::string value = line.substr(std::min(equals + 1, line.size()));
        variables[line.substr(0, equals)] = value.c_str(); // a variable ends at a NUL byte
    }
    return variables;
}

bool is_within(std::chrono::milliseconds time) {
    return time >= std::chrono::seconds(1) && time <= std::chrono::hours(1);
}

void check_bounds(const Settings& settings) {
    constexpr unsigned max_work = 65536;
    constexpr unsigned max_inline = 524288;
    constexpr unsigned inline_step = 64;
    require(settings.work_queue_size >= 1 && settings.work_queue_size <= max_work,
            "the work queue is bounded");
    require(settings.inline_size >= inline_step && settings.inline_size <= max_inline &&
                settings.inline_size % inline_step == 0,
            "the size of a message is bounded");
    require(is_within(settings.connect_timeout) && is_within(settings.operation_timeout),
            "the timeouts are bounded");
    require(settings.spin_time <= std::chrono::seconds(1), "the spin time is bounded");
    require(!settings.max_lanes || *settings.max_lanes >= 1, "there is a lane");
    require(!settings.commands.empty() && !settings.ssh.empty(), "there are commands");
    require(settings.log_level <= LogLevel::debug && settings.paging <= PagingPolicy::never,
            "a word is one of those that are known");
}

// Each value must be used or cause a warning.
void check_values(const Variables& variables, const Settings& settings) {
    std::size_t wrong = 0;
    for (const auto& [setting, store] : setting_table()) {
        static_cast<void>(store);
        const auto given = variables.find(setting.name);
        if (given == variables.end() || given->second.empty())
            continue;
        if (parse_setting(setting, given->second))
            continue;
        ++wrong;
        require(!complaint_about(setting).empty(), "a wrong value has a text");
    }
    require(settings.warnings.size() == wrong, "there is a warning for each wrong value");
}

void check_daemon(const std::function<const char*(const char*)>& environment) {
    std::vector<std::string> warnings;
    const auto layer = target::read_variables(environment, warnings);
    const auto completed = target::complete(layer, "/home/user");
    require(completed.has_value(), "no variable keeps the daemon from starting");
    static_cast<void>(target::configuration_of(*completed));
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const Variables variables = take_variables(input);
    const auto environment = [&](const char* name) -> const char* {
        const auto found = variables.find(std::string_view(name));
        return found == variables.end() ? nullptr : found->second.c_str();
    };
    const Settings settings = read_settings(environment);
    check_bounds(settings);
    check_values(variables, settings);
    check_daemon(environment);
    return 0;
}
