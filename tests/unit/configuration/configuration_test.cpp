#include "configuration/configuration.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace rpmem::target {
namespace {

Result<Settings> parse(std::string_view text) {
    return parse_configuration(text, "/etc/test.conf");
}

TEST(ConfigurationFile, EveryKey) {
    const auto settings = parse("poolset-dir = $HOME/pools\n"
                                "persist-apm = yes\n"
                                "persist-general = no\n"
                                "use-syslog = no\n"
                                "log-file = /tmp/a=b.log\n"
                                "log-level = debug\n"
                                "poolset-outside = yes\n"
                                "on-demand-paging = off\n");
    ASSERT_TRUE(settings) << settings.error().text;
    EXPECT_EQ(settings->poolset_dir, "$HOME/pools");
    EXPECT_EQ(settings->persist_apm, true);
    EXPECT_EQ(settings->persist_general, false);
    EXPECT_EQ(settings->use_syslog, false);
    EXPECT_EQ(settings->log_file, "/tmp/a=b.log");
    EXPECT_EQ(settings->log_level, LogLevel::debug);
    EXPECT_EQ(settings->allow_outside, true);
    EXPECT_EQ(settings->paging, PagingPolicy::never);
}

TEST(ConfigurationFile, EveryLogLevel) {
    EXPECT_EQ(parse("log-level = err")->log_level, LogLevel::error);
    EXPECT_EQ(parse("log-level = warn")->log_level, LogLevel::warning);
    EXPECT_EQ(parse("log-level = notice")->log_level, LogLevel::notice);
    EXPECT_EQ(parse("log-level = info")->log_level, LogLevel::info);
    EXPECT_EQ(parse("log-level = debug")->log_level, LogLevel::debug);
}

TEST(ConfigurationFile, BlanksCommentsAndEmptyLines) {
    const auto settings = parse("# a comment\n"
                                "\n"
                                " \t \n"
                                "\t log-level\t=  info \t # why\r\n"
                                "#log-file = /nowhere\n"
                                "persist-apm=yes#at once\n"
                                "poolset-dir = /a b/c"); // no newline at the end
    ASSERT_TRUE(settings) << settings.error().text;
    EXPECT_EQ(settings->log_level, LogLevel::info);
    EXPECT_EQ(settings->log_file, std::nullopt);
    EXPECT_EQ(settings->persist_apm, true);
    EXPECT_EQ(settings->poolset_dir, "/a b/c");
}

TEST(ConfigurationFile, NothingSetsNothing) {
    const auto settings = parse("");
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->poolset_dir, std::nullopt);
    EXPECT_EQ(settings->use_syslog, std::nullopt);
}

TEST(ConfigurationFile, TheLastOfTwoCounts) {
    EXPECT_EQ(parse("log-level = err\nlog-level = info\n")->log_level, LogLevel::info);
}

struct BadLine {
    const char* line;
    const char* says;
};
void PrintTo(const BadLine& bad, std::ostream* out) { *out << testing::PrintToString(bad.line); }

class BadLines : public testing::TestWithParam<BadLine> {};

TEST_P(BadLines, NameTheFileTheLineNumberAndTheLine) {
    const auto settings = parse(fmt::format("# first\n\n{}\nlog-level = info\n", GetParam().line));
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, EINVAL);
    const std::string& text = settings.error().text;
    EXPECT_NE(text.find("/etc/test.conf, line 3: "), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().line), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().says), std::string::npos) << text;
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
                    BadLine{"on-demand-paging = yes", "neither auto nor on nor off"},
                    BadLine{"log-level = error", "err, warn, notice, info or debug"},
                    BadLine{"log-level = 3", "err, warn, notice, info or debug"},
                    BadLine{"config = /tmp/x", "unknown key"},
                    BadLine{"nthreads = 2", "unknown key"}));

TEST(ConfigurationFile, LongestLine) {
    const std::string start = "poolset-dir = /";
    const std::string longest =
        start + std::string(max_configuration_line_size - start.size(), 'x');
    ASSERT_TRUE(parse(longest));
    const auto settings = parse(longest + "x");
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, EINVAL);
    EXPECT_NE(settings.error().text.find("4097 bytes"), std::string::npos) << settings.error().text;
    EXPECT_LT(settings.error().text.size(), 500U); // the line is not shown in full
}

TEST(ConfigurationFile, BinaryContentIsRefusedAndNotEchoed) {
    const auto settings = parse(std::string_view("\x7f"
                                                 "ELF\0\x1b[31m\n",
                                                 11));
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, EINVAL);
    EXPECT_EQ(settings.error().text.find('\x1b'), std::string::npos);
    EXPECT_EQ(settings.error().text.find('\0'), std::string::npos);
}

