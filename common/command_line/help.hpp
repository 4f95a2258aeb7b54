// SPDX-License-Identifier: BSD-3-Clause
// Help pages, made from what a program declares with CLI11. CLI11's own pages print the names of
// C++ types and, for each option, the options that it excludes. Their layout changes between
// releases.
#pragma once

#include "common/base/text.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// CLI11 is slow to compile, so only one source of each program includes this file.
#include <CLI/CLI.hpp>

namespace rpmem::command_line {

inline constexpr std::size_t page_width = 80;
inline constexpr std::size_t text_column = 28;
inline constexpr std::size_t verb_text_column = 12;

// Joins WORDS with blanks and breaks lines at the width of a page. The first line begins in column
// INDENT, and the others are indented as far.
[[nodiscard]] inline std::string fill(const std::vector<std::string>& words, std::size_t indent) {
    std::string text;
    std::size_t column = indent;
    for (const std::string& word : words) {
        if (column > indent && column + 1 + word.size() > page_width) {
            text += "\n" + std::string(indent, ' ');
            column = indent;
        }
        if (column > indent) {
            text += ' ';
            ++column;
        }
        text += word;
        column += word.size();
    }
    return text;
}

[[nodiscard]] inline std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty())
        words.emplace_back(take_until(text, " "));
    return words;
}

// Returns TEXT with each of its paragraphs broken into lines. A paragraph ends with a newline.
[[nodiscard]] inline std::string fill_paragraphs(std::string_view text) {
    std::string page;
    while (!text.empty())
        page += fill(words_of(take_until(text, "\n")), 0) + "\n";
    return page;
}

// Returns the row of LEFT, an option or a verb, and its help TEXT, which begins in COLUMN.
[[nodiscard]] inline std::string row(std::string left, std::string_view text, std::size_t column) {
    left += left.size() + 2 > column ? "\n" + std::string(column, ' ')
                                     : std::string(column - left.size(), ' ');
    return left + fill(words_of(text), column) + "\n";
}

// Returns "-c, --config FILE" or, for a positional argument, "TARGET".
[[nodiscard]] inline std::string form_of(const CLI::Option& option) {
    if (!option.nonpositional())
        return option.get_option_text();
    std::string text;
    for (const std::string& name : option.get_snames())
        text += "-" + name + ", ";
    for (const std::string& name : option.get_lnames())
        text += "--" + name;
    return text + (option.get_option_text().empty() ? "" : " ") + option.get_option_text();
}

// Returns the verb that was given to APP, or APP itself.
[[nodiscard]] inline const CLI::App& addressed(const CLI::App& app) {
    const auto verbs = app.get_subcommands();
    return verbs.empty() ? app : *verbs.back();
}

// Returns how the program is called to reach APP: "rpmemctl", or "rpmemctl list" for a verb.
[[nodiscard]] inline std::string call_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name()
                                       : call_of(*app.get_parent()) + " " + app.get_name();
}

// Returns the form of a call, such as "rpmemctl evict TARGET SESSION [--json]".
[[nodiscard]] inline std::string usage_of(const CLI::App& app) {
    constexpr std::size_t max_options = 8; // more are written as [OPTION]...
    const std::string call = call_of(app);
    std::vector<std::string> words{call};
    std::vector<std::string> optional;
    if (!app.get_subcommands([](const CLI::App*) { return true; }).empty())
        words.emplace_back("VERB [ARGUMENT]...");
    for (const CLI::Option* option : app.get_options()) {
        if (option == app.get_help_ptr() || option == app.get_version_ptr())
            continue;
        const std::string form = form_of(*option);
        if (option->get_required())
            words.push_back(form);
        else
            (option->nonpositional() ? optional : words).push_back("[" + form + "]");
    }
    if (optional.size() > max_options)
        optional = {"[OPTION]..."};
    words.insert(words.end(), optional.begin(), optional.end());
    constexpr std::string_view heading = "Usage: ";
    const std::string first = words.front() + " ";
    words.erase(words.begin());
    return std::string(heading) + first + fill(words, heading.size() + first.size());
}

[[nodiscard]] inline std::string rows_of(const std::vector<const CLI::Option*>& options,
                                         std::string_view heading) {
    std::string page = options.empty() ? "" : "\n" + std::string(heading) + ":\n";
    for (const CLI::Option* option : options) // an option that needs another one is indented
        page += row((option->get_needs().empty() ? "  " : "    ") + form_of(*option),
                    option->get_description(), text_column);
    return page;
}

[[nodiscard]] inline std::string rows_of_verbs(const CLI::App& app) {
    std::string page;
    std::string group;
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (verb->get_group() != group)
            page += "\n" + verb->get_group() + ":\n";
        group = verb->get_group();
        page += row("  " + verb->get_name(), verb->get_description(), verb_text_column);
    }
    return page;
}

// Returns the help page of APP. The lines of USAGE and of the footer stay as they are.
[[nodiscard]] inline std::string help_page(const CLI::App& app, const std::string& usage,
                                           const std::string& description) {
    std::string page = usage + "\n\n" + fill_paragraphs(description);
    page +=
        rows_of(app.get_options([](const CLI::Option* option) { return !option->nonpositional(); }),
                "Arguments");
    page += rows_of_verbs(app);
    for (const std::string& group : app.get_groups())
        page += rows_of(app.get_options([&group](const CLI::Option* option) {
            return option->nonpositional() && option->get_group() == group;
        }),
                        group);
    return page + (app.get_footer().empty() ? "" : "\n" + app.get_footer() + "\n");
}

} // namespace rpmem::command_line
