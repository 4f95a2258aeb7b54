// SPDX-License-Identifier: BSD-3-Clause
// Tests the configuration files of the daemon: keys, default values, errors, overlays and $HOME,
// and the installed sample. The test fails if a key or its default changes, if an invalid line is
// accepted or not named, if the sample differs from the table, or if the file of others is read.
#include "rpmemd/settings/configuration_file.hpp"
#include "tests/support/expect.hpp"

#include <sys/stat.h>

namespace rpmem::target {
namespace {

Result<Layer> parse(std::string_view text) { return parse_configuration(text, "/etc/test.conf"); }

// Returns the value of NAME in LAYER, the error, or an empty text.
std::string said(const Result<Layer>& layer, std::string_view name) {
    if (!layer)
        return layer.error().text;
    const auto found = layer->find(name);
    return found == layer->end() ? "" : found->second.text;
}

Result<Configuration> resolve(const Layer& layer, std::string_view home) {
    const auto all = complete(layer, home);
    return all ? Result<Configuration>(configuration_of(*all)) : Failure(all.error());
}

// Returns the configuration from the file TEXT and the default values.
Configuration configured(std::string_view text) {
    const auto layer = parse(text);
    const auto configuration =
        layer ? resolve(*layer, "/home/user") : Result<Configuration>(Failure(layer.error()));
    if (!configuration) {
        ADD_FAILURE() << configuration.error().text;
        return {};
    }
    return *configuration;
}

// Expects that MEMBER is DEFAULT_VALUE without the key NAME, and GIVEN if the key has TEXT.
template <typename T>
void expect_key(const char* name, const char* text, T Configuration::*member,
                const std::type_identity_t<T>& default_value,
                const std::type_identity_t<T>& given) {
    SCOPED_TRACE(name);
    EXPECT_EQ(configured("").*member, default_value);
    EXPECT_EQ(configured(fmt::format("{} = {}\n", name, text)).*member, given);
}

TEST(ConfigurationFile, EveryKeyAndItsDefault) {
    using namespace std::chrono_literals;
    using C = Configuration;
    expect_key("poolset-dir", "$HOME/pools", &C::poolset_dir, "/home/user", "/home/user/pools");
    expect_key("poolset-outside", "yes", &C::allow_outside, false, true);
    expect_key("part-mode", "0640", &C::part_mode, 0600, 0640);
    expect_key("volatile-medium", "refuse", &C::volatile_medium, VolatileMedium::warn,
               VolatileMedium::refuse);
    expect_key("persist-apm", "yes", &C::persist_apm, false, true);
    expect_key("persist-general", "no\npersist-apm = yes", &C::persist_general, true, false);
    expect_key("deep-flush", "require", &C::deep_flush, DeepFlush::warn, DeepFlush::require);
    expect_key("confine", "yes", &C::confine, Confine::as_far_as_it_can, Confine::always);
    expect_key("direct-access", "no", &C::direct_access, true, false);
    expect_key("sockets", "yes", &C::sockets, false, true);
    expect_key("device", "mlx5_0:2, mlx5_1", &C::device, "", "mlx5_0:2, mlx5_1");
    expect_key("address", "192.0.2.1, 2001:db8::1,storage-a", &C::addresses, {},
               {"192.0.2.1", "2001:db8::1", "storage-a"});
    expect_key("on-demand-paging", "off", &C::paging, PagingPolicy::when_needed,
               PagingPolicy::never);
    expect_key("accept-timeout", "1000", &C::accept_timeout, 120s, 1s);
    expect_key("nthreads", "3", &C::threads, 0U, 3U);
    expect_key("spin-time", "7", &C::spin_time, 50U, 7U);
    expect_key("use-syslog", "no", &C::use_syslog, true, false);
    expect_key("log-file", "/tmp/a=b.log", &C::log_file, "/var/log/rpmemd.log", "/tmp/a=b.log");
    expect_key("log-level", "debug", &C::log_level, LogLevel::error, LogLevel::debug);
}

TEST(ConfigurationFile, EveryLogLevel) {
    for (const auto& [word, level] :
         {std::pair("err", LogLevel::error), std::pair("warn", LogLevel::warning),
          std::pair("notice", LogLevel::notice), std::pair("info", LogLevel::info),
          std::pair("debug", LogLevel::debug)})
        EXPECT_EQ(configured(std::string("log-level = ") + word).log_level, level) << word;
}

TEST(ConfigurationFile, BlanksCommentsAndEmptyLines) {
    const auto layer = parse("# a comment\n"
                             "\n"
                             " \t \n"
                             "\t log-level\t=  info \t # why\r\n"
                             "#log-file = /nowhere\n"
                             "persist-apm=yes#at once\n"
                             "poolset-dir = /a b/c"); // no newline at the end
    EXPECT_EQ(said(layer, "log-level"), "info");
    EXPECT_EQ(said(layer, "log-file"), "");
    EXPECT_EQ(said(layer, "persist-apm"), "yes");
    EXPECT_EQ(said(layer, "poolset-dir"), "/a b/c");
    EXPECT_EQ(layer->at("log-level").source, "/etc/test.conf:4");
}

TEST(ConfigurationFile, TheLastOfTwoCounts) {
    EXPECT_EQ(said(parse("log-level = err\nlog-level = info\n"), "log-level"), "info");
}

// The installed sample has the help text and the default value of each row of the table.
TEST(ConfigurationFile, TheSampleIsTheTable) {
    std::string text = test::read_file(RPMEM_SAMPLE_CONFIGURATION);
    const auto layer = parse(text);
    ASSERT_TRUE(layer) << layer.error().text;
    EXPECT_TRUE(layer->empty()); // all settings are commented out
    for (const auto& [setting, store] : setting_table()) {
        const auto value = setting.default_value;
        std::string allowed = allowed_values(setting);
        if (!allowed.empty())
            allowed = " (" + allowed + ")";
        const std::string paragraph = fmt::format("\n# {}{}\n#{} ={}{}\n", setting.help, allowed,
                                                  setting.name, value.empty() ? "" : " ", value);
        const auto at = text.find(paragraph);
        ASSERT_NE(at, std::string::npos) << "not in the sample:" << paragraph;
        text.erase(at, paragraph.size());
    }
    EXPECT_FALSE(test::contains(text, " ="));
}

struct BadLine {
    const char* line;
    const char* says;
};
void PrintTo(const BadLine& bad, std::ostream* out) { *out << testing::PrintToString(bad.line); }

class BadLines : public testing::TestWithParam<BadLine> {};

TEST_P(BadLines, NameTheFileTheLineNumberAndTheLine) {
    const auto settings = parse(fmt::format("# first\n\n{}\nlog-level = info\n", GetParam().line));
    ASSERT_TRUE(test::failed(settings, EINVAL));
    const std::string& text = settings.error().text;
    EXPECT_TRUE(test::contains(text, "/etc/test.conf, line 3: "));
    EXPECT_TRUE(text.ends_with(fmt::format("; the line is \"{}\"", GetParam().line))) << text;
    EXPECT_TRUE(test::contains(text, GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    ConfigurationFile, BadLines,
    testing::Values(BadLine{"unknown-key = 1", "unknown key \"unknown-key\""},
                    BadLine{"Log-Level = info", "unknown key \"Log-Level\""},
                    BadLine{"= value", "unknown key \"\""}, BadLine{"log-file =", "no value"},
                    BadLine{"log-file =  # nothing", "no value"},
                    BadLine{"log-file /tmp/x", "key = value"}, BadLine{"yes", "key = value"},
                    BadLine{"persist-apm = true", "neither yes nor no"},
                    BadLine{"persist-general = 1", "neither yes nor no"},
                    BadLine{"use-syslog = YES", "neither yes nor no"},
                    BadLine{"poolset-outside = maybe", "neither yes nor no"},
                    BadLine{"on-demand-paging = yes", "not one of auto, on, off"},
                    BadLine{"log-level = error", "not one of err, warn, notice, info, debug"},
                    BadLine{"log-level = 3", "not one of err, warn, notice, info, debug"},
                    BadLine{"config = /tmp/x", "unknown key"},
                    BadLine{"remove = a.set", "unknown key"},
                    BadLine{"nthreads = 1025", "not a number from 0 to 1024"},
                    BadLine{"spin-time = soon", "not a number of microseconds from 0 to 1000000"},
                    BadLine{"part-mode = 0700", "not an octal mode from 0600 to 0666"},
                    BadLine{"part-mode = 0066", "not an octal mode from 0600 to 0666"},
                    BadLine{"part-mode = 0680", "not an octal mode from 0600 to 0666"},
                    BadLine{"deep-flush = yes", "not one of warn, require"},
                    BadLine{"volatile-medium = no", "not one of warn, refuse"},
                    BadLine{"confine = on", "not one of auto, yes, no"},
                    BadLine{"address = a,b,c,d,e,f,g,h,i", "not a list of 1 to 8 names"},
                    BadLine{"address = ,", "not a list of 1 to 8 names"},
                    BadLine{"device = a b", "without blanks within a name"},
                    BadLine{"log-file = ~/x.log", "not an absolute path; write it with"},
                    BadLine{"log-file = x.log", "not an absolute path; write it with"},
                    BadLine{"poolset-dir = pools", "not an absolute path; write it with"},
                    BadLine{"poolset-dir = \"/srv/pools\"", "written without quotes"},
                    BadLine{"use-syslog = 'no'", "written without quotes"}));

TEST(ConfigurationFile, LongestLine) {
    const std::string longest = '#' + std::string(max_configuration_line_size - 1, 'x');
    ASSERT_TRUE(parse(longest));
    const auto settings = parse(longest + "x");
    ASSERT_TRUE(test::failed(settings, EINVAL, "12289 bytes"));
    EXPECT_LT(settings.error().text.size(), 500U); // the line is not shown in full
}

TEST(ConfigurationFile, LongestValue) {
    const std::string longest = "poolset-dir = /" + std::string(max_setting_size - 1, 'x');
    ASSERT_TRUE(parse(longest));
    ASSERT_TRUE(test::failed(parse(longest + "x"), EINVAL, "4096 bytes"));
}

// The fuzz target configuration_file has found that --check-config printed a line that was too
// long.
TEST(ConfigurationFile, HomeMakesAValueTooLong) {
    const std::string beyond(max_setting_size - std::string_view("$HOME/home/").size(), 'x');
    const auto fits = complete({{"poolset-dir", {"$HOME/" + beyond, "file:1"}}}, "/home/ab");
    ASSERT_TRUE(fits);
    EXPECT_TRUE(parse(describe(*fits)));
    EXPECT_TRUE(test::failed(
        complete({{"poolset-dir", {"$HOME/" + beyond + "xxx", "file:1"}}}, "/home/abcdef"), EINVAL,
        "after $HOME is replaced"));
}

// Found by the fuzz target configuration_file. Such an error may be printed to a terminal.
TEST(ConfigurationFile, NoPartOfAMessageCommandsATerminal) {
    const auto expect_printable = [](const Result<Layer>& layer) {
        ASSERT_TRUE(test::failed(layer, EINVAL));
        EXPECT_FALSE(test::contains(layer.error().text, "\x1b"));
        EXPECT_EQ(layer.error().text.find('\0'), std::string::npos);
    };
    for (const std::string_view text :
         {std::string_view("log-\x1b[2J = z\n"), std::string_view("nthreads = \x1b[2J\n"),
          std::string_view("log-file = '\x1b[2J\n"), std::string_view("nthreads \x1b[2J\n"),
          std::string_view("\x7f"
                           "ELF\0\x1b[31m\n",
                           11)})
        expect_printable(parse(text));
    expect_printable(complete({{"poolset-dir", {"$HOMEWARD\x1b[2J", "file:1"}}}, "/home/user"));
    expect_printable(complete({{"poolset-dir", {"$HOME/\x1b[2J", "file:1"}}}, ""));
}

TEST(Overlay, TheUpperLayerWinsWhereItSpeaks) {
    Layer lower;
    Layer upper;
    // Each setting is in the lower layer only, in the upper one only, or in both.
    std::size_t turn = 0;
    for (const auto& row : setting_table()) {
        if (turn % 3 != 1)
            lower[row.setting.name] = {"lower", ""};
        if (turn++ % 3 != 0)
            upper[row.setting.name] = {"upper", ""};
    }
    const Layer merged = overlay(lower, upper);
    turn = 0;
    for (const auto& row : setting_table())
        EXPECT_EQ(merged.at(row.setting.name).text, turn++ % 3 == 0 ? "lower" : "upper")
            << row.setting.name;
}

TEST(ConfigurationFile, ALogFileTurnsSyslogOffUnlessTheFileSaysOtherwise) {
    EXPECT_EQ(said(parse("log-file = /tmp/log\n"), "use-syslog"), "no");
    EXPECT_EQ(said(parse("log-file = /tmp/log\nuse-syslog = yes\n"), "use-syslog"), "yes");
    EXPECT_EQ(said(parse("log-level = info\n"), "use-syslog"), "");
    EXPECT_FALSE(configured("log-file = /tmp/log\n").use_syslog);
}

// A file cannot contain these settings.
TEST(Resolve, TheCommandLinesDefaults) {
    const auto configuration = configured("");
    EXPECT_EQ(configuration.remove, std::nullopt);
    EXPECT_FALSE(configuration.restricted);
    EXPECT_FALSE(configuration.allow_remove);
    EXPECT_FALSE(configuration.read_only);
}

TEST(Resolve, HomeInPaths) {
    const auto directory = [](const char* text, const char* home) {
        const auto configuration = resolve({{"poolset-dir", {text, ""}}}, home);
        return configuration ? configuration->poolset_dir.native()
                             : std::to_string(configuration.error().code);
    };
    EXPECT_EQ(directory("$HOME/pools", "/home/u"), "/home/u/pools");
    EXPECT_EQ(directory("$HOME", "/home/u"), "/home/u");
    EXPECT_EQ(directory("/srv$HOME/a$HOME", "/u"), "/srv/u/a/u");
    EXPECT_EQ(directory("/srv/$HOMEPAGE", "/u"), "/srv/$HOMEPAGE");
    EXPECT_EQ(directory("$HOME", "/a/$HOME"), "/a/$HOME"); // replaced once
    EXPECT_EQ(directory("/srv/pools", ""), "/srv/pools");
    const std::string invalid = std::to_string(EINVAL);
    EXPECT_EQ(directory("$HOME/pools", ""), invalid);
    EXPECT_EQ(directory("$HOME/pools", "relative"), invalid);
    EXPECT_EQ(directory("$HOMEPAGE/pools", "/home/u"), invalid);
    EXPECT_EQ(configured("log-file = $HOME/rpmemd.log\n").log_file, "/home/user/rpmemd.log");
}

TEST(Resolve, APersistMethodIsNeeded) {
    Layer layer{{"persist-general", {"no", ""}}};
    EXPECT_TRUE(test::failed(resolve(layer, "/home/u"), EINVAL, "persist-general"));
    layer["persist-apm"] = {"yes", ""};
    EXPECT_TRUE(resolve(layer, "/home/u"));
    layer["direct-access"] = {"no", ""}; // then the appliance method is impossible
    EXPECT_FALSE(resolve(layer, "/home/u"));
    layer["persist-general"] = {"yes", ""};
    EXPECT_TRUE(resolve(layer, "/home/u"));
}

// A user who can write to the configuration file decides which files the daemon accesses.
TEST(ConfigurationFile, OfOthersIsRefused) {
    const test::TemporaryDirectory directory;
    const auto file = directory.path() / "rpmemd.conf";
    std::ofstream(file) << "nthreads = 3\n";
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    EXPECT_EQ(said(read_configuration_file(file), "nthreads"), "3");
    std::filesystem::create_symlink(file, directory.path() / "link");
    EXPECT_EQ(said(read_configuration_file(directory.path() / "link"), "nthreads"), "3");
    EXPECT_TRUE(test::succeeded(read_configuration_file("/dev/null")));
    for (const mode_t mode : {0666U, 0620U, 0602U}) {
        ASSERT_EQ(::chmod(file.c_str(), mode), 0);
        EXPECT_TRUE(test::failed(read_configuration_file(file), EACCES, "may write to"));
    }
    const auto fifo = directory.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_TRUE(test::failed(read_configuration_file(fifo), EINVAL, "regular file"));
    EXPECT_TRUE(test::failed(read_configuration_file(directory.path() / "none"), ENOENT));
}

} // namespace
} // namespace rpmem::target