TEST(Overlay, TheUpperLayerWinsWhereItSpeaks) {
    Settings lower;
    lower.poolset_dir = "/lower";
    lower.log_level = LogLevel::info;
    lower.persist_apm = true;
    lower.persist_general = false;
    lower.allow_outside = true;
    lower.paging = PagingPolicy::always;
    Settings upper;
    upper.poolset_dir = "/upper";
    upper.persist_apm = false;
    upper.allow_outside = false;
    upper.paging = PagingPolicy::never;
    const Settings merged = overlay(lower, upper);
    EXPECT_EQ(merged.poolset_dir, "/upper");
    EXPECT_EQ(merged.log_level, LogLevel::info);
    EXPECT_EQ(merged.persist_apm, false);
    EXPECT_EQ(merged.persist_general, false);
    EXPECT_EQ(merged.allow_outside, false);
    EXPECT_EQ(merged.paging, PagingPolicy::never);
}

TEST(Overlay, ALogFileTurnsSyslogOffUnlessItsLayerSaysOtherwise) {
    Settings file;
    file.log_file = "/tmp/log";
    Settings syslog;
    syslog.use_syslog = true;
    EXPECT_EQ(overlay({}, file).use_syslog, false);
    EXPECT_EQ(overlay(syslog, file).use_syslog, false);
    EXPECT_EQ(overlay(file, syslog).use_syslog, true);
    EXPECT_EQ(overlay(file, {}).use_syslog, std::nullopt); // decided where the layer was put on
    file.use_syslog = true;
    EXPECT_EQ(overlay({}, file).use_syslog, true);
}

TEST(Resolve, Defaults) {
    const auto configuration = resolve({}, "/home/user");
    ASSERT_TRUE(configuration) << configuration.error().text;
    EXPECT_EQ(configuration->poolset_dir, "/home/user");
    EXPECT_FALSE(configuration->persist_apm);
    EXPECT_TRUE(configuration->persist_general);
    EXPECT_TRUE(configuration->use_syslog);
    EXPECT_EQ(configuration->log_file, "/var/log/rpmemd.log");
    EXPECT_EQ(configuration->log_level, LogLevel::error);
    EXPECT_EQ(configuration->threads, 0U);
    EXPECT_EQ(configuration->remove, std::nullopt);
    EXPECT_FALSE(configuration->allow_outside);
    EXPECT_EQ(configuration->paging, PagingPolicy::when_needed);
}

TEST(Resolve, HomeInThePoolSetDirectory) {
    const auto directory = [](const char* text, const char* home) {
        Settings settings;
        settings.poolset_dir = text;
        const auto configuration = resolve(settings, home);
        return configuration ? configuration->poolset_dir.native()
                             : std::to_string(configuration.error().code);
    };
    EXPECT_EQ(directory("$HOME/pools", "/home/u"), "/home/u/pools");
    EXPECT_EQ(directory("$HOME", "/home/u"), "/home/u");
    EXPECT_EQ(directory("/srv$HOME/a$HOME", "/u"), "/srv/u/a/u");
    EXPECT_EQ(directory("/srv/$HOMEPAGE", "/u"), "/srv/$HOMEPAGE");
    EXPECT_EQ(directory("$HOME", "/a/$HOME"), "/a/$HOME"); // replaced once, not for ever
    EXPECT_EQ(directory("/srv/pools", ""), "/srv/pools");
    const std::string invalid = std::to_string(EINVAL);
    EXPECT_EQ(directory("$HOME/pools", ""), invalid);
    EXPECT_EQ(directory("$HOME/pools", "relative"), invalid);
    EXPECT_EQ(directory("pools", "/home/u"), invalid);
    EXPECT_EQ(directory("./pools", "/home/u"), invalid);
    EXPECT_EQ(directory("~/pools", "/home/u"), invalid);
}

TEST(Resolve, APersistMethodIsNeeded) {
    Settings settings;
    settings.persist_general = false;
    const auto configuration = resolve(settings, "/home/u");
    ASSERT_FALSE(configuration);
    EXPECT_EQ(configuration.error().code, EINVAL);
    EXPECT_NE(configuration.error().text.find("persist-general"), std::string::npos);
    settings.persist_apm = true;
    EXPECT_TRUE(resolve(settings, "/home/u"));
    settings.direct_access = false; // then only this node can make anything persistent
    EXPECT_FALSE(resolve(settings, "/home/u"));
    settings.persist_general = true;
    EXPECT_TRUE(resolve(settings, "/home/u"));
}

} // namespace
} // namespace rpmem::target
