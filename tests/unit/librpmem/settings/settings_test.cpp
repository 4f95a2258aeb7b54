// SPDX-License-Identifier: BSD-3-Clause
// Tests how the library reads its settings from an environment that the test provides. The test
// fails if a setting has another default value or ignores a valid value, if an invalid value is
// accepted or its warning does not name the variable, or if an empty variable causes a warning.
#include "librpmem/settings/settings.hpp"
#include "tests/support/expect.hpp"

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

// Expects that MEMBER is DEFAULT_VALUE without the variable NAME, and GIVEN if it is TEXT.
template <typename T>
void expect_setting(const char* name, const char* text, T Settings::*member,
                    const std::type_identity_t<T>& default_value,
                    const std::type_identity_t<T>& given) {
    SCOPED_TRACE(name);
    EXPECT_EQ(read({}).*member, default_value);
    const Settings settings = read({{name, text}});
    EXPECT_EQ(settings.*member, given);
    EXPECT_TRUE(settings.warnings.empty());
}

TEST(Settings, DefaultsAreThoseOfTheManualAndValuesAreTaken) {
    using S = Settings;
    using Commands = std::vector<std::string>;
    expect_setting("RPMEM_SSH", "/bin/my ssh", &S::ssh, "ssh", "/bin/my ssh");
    expect_setting("RPMEM_SSH_TRANSPORT", "libssh2", &S::ssh_transport, SshTransport::process,
                   SshTransport::libssh2);
    expect_setting("RPMEM_SSH_KEY", "/my/key", &S::ssh_key, "", "/my/key");
    expect_setting("RPMEM_SSH_KNOWN_HOSTS", "/my/hosts", &S::ssh_known_hosts, "", "/my/hosts");
    expect_setting("RPMEM_CMD", " rpmemd -c a | b c||", &S::commands, Commands{"rpmemd"},
                   Commands{"rpmemd -c a", "b c"});
    // A newline would end the command before the arguments that rpmem_remove() appends.
    expect_setting("RPMEM_CMD", "rpmemd -c a\n", &S::commands, Commands{"rpmemd"},
                   Commands{"rpmemd -c a"});
    expect_setting("RPMEM_OFFER", "option", &S::offer, wire::OfferForm::variable,
                   wire::OfferForm::option);
    expect_setting("RPMEM_ON_LOSS", "wait", &S::on_loss, OnLoss::fail, OnLoss::wait);
    expect_setting("RPMEM_ADDRESS", "storage-a", &S::address, "", "storage-a");
    expect_setting("RPMEM_READ_ONLY", "1", &S::read_only, false, true);
    expect_setting("RPMEM_TOLD_ADDRESSES", "1", &S::told_addresses, false, true);
    expect_setting("RPMEM_ENABLE_VERBS", "0", &S::enable_verbs, true, false);
    expect_setting("RPMEM_DEVICE", "mlx5_0:2,rxe0", &S::device, "", "mlx5_0:2,rxe0");
    expect_setting("RPMEM_ENABLE_TCP", "0", &S::enable_tcp, true, false);
    expect_setting("RPMEM_ENABLE_SOCKETS", "1", &S::enable_sockets, false, true);
    expect_setting("RPMEM_FORK_SAFE", "0", &S::fork_safe, true, false);
    expect_setting("RPMEM_ODP", "on", &S::paging, PagingPolicy::when_needed, PagingPolicy::always);
    expect_setting("RPMEM_ODP", "off", &S::paging, PagingPolicy::when_needed, PagingPolicy::never);
    expect_setting("RPMEM_MAX_NLANES", "16", &S::max_lanes, std::nullopt, 16U);
    expect_setting("RPMEM_WORK_QUEUE_SIZE", "100", &S::work_queue_size, 50U, 100U);
    expect_setting("RPMEM_INLINE_SIZE", "64", &S::inline_size, 524288U, 64U);
    expect_setting("RPMEM_CONNECT_TIMEOUT", "1000", &S::connect_timeout, 30s, 1s);
    expect_setting("RPMEM_OPERATION_TIMEOUT", "3600000", &S::operation_timeout, 120s, 1h);
    expect_setting("RPMEM_SPIN_TIME", "0", &S::spin_time, 50us, 0us);
    expect_setting("RPMEM_LOG_LEVEL", "4", &S::log_level, LogLevel::error, LogLevel::debug);
    expect_setting("RPMEM_LOG_FILE", "/tmp/log-", &S::log_file, "", "/tmp/log-");
}

TEST(Settings, NonsenseIsNamedAndTheDefaultUsed) {
    for (const char* value : {"-1", "x", "1x", " 1", "0", "99999999999999999999", "1.5"}) {
        const Settings settings =
            read({{"RPMEM_MAX_NLANES", value}, {"RPMEM_WORK_QUEUE_SIZE", value}});
        EXPECT_FALSE(settings.max_lanes) << value;
        EXPECT_EQ(settings.work_queue_size, 50U) << value;
        ASSERT_EQ(settings.warnings.size(), 2U) << value;
        const std::string all = settings.warnings[0] + settings.warnings[1];
        EXPECT_TRUE(test::contains(all, "RPMEM_MAX_NLANES=" + std::string(value)));
        EXPECT_TRUE(test::contains(all, "50 is used"));
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
        EXPECT_TRUE(test::contains(settings.warnings[0], name));
    }
    const Settings empty = read({{"RPMEM_SSH", ""}, {"RPMEM_CMD", ""}, {"RPMEM_MAX_NLANES", ""}});
    EXPECT_EQ(empty.ssh, defaults.ssh);
    EXPECT_EQ(empty.commands, defaults.commands);
    EXPECT_FALSE(empty.max_lanes);
}

} // namespace
} // namespace rpmem::initiator
