// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/options.hpp"

#include "common/command_line/help.hpp"
#include "common/command_line/usage_error.hpp"
#include "common/wire/hello.hpp"
#include "rpmemd/settings/configuration_file.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace rpmem::target {
namespace {

constexpr const char* usage = "Usage: rpmemd [OPTION]...\n"
                              "       rpmemd ACTION [OPTION]...";

constexpr const char* description =
    "Serve one session of librpmem. ssh(1) starts rpmemd on the target, and the client talks to it "
    "through standard input and output. With an action, rpmemd runs the action instead, and exits.";

constexpr const char* footer =
    "Configuration files have lines \"key = value\"; # starts a comment. A switch such\n"
    "as --persist-apm has the value yes or no there. The command line overrides the\n"
    "files, and ~/.rpmemd.conf overrides /etc/rpmemd/rpmemd.conf.\n"
    "\n"
    "Examples:\n"
    "  rpmemd --check-config\n"
    "  rpmemd --poolset-dir /srv/pools --remove a.set --pool-set\n"
    "  RPMEM_CMD='rpmemd --poolset-dir /srv/pools --log-level notice'   at the client\n"
    "\n"
    "See rpmemd(1) and rpmemd.conf(5).";

constexpr const char* actions_group = "Actions (at most one)";
constexpr const char* forced_command_group = "Options for the forced command of a key";
constexpr const char* settings_group = "Settings, also keys of the configuration files";

struct Options {
    std::optional<std::string> config;
    bool check_config = false;
    Configuration outright{};                            // only options that are not settings
    std::vector<std::string> settings;                   // one text for each row of the table
    std::vector<const CLI::Option*> options_of_settings; // one for each row of the table
    ActionRequest request{};
    std::vector<std::pair<ActionRequest::Verb, const CLI::Option*>> verbs;
    std::vector<const CLI::Option*> actions; // the verbs, and the other options that exclude them
};

// Returns OPTION with the PLACEHOLDER of its value in the help page.
CLI::Option* with_value(CLI::Option* option, std::string_view placeholder) {
    return option->type_name(std::string(placeholder))->option_text(std::string(placeholder));
}

// Declares the options that belong to VERB, whose option is ACTION.
void declare_options_of(CLI::App& app, ActionRequest::Verb verb, CLI::Option* action,
                        ActionRequest& request) {
    const auto follows = [&](CLI::Option* option) { option->group(actions_group)->needs(action); };
    for (const ActionText& each : action_texts())
        if (each.verb == verb)
            follows(with_value(app.add_option(std::string(each.option), request.*each.member,
                                              std::string(each.help)),
                               each.argument));
    for (const ActionNumber& each : action_numbers())
        if (each.verb == verb)
            follows(with_value(app.add_option(std::string(each.option), request.*each.member,
                                              std::string(each.help))
                                   ->check(command_line::number(0)),
                               "BYTES"));
    if (verb == ActionRequest::Verb::create)
        follows(with_value(app.add_option(std::string(part_option), request.parts,
                                          "path of a part; may be repeated"),
                           "PATH"));
    for (const ActionFlag& each : action_flags())
        if (each.verb == verb)
            follows(app.add_flag(std::string(each.option), request.*each.member,
                                 std::string(each.help)));
}

// Declares the verbs of the table and their options.
void declare_verbs(CLI::App& app, Options& options) {
    for (const ActionWord& word : action_words()) {
        const std::string name(word.option);
        const std::string help(word.help);
        auto* const option =
            word.argument.empty()
                ? app.add_flag(name, help)
                : with_value(app.add_option(name, options.request.name, help), word.argument);
        option->group(actions_group);
        options.verbs.emplace_back(word.verb, option);
        options.actions.push_back(option);
        declare_options_of(app, word.verb, option, options.request);
    }
}

// Declares the actions, which replace a session.
void declare_actions(CLI::App& app, Options& options) {
    options.actions.push_back(app.add_flag("--check-config", options.check_config,
                                           "Print every setting and where its value comes from")
                                  ->group(actions_group));
    options.actions.push_back(
        app.add_flag("--probe", options.outright.probe, "Print as JSON what this machine supports")
            ->group(actions_group));
    declare_verbs(app, options);
    auto* const remove = with_value(
        app.add_option("-r,--remove", options.outright.remove, "Delete a pool"), "POOLSET");
    options.actions.push_back(remove->group(actions_group)->take_last());
    app.add_flag("-f,--force", options.outright.force, "ignore missing and faulty parts")
        ->group(actions_group)
        ->needs(remove);
    app.add_flag("-s,--pool-set", options.outright.remove_pool_set, "delete the pool set file, too")
        ->group(actions_group)
        ->needs(remove);
}

void declare_common_options(CLI::App& app, Options& options, const std::string& version) {
    with_value(app.add_option("-c,--config", options.config,
                              "the only configuration file to read; it must exist"),
               "FILE")
        ->take_last();
    app.add_flag(wire::offer_option, options.outright.offers,
                 "the client supports more than protocol 0.1 (librpmem adds this if "
                 "RPMEM_OFFER=option)");
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("-V,--version", version, "print the version");
}

// Declares the options for the forced command of a key, which no configuration file can set.
void declare_limits(CLI::App& app, Options& options) {
    app.add_flag("--restricted", options.outright.restricted,
                 "refuse client commands other than a session, --probe, --remove and the actions")
        ->group(forced_command_group);
    app.add_flag("--allow-remove", options.outright.allow_remove, "let the client delete pools")
        ->group(forced_command_group);
    app.add_flag("--allow-admin", options.outright.allow_admin,
                 "let the client list and end sessions, and create pools")
        ->group(forced_command_group);
    app.add_flag("--read-only", options.outright.read_only, "serve pools for reading only")
        ->group(forced_command_group);
}

std::string help_of(const Setting& setting) {
    const std::string allowed = allowed_values(setting);
    std::string more(setting.default_value.empty() ? "" : "default ");
    more += setting.default_value;
    if (setting.kind != SettingKind::boolean && !allowed.empty())
        more = more.empty() ? allowed : allowed + "; " + more;
    return fmt::format("{}{}", setting.help, more.empty() ? "" : " (" + more + ")");
}

// Declares an option for each row of the table of settings.
void declare_settings(CLI::App& app, Options& options) {
    const auto table = setting_table();
    options.settings.resize(table.size());
    options.options_of_settings.reserve(table.size());
    for (std::size_t row = 0; row < table.size(); ++row) {
        const Setting& setting = table[row].setting;
        const std::string names = fmt::format("{}{}--{}", setting.option,
                                              setting.option.empty() ? "" : ",", setting.name);
        auto* const option =
            setting.kind == SettingKind::boolean
                ? app.add_flag(names, options.settings[row], help_of(setting))
                : with_value(app.add_option(names, options.settings[row], help_of(setting)),
                             setting.placeholder);
        option->group(settings_group)->take_last();
        options.options_of_settings.push_back(option);
    }
}

void declare(CLI::App& app, Options& options, const std::string& version) {
    app.name("rpmemd");
    declare_actions(app, options);
    declare_common_options(app, options, version);
    declare_limits(app, options);
    declare_settings(app, options);
    app.footer(footer);
}

// Converts the value of a switch to yes or no, as in a configuration file. Returns any other text
// unchanged, and it is refused later. For a switch without a value, CLI11 passes "true".
std::string word_of_switch(const std::string& text) {
    constexpr std::array<std::string_view, 4> yes = {"true", "on", "enable", "1"};
    constexpr std::array<std::string_view, 4> no = {"false", "off", "disable", "0"};
    if (std::ranges::find(yes, text) != yes.end())
        return "yes";
    return std::ranges::find(no, text) != no.end() ? "no" : text;
}

// Returns the first of ARGUMENTS that gives a switch a value other than yes or no.
std::string wrong_switch(std::span<const char* const> arguments) {
    for (const std::string_view argument : arguments) {
        const auto name = argument.substr(0, argument.find('='));
        const bool is_switch = std::ranges::any_of(setting_table(), [&](const auto& row) {
            return row.setting.kind == SettingKind::boolean &&
                   name == "--" + std::string(row.setting.name);
        });
        if (!is_switch || name.size() == argument.size())
            continue;
        const std::string word = word_of_switch(std::string(argument.substr(name.size() + 1)));
        if (word != "yes" && word != "no")
            return std::string(argument);
    }
    return "the value of a switch";
}

// Makes the name of a log file absolute. Commands that were written for rpmemd 1.12.1 may change
// the directory and then give a name relative to it. A name that begins with ~ was meant for a
// shell but not expanded, so it stays as it is and is refused later.
std::string absolute_log_file(std::string text) {
    if (text.empty() || std::string_view("/$~\"'").find(text.front()) != std::string_view::npos)
        return text;
    std::error_code ignored; // on failure the relative name is refused later
    const auto directory = std::filesystem::current_path(ignored);
    return ignored ? text : (directory / text).string();
}

Result<Layer> settings_of(const Options& options) {
    Layer layer;
    const auto table = setting_table();
    for (std::size_t row = 0; row < table.size(); ++row) {
        const Setting& setting = table[row].setting;
        if (options.options_of_settings[row]->count() == 0)
            continue;
        std::string text = options.settings[row];
        if (setting.kind == SettingKind::boolean)
            text = word_of_switch(text);
        else if (setting.name == "log-file")
            text = absolute_log_file(std::move(text));
        auto applied = apply_setting(layer, setting.name, {std::move(text), "command line"});
        if (!applied)
            return invalid("command line: --{}", applied.error().text);
    }
    conclude(layer);
    return layer;
}

// A missing default file is no error, but an unreadable one is.
Result<Layer> read_default_file(const std::filesystem::path& file) {
    if (file.empty())
        return Layer{};
    auto layer = read_configuration_file(file);
    if (!layer && (layer.error().code == ENOENT || layer.error().code == ENOTDIR))
        return Layer{};
    return layer;
}

Result<Layer> read_files(const Options& options, const Environment& environment) {
    if (options.config)
        return read_configuration_file(*options.config);
    RPMEM_ASSIGN(auto system, read_default_file(environment.system_file));
    RPMEM_ASSIGN(auto user, read_default_file(environment.user_file));
    return overlay(system, user);
}

ExitRequest checked(const Layer& layer, const std::vector<std::string>& warnings) {
    std::string text = describe(layer);
    for (const std::string& warning : warnings)
        text += "# invalid: " + printable(warning) + "\n";
    constexpr mode_t others_read = 0044;
    if ((configuration_of(layer, {}).part_mode & others_read) != 0)
        text += "# warning: part-mode lets other users read new parts, so they can also lock them "
                "(flock(2)) and keep their pools from being opened\n";
    return {std::move(text), warnings.empty() ? EXIT_SUCCESS : EXIT_FAILURE};
}

// Only one action can be given, because rpmemd runs one of them and exits.
Result<> check_actions(const Options& options) {
    const CLI::Option* given = nullptr;
    for (const CLI::Option* action : options.actions) {
        if (action->count() == 0)
            continue;
        if (given != nullptr)
            return invalid("command line: {} cannot be combined with {}; see rpmemd --help",
                           given->get_name(), action->get_name());
        given = action;
    }
    return {};
}

Result<CommandLine> configure(const Options& options, const Environment& environment) {
    RPMEM_TRY(check_actions(options));
    RPMEM_ASSIGN(auto command_line, settings_of(options));
    // Lanes of protocol 0.1 are not authenticated, so any host that reaches the port first could
    // access the pool.
    if (options.outright.restricted)
        command_line.try_emplace("require-hello", GivenValue{"yes", "--restricted"});
    if (options.outright.remove && options.outright.remove->empty())
        return invalid("command line: --remove needs the name of a pool set");
    RPMEM_ASSIGN(auto files, read_files(options, environment));
    std::vector<std::string> warnings;
    const Layer variables = read_variables(::secure_getenv, warnings);
    RPMEM_ASSIGN(const auto layer,
                 complete(overlay(overlay(files, variables), command_line), environment.home));
    if (options.check_config)
        return checked(layer, warnings);
    Configuration configuration = configuration_of(layer, options.outright);
    configuration.warnings = std::move(warnings);
    for (const auto& [verb, option] : options.verbs)
        if (option->count() > 0) {
            configuration.action = options.request;
            configuration.action->verb = verb;
            RPMEM_TRY(in_context("command line", check_request(*configuration.action)));
        }
    return configuration;
}

} // namespace

