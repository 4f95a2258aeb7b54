#include "configuration/options.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

// The header is heavy: nobody else includes it.
#include <CLI/CLI.hpp>

namespace rpmem::target {
namespace {

constexpr const char* description =
    "rpmemd serves one session of librpmem: it is started through ssh on the node that keeps the\n"
    "replica, and speaks with the client on standard input and output. There is no need to start\n"
    "it by hand, but for --remove and to try out a configuration.";

constexpr const char* footer =
    "Configuration: --config FILE, or else ~/.rpmemd.conf over /etc/rpmemd/rpmemd.conf. One\n"
    "\"key = value\" a line, # starts a comment. Keys are the long options from --poolset-dir on;\n"
    "what is on or off here is yes or no there. The command line wins.\n"
    "\n"
    "Examples\n"
    "  what a client may put into RPMEM_CMD:\n"
    "    rpmemd --poolset-dir /srv/pools --log-file /tmp/rpmemd.log --log-level notice\n"
    "  remove the pool of /srv/pools/a.set, and the pool set file with it:\n"
    "    rpmemd --poolset-dir /srv/pools --remove a.set --pool-set\n"
    "  /etc/rpmemd/rpmemd.conf:\n"
    "    poolset-dir = /srv/pools   # names of pool sets are looked up here\n"
    "    log-level = notice\n"
    "\n"
    "See rpmemd(1) and rpmemd.conf(5).";

constexpr unsigned max_threads = 1024;
constexpr unsigned max_spin_time = 1000000;

// What the command line says, as text where a configuration file could say it too.
struct Options {
    std::optional<std::string> config;
    std::optional<std::string> remove;
    bool force = false;
    bool remove_pool_set = false;
    bool probe = false;
    unsigned threads = 0;
    unsigned spin_time = default_spin_time;
    std::vector<std::pair<std::string, std::string>> settings;
};

CLI::Option* add_setting(CLI::App& app, Options& options, const std::string& key,
                         const char* value_name, const char* help) {
    return app
        .add_option_function<std::string>(
            "--" + key,
            [&options, key](const std::string& value) {
                options.settings.emplace_back(key, value);
            },
            help)
        ->option_text(value_name)
        ->group("Settings")
        ->take_last();
}

void add_switch(CLI::App& app, Options& options, const std::string& key, const char* help) {
    app.add_flag_function(
           "--" + key,
           [&options, key](std::int64_t count) {
               options.settings.emplace_back(key, count > 0 ? "yes" : "no");
           },
           help)
        ->group("Settings");
}

// What it does, in place of serving a session.
void declare_actions(CLI::App& app, Options& options, const std::string& version) {
    app.set_help_flag("-h,--help", "print this and exit");
    app.set_version_flag("-V,--version", "rpmemd " + version, "print the version and exit");
    app.add_option("-c,--config", options.config,
                   "read this configuration file only; it must exist")
        ->option_text("FILE")
        ->take_last();
    auto* remove =
        app.add_option("-r,--remove", options.remove, "remove the pool of this pool set and exit")
            ->option_text("POOLSET")
            ->take_last();
    app.add_flag("-f,--force", options.force,
                 "with --remove: ignore missing parts and other errors")
        ->needs(remove);
    app.add_flag("-s,--pool-set", options.remove_pool_set,
                 "with --remove: remove the pool set file, too")
        ->needs(remove);
    app.add_flag("--probe", options.probe,
                 "print in JSON what this machine has for replication, and exit; for rpmemctl(1)")
        ->excludes(remove);
}

void declare_threads(CLI::App& app, Options& options) {
    app.add_option("-t,--nthreads", options.threads,
                   "threads that serve the lanes; 0, the default: as many as fit")
        ->option_text("N")
        ->check(CLI::Range(0U, max_threads))
        ->take_last();
    app.add_option("--spin-time", options.spin_time,
                   "microseconds that a thread looks for messages before it sleeps (default 50)")
        ->option_text("N")
        ->check(CLI::Range(0U, max_spin_time))
        ->envname("RPMEM_SPIN_TIME")
        ->take_last();
}

// What configuration files have, too.
void declare_settings(CLI::App& app, Options& options) {
    add_setting(app, options, "poolset-dir", "DIRECTORY",
                "where pool sets are looked up; absolute, $HOME in it is replaced (default $HOME)");
    add_switch(app, options, "poolset-outside",
               "let names of pool sets leave that directory, by .. or symbolic links");
    add_switch(app, options, "direct-access",
               "let clients reach a pool's memory by RDMA (default; =no: by messages only)");
    add_switch(app, options, "persist-apm", "allow the Appliance Persistency Method");
    add_switch(app, options, "persist-general",
               "allow the General Purpose Server Persistency Method (default; =no forbids it)");
    add_setting(app, options, "device", "DEVICE[:PORT],...",
                "RDMA devices that may serve (default: all)");
    add_setting(
        app, options, "accept-timeout", "MILLISECONDS",
        "how long a client may take to connect its lanes, 1000 to 3600000 (default 120000)");
    add_setting(app, options, "on-demand-paging", "WHEN",
                "RDMA devices page memory in instead of having it pinned: auto (default: where it "
                "cannot be pinned), on or off")
        ->envname("RPMEM_ODP");
    add_switch(app, options, "use-syslog", "log to syslog (default, unless --log-file is given)");
    add_setting(app, options, "log-file", "FILE",
                "log to this file, not to syslog (default /var/log/rpmemd.log)");
    add_setting(app, options, "log-level", "LEVEL", "err (default), warn, notice, info or debug");
}

void declare(CLI::App& app, Options& options, const std::string& version) {
    app.name("rpmemd");
    declare_actions(app, options, version);
    declare_threads(app, options);
    declare_settings(app, options);
    app.footer(footer);
}

// An absent default file is no error; one that is there but cannot be read is.
Result<Settings> read_default_file(const std::filesystem::path& file) {
    if (file.empty())
        return Settings{};
    auto settings = read_configuration_file(file);
    if (!settings && (settings.error().code == ENOENT || settings.error().code == ENOTDIR))
        return Settings{};
    return settings;
}

Result<Settings> read_files(const Options& options, const Environment& environment) {
    if (options.config)
        return read_configuration_file(*options.config);
    auto system = read_default_file(environment.system_file);
    if (!system)
        return system;
    auto user = read_default_file(environment.user_file);
    if (!user)
        return user;
    return overlay(*system, *user);
}

Result<Configuration> configure(const Options& options, const Environment& environment) {
    Settings command_line;
    for (const auto& [key, value] : options.settings)
        if (auto applied = apply_setting(command_line, key, value); !applied)
            return in_context("command line", std::move(applied).error());
    if (options.remove && options.remove->empty())
        return fail(ErrorClass::caller_fault, EINVAL,
                    "command line: --remove needs the name of a pool set");
    auto files = read_files(options, environment);
    if (!files)
        return propagate(std::move(files));
    auto configuration = resolve(overlay(*files, command_line), environment.home);
    if (configuration) {
        configuration->threads = options.threads;
        configuration->spin_time = options.spin_time;
        configuration->remove = options.remove;
        configuration->probe = options.probe;
        configuration->force = options.force;
        configuration->remove_pool_set = options.remove_pool_set;
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
    if (argc < 1) // execve() allows it, the parser does not
        return fail(ErrorClass::caller_fault, EINVAL,
                    "command line: it is empty, not even the program's name is there");
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
        return fail(ErrorClass::caller_fault, EINVAL, "command line: {}; see rpmemd --help",
                    error.what());
    } catch (const std::logic_error&) { // of std::stoll(), within the parser
        return fail(ErrorClass::caller_fault, EINVAL,
                    "command line: what follows the \"=\" of a switch is neither yes nor no");
    }
    auto configuration = configure(options, environment);
    if (!configuration)
        return propagate(std::move(configuration));
    return std::move(*configuration);
}

} // namespace rpmem::target
