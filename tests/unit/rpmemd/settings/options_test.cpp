// SPDX-License-Identifier: BSD-3-Clause
// Tests the command line of the daemon, and how options, environment, the user's file and the
// system's file override each other. The test fails if an option or its error changes, if a lower
// layer overrides a higher one, if --check-config prints another value or source, or if parsing
// writes to standard output.
#include "rpmemd/settings/configuration_file.hpp"
#include "rpmemd/settings/options.hpp"
#include "tests/support/expect.hpp"

#include <sys/stat.h>

namespace rpmem::target {
namespace {

class Options : public testing::Test {
protected:
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_ / name) << text;
        return directory_ / name;
    }

    [[nodiscard]] Result<CommandLine> run(const std::vector<std::string>& arguments) const {
        std::vector<const char*> argv{"rpmemd"};
        for (const std::string& argument : arguments)
            argv.push_back(argument.c_str());
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        auto result = parse_command_line(static_cast<int>(argv.size()), argv.data(), environment_);
        EXPECT_EQ(testing::internal::GetCapturedStdout(), ""); // reserved for the protocol
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        return result;
    }

    [[nodiscard]] Configuration configured(const std::vector<std::string>& arguments) const {
        return std::get<Configuration>(test::value_of(run(arguments)));
    }

    // Returns the errno value of the error, whose text must contain SAYS, or 0.
    [[nodiscard]] int refused(const std::vector<std::string>& arguments,
                              const std::string& says) const {
        const auto result = run(arguments);
        if (result)
            return 0;
        EXPECT_TRUE(test::contains(result.error().text, says));
        return result.error().code;
    }

    const test::TemporaryDirectory temporary_;
    const std::filesystem::path directory_ = temporary_.path();
    Environment environment_{"9.8.7", "/home/user", directory_ / "user.conf",
                             directory_ / "system.conf"};
};

TEST_F(Options, EveryLongOption) {
    const auto configuration =
        configured({"--poolset-dir", "/pools", "--persist-apm", "--persist-general",
                    "--poolset-outside", "--log-file", "/tmp/log", "--log-level", "notice",
                    "--nthreads", "3", "--remove", "a.set", "--force", "--pool-set"});
    EXPECT_EQ(configuration.poolset_dir, "/pools");
    EXPECT_TRUE(configuration.persist_apm);
    EXPECT_TRUE(configuration.persist_general);
    EXPECT_TRUE(configuration.allow_outside);
    EXPECT_EQ(configuration.log_file, "/tmp/log");
    EXPECT_FALSE(configuration.use_syslog);
    EXPECT_EQ(configuration.log_level, LogLevel::notice);
    EXPECT_EQ(configuration.threads, 3U);
    EXPECT_EQ(configuration.remove, "a.set");
    EXPECT_TRUE(configuration.force);
    EXPECT_TRUE(configuration.remove_pool_set);
}

TEST_F(Options, EveryShortOption) {
    const auto file = write("explicit.conf", "log-level = debug\n");
    const auto configuration = configured({"-c", file, "-r", "a.set", "-f", "-s", "-t", "2"});
    EXPECT_EQ(configuration.log_level, LogLevel::debug);
    EXPECT_EQ(configuration.remove, "a.set");
    EXPECT_TRUE(configuration.force);
    EXPECT_TRUE(configuration.remove_pool_set);
    EXPECT_EQ(configuration.threads, 2U);
}

TEST_F(Options, SwitchesCanBeTurnedOff) {
    const auto configuration =
        configured({"--persist-apm", "--persist-general=no", "--use-syslog=no"});
    EXPECT_TRUE(configuration.persist_apm);
    EXPECT_FALSE(configuration.persist_general);
    EXPECT_FALSE(configuration.use_syslog);
    EXPECT_TRUE(configured({}).direct_access);
    EXPECT_FALSE(configured({"--direct-access=no"}).direct_access);
    EXPECT_EQ(configured({"--nthreads", "1", "--nthreads", "2"}).threads, 2U); // the last counts
}

TEST_F(Options, HelpTeachesAndChangesNothing) {
    for (const char* option : {"--help", "-h"}) {
        const auto result = test::value_of(run({option}));
        const std::string& text = std::get<ExitRequest>(result).text;
        std::vector<std::string> all{"-V, --version",  "-h, --help",     "-c, --config",
                                     "-r, --remove",   "-f, --force",    "-s, --pool-set",
                                     "-t, --nthreads", "--probe",        "--restricted",
                                     "--read-only",    "--allow-remove", "--check-config",
                                     "RPMEM_CMD",      "notice",         "/etc/rpmemd/rpmemd.conf"};
        for (const auto& row : setting_table())
            all.push_back("--" + std::string(row.setting.name));
        for (const std::string& expected : all)
            EXPECT_TRUE(test::contains(text, expected));
    }
}

