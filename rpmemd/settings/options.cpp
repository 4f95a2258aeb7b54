// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/options.hpp"

#include "common/wire/hello.hpp"
#include "rpmemd/settings/configuration_file.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

// This header is slow to compile, so no other file includes it.
#include <CLI/CLI.hpp>

namespace rpmem::target {
namespace {

constexpr const char* description =
    "Serve one session of librpmem. ssh starts rpmemd on the node that keeps the replica, and the\n"
    "client talks to it through standard input and output. Run it by hand only with\n"
    "--check-config, --probe or --remove.";

constexpr const char* footer =
    "Configuration: --config FILE, or else ~/.rpmemd.conf over /etc/rpmemd/rpmemd.conf. One\n"
    "\"key = value\" per line, # starts a comment. The keys are the settings above. A switch such\n"
    "as --persist-apm has the value yes or no there. The command line overrides files.\n"
    "\n"
    "Examples\n"
    "  what a client may put into RPMEM_CMD:\n"
    "    rpmemd --poolset-dir /srv/pools --log-file /srv/pools/rpmemd.log --log-level notice\n"
    "  remove the pool of /srv/pools/a.set, and the pool set file with it:\n"
    "    rpmemd --poolset-dir /srv/pools --remove a.set --pool-set\n"
    "  /etc/rpmemd/rpmemd.conf:\n"
    "    poolset-dir = /srv/pools   # directory of the pool sets\n"
    "    log-level = notice\n"
    "  print the effective settings and their sources:\n"
    "    rpmemd --check-config\n"
    "\n"
    "See rpmemd(1) and rpmemd.conf(5).";

struct Options {
    std::optional<std::string> config;
    bool check_config = false;
    Configuration outright{};                            // has the options that are no settings
    std::vector<std::string> settings;                   // one text for each row of the table
    std::vector<const CLI::Option*> options_of_settings; // one for each row of the table
    ActionRequest request{};
    std::vector<std::pair<ActionRequest::Verb, const CLI::Option*>> verbs;
};

// Declares --config and what replaces a session, except the verbs. Returns the options that exclude
// the verbs.
std::vector<CLI::Option*> declare_actions(CLI::App& app, Options& options,
                                          const std::string& version) {
    app.set_help_flag("-h,--help", "print this and exit");
    app.set_version_flag("-V,--version", version, "print the version and exit");
    app.add_option("-c,--config", options.config,
                   "read this configuration file only; it must exist")
        ->type_name("FILE")
        ->option_text("FILE")
        ->take_last();
    auto* remove = app.add_option("-r,--remove", options.outright.remove,
                                  "remove the pool of this pool set and exit")
                       ->type_name("POOLSET")
                       ->option_text("POOLSET")
                       ->take_last();
    app.add_flag("-f,--force", options.outright.force,
                 "with --remove: ignore missing parts and other errors")
        ->needs(remove);
    app.add_flag("-s,--pool-set", options.outright.remove_pool_set,
                 "with --remove: remove the pool set file, too")
        ->needs(remove);
    auto* probe =
        app.add_flag("--probe", options.outright.probe,
                     "print as JSON what this machine supports, for rpmemctl(1), and exit")
            ->excludes(remove);
    auto* check_config =
        app.add_flag("--check-config", options.check_config,
                     "print every setting and where its value comes from, and exit")
            ->excludes(remove)
            ->excludes(probe);
    return {remove, probe, check_config};
}

// Declares the verbs of the table and their further options. ACTIONS exclude them. Remembers the
// declared options, because CLI11's search for an option by name ends the process if memory is
// short.
void declare_verbs(CLI::App& app, Options& options, const std::vector<CLI::Option*>& actions) {
    std::vector<CLI::Option*> declared;
    const auto follows = [&](CLI::Option* option, ActionRequest::Verb verb) {
        const auto words = action_words();
        const auto place = std::ranges::find(words, verb, &ActionWord::verb) - words.begin();
        option->needs(declared[static_cast<std::size_t>(place)]);
    };
    for (const ActionWord& word : action_words()) {
        const std::string name(word.option);
        const std::string help(word.help);
        const std::string argument(word.argument);
        auto* const option = argument.empty() ? app.add_flag(name, help)
                                              : app.add_option(name, options.request.name, help)
                                                    ->type_name(argument)
                                                    ->option_text(argument);
        for (CLI::Option* other : actions)
            option->excludes(other);
        for (CLI::Option* other : declared)
            option->excludes(other);
        declared.push_back(option);
        options.verbs.emplace_back(word.verb, option);
    }
    for (const ActionText& each : action_texts())
        follows(app.add_option(std::string(each.option), options.request.*each.member,
                               std::string(each.help))
                    ->option_text(std::string(each.argument)),
                each.verb);
    for (const ActionNumber& each : action_numbers())
        follows(app.add_option(std::string(each.option), options.request.*each.member,
                               std::string(each.help))
                    ->option_text("N"),
                each.verb);
    for (const ActionFlag& each : action_flags())
        follows(app.add_flag(std::string(each.option), options.request.*each.member,
                             std::string(each.help)),
                each.verb);
    follows(app.add_option(std::string(part_option), options.request.parts,
                           "path of a part; may be repeated")
                ->option_text("PATH"),
            ActionRequest::Verb::create);
}

// Declares the options for the forced command of a key, which no configuration file can set.
void declare_limits(CLI::App& app, Options& options) {
    app.add_flag("--restricted", options.outright.restricted,
                 "refuse client commands other than a session, --probe, --remove or an action");
    app.add_flag("--allow-remove", options.outright.allow_remove,
                 "let a client with a forced command delete pools");
    app.add_flag("--allow-admin", options.outright.allow_admin,
                 "let a client with a forced command list and end sessions, and create pools");
    app.add_flag("--read-only", options.outright.read_only, "serve pools for reading only");
    app.add_flag(wire::offer_option, options.outright.offers,
                 "the client knows more than protocol 0.1; librpmem adds this with "
                 "RPMEM_OFFER=option");
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
        const std::string placeholder(setting.placeholder);
        auto* const option = setting.kind == SettingKind::boolean
                                 ? app.add_flag(names, options.settings[row], help_of(setting))
                                 : app.add_option(names, options.settings[row], help_of(setting))
                                       ->type_name(placeholder)
                                       ->option_text(placeholder);
        option->group("Settings")->take_last();
        options.options_of_settings.push_back(option);
    }
}

void declare(CLI::App& app, Options& options, const std::string& version) {
    app.name("rpmemd");
    declare_verbs(app, options, declare_actions(app, options, version));
    declare_limits(app, options);
    declare_settings(app, options);
    app.footer(footer);
}

// Converts the usual words for a switch to those of a configuration file. Returns any other text
// unchanged, and it is refused later. A bare switch has the text "true".
std::string word_of_switch(const std::string& text) {
    constexpr std::array<std::string_view, 4> yes = {"true", "on", "enable", "1"};
    constexpr std::array<std::string_view, 4> no = {"false", "off", "disable", "0"};
    if (std::ranges::find(yes, text) != yes.end())
        return "yes";
    return std::ranges::find(no, text) != no.end() ? "no" : text;
}

// Makes the name of a log file absolute. With rpmemd 1.12.1, users gave it relative to the
// directory to which their command changes. A name that begins with ~ was meant for a shell but not
// expanded, so it stays as it is and is refused later.
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

Result<CommandLine> configure(const Options& options, const Environment& environment) {
    RPMEM_ASSIGN(auto command_line, settings_of(options));
    // Lanes of protocol 0.1 are not authenticated: whoever reaches the port first gets the pool.
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
    CLI::App app(description);
    declare(app, options, environment.version);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return ExitRequest{app.help()};
    } catch (const CLI::CallForVersion& version) {
        return ExitRequest{std::string(version.what()) + "\n"};
    } catch (const CLI::Error& error) {
        return invalid("command line: {}; see rpmemd --help", error.what());
    } catch (const std::logic_error&) { // from std::stoll() within CLI11
        return invalid("command line: the value of a switch is neither yes nor no");
    }
    return configure(options, environment);
}

} // namespace rpmem::target
