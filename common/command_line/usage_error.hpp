// SPDX-License-Identifier: BSD-3-Clause
// The texts for a wrong command line, and the checks of values. They name the wrong word and the
// form of the option, which CLI11's own texts do not.
#pragma once

#include "common/base/text.hpp"
#include "common/command_line/help.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace rpmem::command_line {

// A check that accepts whole numbers from MINIMUM to MAXIMUM.
[[nodiscard]] inline CLI::Validator
number(std::uint64_t minimum, std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max()) {
    return {[minimum, maximum](std::string& text) -> std::string {
                const auto value = parse_number<std::uint64_t>(text);
                if (value && *value >= minimum && *value <= maximum)
                    return {};
                return fmt::format("\"{}\" is not a number from {} to {}", text, minimum, maximum);
            },
            ""};
}

// A conversion of sizes such as 4096, 4K or 10G to bytes.
[[nodiscard]] inline CLI::Validator
size(std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max()) {
    return {[maximum](std::string& text) -> std::string {
                const std::string given = text;
                try {
                    if (!CLI::AsSizeValue(false)(text).empty())
                        text.clear();
                } catch (const CLI::Error&) { // no number, an unknown unit, or an overflow
                    text.clear();
                }
                const auto bytes = parse_number<std::uint64_t>(text);
                if (!bytes || *bytes == 0)
                    return fmt::format("\"{}\" is not a size such as 4096, 512M or 10G", given);
                if (*bytes > maximum)
                    return fmt::format("\"{}\" is {} bytes; at most {} are allowed", given, *bytes,
                                       maximum);
                return {};
            },
            ""};
}

// Returns the form of the option that CLI11 calls NAME. The option belongs to the verb that was
// given to APP, or to APP itself.
[[nodiscard]] inline std::string form_of(const CLI::App& app, std::string_view name) {
    for (const CLI::Option* option : addressed(app).get_options())
        if (option->get_name() == name)
            return form_of(*option);
    return std::string(name);
}

// Returns the error text for ERROR, which CLI11 threw while it parsed the command line of APP.
[[nodiscard]] inline std::string problem_of(const CLI::App& app, const CLI::Error& error) {
    // rpmemctl recognises a daemon without an option by "unrecognized option", see
    // words_of_old_daemons.
    for (const std::string& word : app.remaining(true))
        if (word != "--")
            return fmt::format(
                "{} \"{}\"", word.starts_with('-') ? "unrecognized option" : "unexpected argument",
                word);
    std::string text = error.what();
    const auto before = [&](std::string_view part) { return text.substr(0, text.find(part)); };
    const auto after = [&](std::string_view part) {
        return text.substr(text.find(part) + part.size());
    };
    const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    const auto is = [&](CLI::ExitCodes code) {
        return error.get_exit_code() == static_cast<int>(code);
    };
    if (is(CLI::ExitCodes::RequiredError) && has(" is required"))
        return form_of(app, before(" is required")) + " is missing";
    if (is(CLI::ExitCodes::RequiresError) && has(" requires "))
        return before(" requires ") + " is only allowed with " + after(" requires ");
    if (is(CLI::ExitCodes::ExcludesError) && has(" excludes "))
        return before(" excludes ") + " cannot be combined with " + after(" excludes ");
    if (is(CLI::ExitCodes::ArgumentMismatch) && has(" missing"))
        return fmt::format("{} needs a value: {}", before(":"), form_of(app, before(":")));
    if (is(CLI::ExitCodes::ArgumentMismatch) && has("At Most"))
        return before(":") + " can be given only once";
    if (is(CLI::ExitCodes::ConversionError) && has("Could not convert: "))
        return "invalid value: " + after("Could not convert: ");
    return text;
}

} // namespace rpmem::command_line