TEST_F(Options, ValuesOfAFileAndOfTheCommandLine) {
    using namespace std::chrono_literals;
    write("system.conf", "device = mlx5_0:2, mlx5_1\naccept-timeout = 1000\n");
    EXPECT_EQ(configured({}).device, "mlx5_0:2, mlx5_1");
    EXPECT_EQ(configured({"--device", "rxe0"}).device, "rxe0");
    EXPECT_EQ(refused({"--device", ""}, "device"), EINVAL);
    EXPECT_EQ(configured({}).accept_timeout, 1000ms);
    EXPECT_EQ(configured({"--accept-timeout", "3600000"}).accept_timeout, 3600000ms);
    for (const char* wrong : {"999", "3600001", "-1", "30s", "1e5", "99999999999"})
        EXPECT_EQ(refused({"--accept-timeout", wrong}, "from 1000 to 3600000"), EINVAL) << wrong;
    write("user.conf", "accept-timeout = soon\n");
    EXPECT_EQ(refused({}, "line 1: accept-timeout: \"soon\" is not a number of milliseconds"),
              EINVAL);
    write("user.conf", "");
    EXPECT_EQ(configured({"--spin-time", "0"}).spin_time, 0U);
    EXPECT_EQ(configured({"--spin-time", "1000000"}).spin_time, 1000000U);
    for (const char* wrong : {"-1", "1000001", "soon", ""})
        EXPECT_EQ(refused({"--spin-time", wrong}, "--spin-time"), EINVAL) << wrong;
}

TEST_F(Options, TheEnvironmentStandsBetweenFilesAndCommandLine) {
    write("user.conf", "spin-time = 6\n");
    EXPECT_EQ(configured({}).spin_time, 6U);
    ::setenv("RPMEM_SPIN_TIME", "7", 1);
    EXPECT_EQ(configured({}).spin_time, 7U);
    EXPECT_EQ(configured({"--spin-time", "8"}).spin_time, 8U);
    ::setenv("RPMEM_SPIN_TIME", "", 1); // equal to an unset variable
    EXPECT_EQ(configured({}).spin_time, 6U);
    EXPECT_TRUE(configured({}).warnings.empty());
    ::setenv("RPMEM_SPIN_TIME", "abc", 1); // reported and ignored, as in the library
    EXPECT_EQ(configured({}).spin_time, 6U);
    ASSERT_EQ(configured({}).warnings.size(), 1U);
    EXPECT_EQ(configured({}).warnings[0],
              "RPMEM_SPIN_TIME=abc in the environment: not a number of microseconds from 0 to "
              "1000000; it is ignored");
    ::unsetenv("RPMEM_SPIN_TIME");
}

TEST_F(Options, OnDemandPaging) {
    EXPECT_EQ(configured({}).paging, PagingPolicy::when_needed);
    EXPECT_EQ(configured({"--on-demand-paging", "on"}).paging, PagingPolicy::always);
    EXPECT_EQ(configured({"--on-demand-paging=off"}).paging, PagingPolicy::never);
    EXPECT_EQ(refused({"--on-demand-paging", "yes"}, "not one of auto, on, off"), EINVAL);
    ::setenv("RPMEM_ODP", "on", 1);
    EXPECT_EQ(configured({}).paging, PagingPolicy::always);
    EXPECT_EQ(configured({"--on-demand-paging", "auto"}).paging, PagingPolicy::when_needed);
    ::unsetenv("RPMEM_ODP");
}

TEST_F(Options, Version) {
    for (const char* option : {"--version", "-V"}) {
        const auto result = test::value_of(run({option}));
        EXPECT_EQ(std::get<ExitRequest>(result).text, "9.8.7\n");
    }
}

TEST_F(Options, WordsForSwitches) {
    for (const char* word : {"", "=yes", "=on", "=true", "=enable", "=1"})
        EXPECT_TRUE(configured({std::string("--persist-apm") + word}).persist_apm) << word;
    write("system.conf", "persist-apm = yes\n");
    for (const char* word : {"=no", "=off", "=false", "=disable", "=0"})
        EXPECT_FALSE(configured({std::string("--persist-apm") + word}).persist_apm) << word;
}

