#include "librpmem/settings/settings.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rpmem::initiator {
namespace {

using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

Settings read(const Variables& variables) {
    return read_settings([&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    });
}

TEST(Settings, DefaultsAreThoseOfTheManual) {
    const Settings settings = read({});
    EXPECT_EQ(settings.ssh, "ssh");
    EXPECT_EQ(settings.ssh_transport, SshTransport::process);
    EXPECT_EQ(settings.ssh_key, "");
    EXPECT_EQ(settings.ssh_known_hosts, "");
    EXPECT_EQ(settings.commands, std::vector<std::string>{"rpmemd"});
    EXPECT_TRUE(settings.enable_verbs);
    EXPECT_EQ(settings.device, "");
    EXPECT_TRUE(settings.enable_tcp);
    EXPECT_FALSE(settings.enable_sockets);
    EXPECT_TRUE(settings.fork_safe);
    EXPECT_EQ(settings.paging, PagingPolicy::when_needed);
    EXPECT_FALSE(settings.max_lanes);
    EXPECT_EQ(settings.work_queue_size, 50U);
    EXPECT_EQ(settings.inline_size, 524288U);
    EXPECT_EQ(settings.connect_timeout, 30000ms);
    EXPECT_EQ(settings.operation_timeout, 120000ms);
    EXPECT_EQ(settings.spin_time, 50us);
    EXPECT_EQ(settings.log_level, LogLevel::error);
    EXPECT_EQ(settings.log_file, "");
    EXPECT_TRUE(settings.warnings.empty());
}

TEST(Settings, ValuesAreTaken) {
    const Settings settings = read({{"RPMEM_SSH", "/bin/my ssh"},
                                    {"RPMEM_SSH_TRANSPORT", "libssh2"},
                                    {"RPMEM_SSH_KEY", "/my/key"},
                                    {"RPMEM_SSH_KNOWN_HOSTS", "/my/hosts"},
                                    {"RPMEM_CMD", " rpmemd -c a | b c||"},
                                    {"RPMEM_ADDRESS", "storage-a"},
                                    {"RPMEM_ENABLE_VERBS", "0"},
                                    {"RPMEM_DEVICE", "mlx5_0:2,rxe0"},
                                    {"RPMEM_ENABLE_TCP", "0"},
                                    {"RPMEM_ENABLE_SOCKETS", "1"},
                                    {"RPMEM_FORK_SAFE", "0"},
                                    {"RPMEM_ODP", "on"},
                                    {"RPMEM_MAX_NLANES", "16"},
                                    {"RPMEM_WORK_QUEUE_SIZE", "100"},
                                    {"RPMEM_INLINE_SIZE", "64"},
                                    {"RPMEM_CONNECT_TIMEOUT", "1000"},
                                    {"RPMEM_OPERATION_TIMEOUT", "3600000"},
                                    {"RPMEM_SPIN_TIME", "0"},
                                    {"RPMEM_LOG_LEVEL", "4"},
                                    {"RPMEM_LOG_FILE", "/tmp/log-"}});
    EXPECT_EQ(settings.ssh, "/bin/my ssh");
    EXPECT_EQ(settings.ssh_transport, SshTransport::libssh2);
    EXPECT_EQ(settings.ssh_key, "/my/key");
    EXPECT_EQ(settings.ssh_known_hosts, "/my/hosts");
    EXPECT_EQ(settings.commands, (std::vector<std::string>{"rpmemd -c a", "b c"}));
    EXPECT_EQ(settings.address, "storage-a");
    EXPECT_FALSE(settings.enable_verbs);
    EXPECT_EQ(settings.device, "mlx5_0:2,rxe0");
    EXPECT_FALSE(settings.enable_tcp);
    EXPECT_TRUE(settings.enable_sockets);
    EXPECT_FALSE(settings.fork_safe);
    EXPECT_EQ(settings.paging, PagingPolicy::always);
    EXPECT_EQ(read({{"RPMEM_ODP", "off"}}).paging, PagingPolicy::never);
    EXPECT_EQ(settings.max_lanes, 16U);
    EXPECT_EQ(settings.work_queue_size, 100U);
    EXPECT_EQ(settings.inline_size, 64U);
    EXPECT_EQ(settings.connect_timeout, 1000ms);
    EXPECT_EQ(settings.operation_timeout, 3600000ms);
    EXPECT_EQ(settings.spin_time, 0us);
    EXPECT_EQ(settings.log_level, LogLevel::debug);
    EXPECT_EQ(settings.log_file, "/tmp/log-");
    EXPECT_TRUE(settings.warnings.empty());
}

TEST(Settings, NonsenseIsNamedAndTheDefaultUsed) {
    for (const char* value : {"-1", "x", "1x", " 1", "0", "99999999999999999999", "1.5"}) {
        const Settings settings =
            read({{"RPMEM_MAX_NLANES", value}, {"RPMEM_WORK_QUEUE_SIZE", value}});
        EXPECT_FALSE(settings.max_lanes) << value;
        EXPECT_EQ(settings.work_queue_size, 50U) << value;
        ASSERT_EQ(settings.warnings.size(), 2U) << value;
        const std::string all = settings.warnings[0] + settings.warnings[1];
        EXPECT_NE(all.find("RPMEM_MAX_NLANES=" + std::string(value)), std::string::npos) << all;
        EXPECT_NE(all.find("50 is used"), std::string::npos) << all;
    }
    const Settings settings = read({{"RPMEM_ENABLE_VERBS", "yes"}, {"RPMEM_CMD", "|"}});
    EXPECT_TRUE(settings.enable_verbs);
    EXPECT_EQ(settings.warnings,
              (std::vector<std::string>{"RPMEM_CMD=|: not a command; rpmemd is used",
                                        "RPMEM_ENABLE_VERBS=yes: neither 1 nor 0; 1 is used"}));
    EXPECT_EQ(settings.commands, std::vector<std::string>{"rpmemd"});
    EXPECT_EQ(read({{"RPMEM_INLINE_SIZE", "65"}}).warnings,
              std::vector<std::string>{"RPMEM_INLINE_SIZE=65: not a number of bytes from 64 to "
                                       "524288, in multiples of 64; 524288 is used"});
}

TEST(Settings, AChoiceIsOneOfItsWords) {
    for (const char* value : {"ssh", "process|libssh2", "libssh", "Process"}) {
        const Settings settings = read({{"RPMEM_SSH_TRANSPORT", value}});
        EXPECT_EQ(settings.ssh_transport, SshTransport::process) << value;
        ASSERT_EQ(settings.warnings.size(), 1U) << value;
        EXPECT_EQ(
            settings.warnings[0],
            fmt::format("RPMEM_SSH_TRANSPORT={}: not one of process, libssh2; process is used",
                        value));
    }
    EXPECT_TRUE(read({{"RPMEM_SSH_TRANSPORT", "process"}}).warnings.empty());
}

TEST(Settings, EveryRowIsReadAndAnEmptyOneIsNotSet) {
    const Settings defaults = read({});
    for (const auto& [setting, store] : setting_table()) {
        const std::string name(setting.name);
        EXPECT_TRUE(read({{name, ""}}).warnings.empty()) << name;
        if (setting.kind == SettingKind::text || setting.kind == SettingKind::commands)
            continue;
        const Settings settings = read({{name, "no number"}});
        ASSERT_EQ(settings.warnings.size(), 1U) << name;
        EXPECT_NE(settings.warnings[0].find(name), std::string::npos);
    }
    const Settings empty = read({{"RPMEM_SSH", ""}, {"RPMEM_CMD", ""}, {"RPMEM_MAX_NLANES", ""}});
    EXPECT_EQ(empty.ssh, defaults.ssh);
    EXPECT_EQ(empty.commands, defaults.commands);
    EXPECT_FALSE(empty.max_lanes);
}

} // namespace
} // namespace rpmem::initiator
