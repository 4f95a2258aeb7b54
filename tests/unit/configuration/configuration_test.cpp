#include "rpmemd/settings/configuration_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace rpmem::target {
namespace {

Result<Layer> parse(std::string_view text) { return parse_configuration(text, "/etc/test.conf"); }

// What LAYER says about NAME; empty: nothing.
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

// What a file of this text makes of the defaults.
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

TEST(ConfigurationFile, EveryKey) {
    using namespace std::chrono_literals;
    const auto configuration = configured("poolset-dir = $HOME/pools\n"
                                          "poolset-outside = yes\n"
                                          "part-mode = 0640\n"
                                          "volatile-medium = refuse\n"
                                          "persist-apm = yes\n"
                                          "persist-general = no\n"
                                          "deep-flush = require\n"
                                          "confine = yes\n"
                                          "direct-access = yes\n"
                                          "sockets = yes\n"
                                          "device = mlx5_0:2, mlx5_1\n"
                                          "address = 192.0.2.1, 2001:db8::1,storage-a\n"
                                          "on-demand-paging = off\n"
                                          "accept-timeout = 1000\n"
                                          "nthreads = 3\n"
                                          "spin-time = 7\n"
                                          "use-syslog = no\n"
                                          "log-file = /tmp/a=b.log\n"
                                          "log-level = debug\n");
    EXPECT_EQ(configuration.poolset_dir, "/home/user/pools");
    EXPECT_TRUE(configuration.allow_outside);
    EXPECT_EQ(configuration.part_mode, 0640U);
    EXPECT_EQ(configuration.volatile_medium, VolatileMedium::refuse);
    EXPECT_TRUE(configuration.persist_apm);
    EXPECT_FALSE(configuration.persist_general);
    EXPECT_EQ(configuration.deep_flush, DeepFlush::require);
    EXPECT_EQ(configuration.confine, Confine::always);
    EXPECT_TRUE(configuration.direct_access);
    EXPECT_TRUE(configuration.sockets);
    EXPECT_EQ(configuration.device, "mlx5_0:2, mlx5_1");
    EXPECT_EQ(configuration.addresses,
              (std::vector<std::string>{"192.0.2.1", "2001:db8::1", "storage-a"}));
    EXPECT_EQ(configuration.paging, PagingPolicy::never);
    EXPECT_EQ(configuration.accept_timeout, 1000ms);
    EXPECT_EQ(configuration.threads, 3U);
    EXPECT_EQ(configuration.spin_time, 7U);
    EXPECT_FALSE(configuration.use_syslog);
    EXPECT_EQ(configuration.log_file, "/tmp/a=b.log");
    EXPECT_EQ(configuration.log_level, LogLevel::debug);
}

TEST(ConfigurationFile, EveryLogLevel) {
    EXPECT_EQ(configured("log-level = err").log_level, LogLevel::error);
    EXPECT_EQ(configured("log-level = warn").log_level, LogLevel::warning);
    EXPECT_EQ(configured("log-level = notice").log_level, LogLevel::notice);
    EXPECT_EQ(configured("log-level = info").log_level, LogLevel::info);
    EXPECT_EQ(configured("log-level = debug").log_level, LogLevel::debug);
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

TEST(ConfigurationFile, NothingSetsNothing) {
    const auto layer = parse("");
    ASSERT_TRUE(layer);
    EXPECT_TRUE(layer->empty());
}

TEST(ConfigurationFile, TheLastOfTwoCounts) {
    EXPECT_EQ(said(parse("log-level = err\nlog-level = info\n"), "log-level"), "info");
}

// The sample that is installed: for each row of the table what it is for, and the default.
TEST(ConfigurationFile, TheSampleIsTheTable) {
    std::ostringstream sample;
    sample << std::ifstream(RPMEM_SAMPLE_CONFIGURATION).rdbuf();
    std::string text = sample.str();
    const auto layer = parse(text);
    ASSERT_TRUE(layer) << layer.error().text;
    EXPECT_TRUE(layer->empty()); // all of it is commented out
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
    EXPECT_EQ(text.find(" ="), std::string::npos) << "more than the table has:\n" << text;
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
    EXPECT_TRUE(text.ends_with(fmt::format("; the line is \"{}\"", GetParam().line))) << text;
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

// Found by the fuzz target configuration_file: the daemon tells such errors to terminals, too.
TEST(ConfigurationFile, NoPartOfAMessageCommandsATerminal) {
    for (const std::string_view text : {"log-\x1b[2J = z\n", "nthreads = \x1b[2J\n",
                                        "log-file = '\x1b[2J\n", "nthreads \x1b[2J\n"}) {
        const auto layer = parse_configuration(text, "file");
        ASSERT_FALSE(layer) << text;
        EXPECT_EQ(layer.error().text.find('\x1b'), std::string::npos) << layer.error().text;
    }
    const auto relative = complete({{"poolset-dir", {"$HOMEWARD\x1b[2J", "file:1"}}}, "/home/user");
    ASSERT_FALSE(relative);
    EXPECT_EQ(relative.error().text.find('\x1b'), std::string::npos) << relative.error().text;
    const auto homeless = complete({{"poolset-dir", {"$HOME/\x1b[2J", "file:1"}}}, "");
    ASSERT_FALSE(homeless);
    EXPECT_EQ(homeless.error().text.find('\x1b'), std::string::npos) << homeless.error().text;
}

TEST(Overlay, TheUpperLayerWinsWhereItSpeaks) {
    Layer lower;
    Layer upper;
    // Every setting is given by the lower layer only, by the upper one only, or by both.
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

TEST(Resolve, Defaults) {
    const auto configuration = resolve({}, "/home/user");
    ASSERT_TRUE(configuration) << configuration.error().text;
    EXPECT_EQ(configuration->poolset_dir, "/home/user");
    EXPECT_FALSE(configuration->allow_outside);
    EXPECT_EQ(configuration->part_mode, 0600U);
    EXPECT_EQ(configuration->volatile_medium, VolatileMedium::warn);
    EXPECT_FALSE(configuration->persist_apm);
    EXPECT_TRUE(configuration->persist_general);
    EXPECT_EQ(configuration->deep_flush, DeepFlush::warn);
    EXPECT_EQ(configuration->confine, Confine::as_far_as_it_can);
    EXPECT_TRUE(configuration->direct_access);
    EXPECT_FALSE(configuration->sockets);
    EXPECT_EQ(configuration->device, "");
    EXPECT_TRUE(configuration->addresses.empty());
    EXPECT_EQ(configuration->paging, PagingPolicy::when_needed);
    EXPECT_EQ(configuration->threads, 0U);
    EXPECT_EQ(configuration->spin_time, 50U);
    EXPECT_TRUE(configuration->use_syslog);
    EXPECT_EQ(configuration->log_file, "/var/log/rpmemd.log");
    EXPECT_EQ(configuration->log_level, LogLevel::error);
    EXPECT_EQ(configuration->remove, std::nullopt);
    EXPECT_FALSE(configuration->restricted);
    EXPECT_FALSE(configuration->allow_remove);
    EXPECT_FALSE(configuration->read_only);
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
    EXPECT_EQ(directory("$HOME", "/a/$HOME"), "/a/$HOME"); // replaced once, not for ever
    EXPECT_EQ(directory("/srv/pools", ""), "/srv/pools");
    const std::string invalid = std::to_string(EINVAL);
    EXPECT_EQ(directory("$HOME/pools", ""), invalid);
    EXPECT_EQ(directory("$HOME/pools", "relative"), invalid);
    EXPECT_EQ(directory("$HOMEPAGE/pools", "/home/u"), invalid);
    EXPECT_EQ(configured("log-file = $HOME/rpmemd.log\n").log_file, "/home/user/rpmemd.log");
}

TEST(Resolve, APersistMethodIsNeeded) {
    Layer layer{{"persist-general", {"no", ""}}};
    const auto configuration = resolve(layer, "/home/u");
    ASSERT_FALSE(configuration);
    EXPECT_EQ(configuration.error().code, EINVAL);
    EXPECT_NE(configuration.error().text.find("persist-general"), std::string::npos);
    layer["persist-apm"] = {"yes", ""};
    EXPECT_TRUE(resolve(layer, "/home/u"));
    layer["direct-access"] = {"no", ""}; // then only this node can make anything persistent
    EXPECT_FALSE(resolve(layer, "/home/u"));
    layer["persist-general"] = {"yes", ""};
    EXPECT_TRUE(resolve(layer, "/home/u"));
}

} // namespace
} // namespace rpmem::target