TEST_F(Options, BadOptions) {
    EXPECT_EQ(refused({"--unknown"}, "--unknown"), EINVAL);
    EXPECT_EQ(refused({"stray"}, "stray"), EINVAL);
    EXPECT_EQ(refused({"--log-level", "foo"}, "not one of err, warn, notice, info, debug"), EINVAL);
    EXPECT_EQ(refused({"--log-level"}, "--log-level"), EINVAL);
    EXPECT_EQ(refused({"--log-file", ""}, "log-file"), EINVAL);
    EXPECT_EQ(refused({"--poolset-dir", "relative"}, "relative"), EINVAL);
    EXPECT_EQ(refused({"--poolset-dir", ""}, "poolset-dir"), EINVAL);
    EXPECT_EQ(refused({"--persist-general=no"}, "persist-general"), EINVAL);
    for (const char* option :
         {"--persist-apm=perhaps", "--persist-apm=99999999999999999999", "--use-syslog=perhaps"})
        EXPECT_EQ(refused({option}, "neither yes nor no"), EINVAL) << option;
    EXPECT_EQ(refused({"--remove", "a.set", "--force=perhaps"}, "--force = perhaps"), EINVAL);
    EXPECT_EQ(refused({"--force"}, "--remove"), EINVAL);
    EXPECT_EQ(refused({"--pool-set"}, "--remove"), EINVAL);
    EXPECT_EQ(refused({"--remove"}, "--remove needs a value: -r, --remove POOLSET"), EINVAL);
    EXPECT_EQ(refused({"--remove", ""}, "--remove"), EINVAL);
    for (const char* count : {"-1", "x", "1.5", "1025", "99999999999999999999", ""})
        EXPECT_EQ(refused({"--nthreads", count}, "command line: --nthreads"), EINVAL) << count;
    const char* const nothing[] = {nullptr};
    EXPECT_TRUE(test::failed(parse_command_line(0, nothing, environment_), EINVAL));
}

TEST_F(Options, TheUsersFileWinsOverTheSystemsAndTheCommandLineOverBoth) {
    write("system.conf", "log-level = info\npoolset-dir = /system\npersist-apm = yes\n");
    write("user.conf", "poolset-dir = $HOME/user\n");
    const auto by_files = configured({});
    EXPECT_EQ(by_files.poolset_dir, "/home/user/user");
    EXPECT_EQ(by_files.log_level, LogLevel::info);
    EXPECT_TRUE(by_files.persist_apm);
    const auto by_options =
        configured({"--poolset-dir", "/option", "--log-level", "warn", "--persist-apm=no"});
    EXPECT_EQ(by_options.poolset_dir, "/option");
    EXPECT_EQ(by_options.log_level, LogLevel::warning);
    EXPECT_FALSE(by_options.persist_apm);
}

TEST_F(Options, AnExplicitFileReplacesTheDefaultFiles) {
    write("system.conf", "log-level = info\nthis is broken\n"); // this file is not read
    write("user.conf", "poolset-dir = /user\n");
    const auto file = write("explicit.conf", "persist-apm = yes\n");
    const auto configuration = configured({"--config", file});
    EXPECT_TRUE(configuration.persist_apm);
    EXPECT_EQ(configuration.log_level, LogLevel::error);
    EXPECT_EQ(configuration.poolset_dir, "/home/user");
}

TEST_F(Options, ALogFileOnTheCommandLineTurnsTheFilesSyslogOff) {
    write("system.conf", "use-syslog = yes\n");
    EXPECT_TRUE(configured({}).use_syslog);
    EXPECT_FALSE(configured({"--log-file", "/tmp/log"}).use_syslog);
    EXPECT_TRUE(configured({"--log-file", "/tmp/log", "--use-syslog"}).use_syslog);
    EXPECT_TRUE(configured({"--use-syslog", "--log-file", "/tmp/log"}).use_syslog);
}

TEST_F(Options, ALogFileInAnyOneFileTurnsSyslogOff) {
    for (const char* name : {"system.conf", "user.conf"}) {
        const auto file = write(name, "log-file = /tmp/log\n");
        EXPECT_FALSE(configured({}).use_syslog) << name;
        EXPECT_EQ(configured({}).log_file, "/tmp/log") << name;
        EXPECT_TRUE(configured({"--use-syslog"}).use_syslog) << name;
        std::filesystem::remove(file);
    }
    const auto file = write("explicit.conf", "log-file = /tmp/log\n");
    EXPECT_FALSE(configured({"--config", file}).use_syslog);
    EXPECT_TRUE(configured({"--config", file, "--use-syslog"}).use_syslog);
}