Environment process_environment(std::string version) {
    Environment environment{std::move(version), {}, {}, "/etc/rpmemd/rpmemd.conf"};
    if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
        environment.home = home;
    else if (const passwd* user = ::getpwuid(::geteuid()); user != nullptr && user->pw_dir)
        environment.home = user->pw_dir;
    if (!environment.home.empty())
        environment.user_file = std::filesystem::path(environment.home) / ".rpmemd.conf";
    return environment;
}

Result<CommandLine> parse_command_line(int argc, const char* const argv[],
                                       const Environment& environment) {
    if (argc < 1) // execve(2) allows it, but CLI11 does not
        return invalid("command line: it is empty, without even a program name");
    Options options;
    CLI::App app;
    declare(app, options, environment.version);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return ExitRequest{command_line::help_page(app, usage, description)};
    } catch (const CLI::CallForVersion& version) {
        return ExitRequest{std::string(version.what()) + "\n"};
    } catch (const CLI::Error& error) {
        return invalid("command line: {}; see rpmemd --help", command_line::problem_of(app, error));
    } catch (const std::logic_error&) { // thrown by std::stoll() in CLI11
        return invalid("command line: {} is neither yes nor no; see rpmemd --help",
                       wrong_switch(std::span(argv, static_cast<std::size_t>(argc))));
    }
    return configure(options, environment);
}

} // namespace rpmem::target