TEST_F(Options, CheckConfigTellsEverySettingAndWhereItComesFrom) {
    const auto system = write("system.conf", "# mine\npoolset-dir = /system\nlog-level = info\n");
    const auto user = write("user.conf", "poolset-dir = $HOME/user\nlog-file = /tmp/log\n");
    ::setenv("RPMEM_ODP", "on", 1);
    auto result = run({"--check-config", "--persist-apm"});
    ASSERT_TRUE(result) << result.error().text;
    auto checked = std::get<ExitRequest>(*result);
    EXPECT_EQ(checked.status, 0);
    const auto source_of = [&](const std::string& statement, const std::string& source) {
        const auto at = checked.text.find("\n" + statement + " ");
        if (at == std::string::npos)
            return statement + " is missing in\n" + checked.text;
        const auto line = checked.text.substr(at + 1, checked.text.find('\n', at + 1) - at - 1);
        return line.ends_with(" # " + source) ? std::string() : line;
    };
    EXPECT_EQ(source_of("log-level = info", system.native() + ":3"), "");
    EXPECT_EQ(source_of("log-file = /tmp/log", user.native() + ":2"), "");
    EXPECT_EQ(source_of("use-syslog = no", user.native() + ":2"), "");
    EXPECT_EQ(source_of("on-demand-paging = on", "RPMEM_ODP in the environment"), "");
    EXPECT_EQ(source_of("persist-apm = yes", "command line"), "");
    EXPECT_EQ(source_of("persist-general = yes", "default"), "");
    EXPECT_EQ(source_of("#device =", "default"), "");
    EXPECT_EQ(checked.text.find("poolset-dir = /home/user/user "), 0U) << checked.text;
    for (const auto& row : setting_table())
        EXPECT_TRUE(test::contains(checked.text, std::string(row.setting.name) + " = "));
    // The output is a valid configuration file with the same values.
    const auto read = test::value_of(parse_configuration(checked.text, "printed"));
    EXPECT_EQ(read.at("persist-apm").text, "yes");

    EXPECT_FALSE(test::contains(checked.text, "flock"));
    // Others could lock parts with this mode, and --restricted implies require-hello.
    result = run({"--check-config", "--part-mode=0640", "--restricted"});
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_TRUE(test::contains(std::get<ExitRequest>(*result).text, "# warning: part-mode"));
    EXPECT_TRUE(test::contains(std::get<ExitRequest>(*result).text, "require-hello = yes"));
    EXPECT_FALSE(configured({"--restricted", "--require-hello=no"}).require_hello);

    ::setenv("RPMEM_ODP", "perhaps", 1);
    result = run({"--check-config"});
    ::unsetenv("RPMEM_ODP");
    ASSERT_TRUE(result) << result.error().text;
    checked = std::get<ExitRequest>(*result);
    EXPECT_NE(checked.status, 0);
    EXPECT_TRUE(test::contains(checked.text, "# invalid: RPMEM_ODP=perhaps"));
    write("user.conf", "poolset-dir = here\n");
    EXPECT_EQ(refused({"--check-config"}, user.native() + ", line 1: "), EINVAL);
}

TEST_F(Options, AMissingOrBrokenFileIsNamed) {
    const auto missing = directory_ / "missing.conf";
    EXPECT_EQ(refused({"--config", missing}, missing.native()), ENOENT);
    EXPECT_EQ(refused({"--config", (missing / "deeper").native()}, missing.native()), ENOENT);
    const auto user = write("user.conf", "log-level = info\noops = 1\n");
    EXPECT_EQ(refused({}, user.native() + ", line 2: "), EINVAL);
    write("user.conf", "");
    const auto system = write("system.conf", "oops\n");
    EXPECT_EQ(refused({}, system.native() + ", line 1: "), EINVAL);
    const auto file = write("explicit.conf", "log-file =\n");
    EXPECT_EQ(refused({"-c", file}, file.native() + ", line 1: "), EINVAL);
}

TEST_F(Options, FilesThatAreNoFiles) {
    EXPECT_EQ(refused({"--config", directory_}, directory_.native()), EINVAL);
    EXPECT_TRUE(run({"--config", "/dev/null"}));
    EXPECT_EQ(refused({"--config", "/dev/zero"}, "too large"), EFBIG);
    const auto fifo = directory_ / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(refused({"--config", fifo}, fifo.native()), EINVAL); // without waiting for a writer
}

TEST_F(Options, TheLargestFile) {
    std::string text;
    while (text.size() + 64 <= max_configuration_file_size)
        text += "#" + std::string(62, '-') + "\n";
    ASSERT_EQ(text.size(), max_configuration_file_size);
    const auto file = write("large.conf", text);
    EXPECT_TRUE(run({"--config", file}));
    write("large.conf", text + "\n");
    EXPECT_EQ(refused({"--config", file}, "too large"), EFBIG);
}

TEST_F(Options, WithoutAHomeADirectoryMustBeNamed) {
    environment_.home.clear();
    environment_.user_file.clear();
    EXPECT_EQ(refused({}, "HOME"), EINVAL);
    EXPECT_EQ(configured({"--poolset-dir", "/pools"}).poolset_dir, "/pools");
}

} // namespace
} // namespace rpmem::target
