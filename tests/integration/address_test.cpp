// SPDX-License-Identifier: BSD-3-Clause
// Tests to which address the lanes connect: that of the host that ssh reached, or the one that a
// setting names. Pools are created through a real sshd, with aliases, a proxy command and a jump
// host in ssh_config, and /proc/net shows where the lanes end. A library that resolves the name of
// the target itself, or that ignores RPMEM_ADDRESS or --address, connects elsewhere and fails.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

class Addresses : public PoolTest {
protected:
    ~Addresses() override { std::ofstream(ssh_config) << default_config; }

    // Puts TEXT before the default configuration, because ssh uses the first value that it finds.
    // Every run of ssh adds a line to a file.
    void configure_ssh(const std::string& text) {
        std::ofstream(ssh_config) << "Match exec \"echo >>" << runs.string() << "\"\n"
                                  << text << "\n"
                                  << default_config;
        fs::remove(runs);
    }
    [[nodiscard]] std::size_t runs_of_ssh() const { return read_file(runs).size(); }

    // Expects a pool at HOST to work, and its lanes to end at ADDRESS. ADDRESS has the format of
    // /proc/net/FILE.
    void expect_lanes(const std::string& host, const char* file, const std::string& address) {
        SCOPED_TRACE(host);
        target = user + "@" + host;
        RPMEMpool* pool = created(2);
        for (const unsigned lane : {0U, 1U})
            EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 5000, lane, 0)));
        EXPECT_TRUE(is_used(file, address)) << read_file(fs::path("/proc/net") / file);
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
        expect_replicated(8192, 5000);
        EXPECT_TRUE(succeeded(remove()));
    }

    void expect_no_way(const std::string& host, const std::vector<std::string>& said) {
        SCOPED_TRACE(host);
        target = user + "@" + host;
        EXPECT_EQ(create(local, 1), nullptr);
        const std::string text = rpmem_errormsg();
        for (const std::string& words : said)
            EXPECT_TRUE(contains(text, words));
        EXPECT_FALSE(fs::exists(directory() / "part0"));
    }

    // Returns whether an established connection, other than those of sshd, ends at ADDRESS.
    static bool is_used(const char* file, const std::string& address) {
        constexpr const char* established = "01";
        const unsigned long sshd = std::stoul(variable("RPMEM_TEST_SSH_PORT"));
        const auto port_of = [](const std::string& end) {
            return std::stoul(end.substr(end.find(':') + 1), nullptr, 16);
        };
        std::istringstream table(read_file(fs::path("/proc/net") / file));
        std::string line;
        std::getline(table, line); // the heading
        while (std::getline(table, line)) {
            std::string number;
            std::string ours;
            std::string theirs;
            std::string state;
            std::istringstream(line) >> number >> ours >> theirs >> state;
            if (state == established && ours.starts_with(address + ":") && port_of(ours) != sshd &&
                port_of(theirs) != sshd)
                return true;
        }
        return false;
    }

    const fs::path ssh_config = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "ssh_config";
    const std::string default_config = read_file(ssh_config);
    const fs::path runs = directory() / "runs";
    const std::string port = variable("RPMEM_TEST_SSH_PORT");
    const std::string user = target.substr(0, target.find('@'));
};

// Addresses in the format of /proc/net.
constexpr const char* loopback = "0100007F";
constexpr const char* other_loopback = "0200007F";
constexpr const char* loopback6 = "00000000000000000000000001000000";
constexpr const char* second_network = "017100CB";

TEST_F(Addresses, TheUsualCaseTakesNoFurtherProcess) {
    configure_ssh("");
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    EXPECT_EQ(runs_of_ssh(), 1U);
}

TEST_F(Addresses, AnAliasLeadsToItsHost) {
    const std::string here = " HostName 127.0.0.1\n Port " + port;
    configure_ssh("Host rpmem-alias.invalid\n" + here);
    expect_lanes("rpmem-alias.invalid", "tcp", loopback);
    EXPECT_EQ(runs_of_ssh(), 3U); // create, -G, remove
    // This name also resolves without ssh, to an address where nothing listens.
    configure_ssh("Host 127.0.0.9\n" + here);
    expect_lanes("127.0.0.9", "tcp", loopback);
    if (*variable("RPMEM_TEST_TARGET6") != '\0') {
        configure_ssh("Host rpmem-alias6.invalid\n HostName ::1\n Port " + port);
        expect_lanes("rpmem-alias6.invalid", "tcp6", loopback6);
    }
}

// RPMEM_ADDRESS=127.0.0.2
class AddressSetting : public Addresses {};

TEST_F(AddressSetting, IsTaken) {
    set_daemon("--address 127.0.0.2");
    expect_lanes("127.0.0.1:" + port, "tcp", other_loopback);
}

// An sshd that a socket unit or a proxy command starts has no TCP connection, so SSH_CONNECTION is
// not set. Then both ends need a setting with the address of the lanes.
TEST_F(AddressSetting, LeadsToATargetWhoseSshdIsNotOnTcp) {
    configure_ssh(
        "Host pipe.invalid\n ProxyCommand sh -c '\"$(PATH=$PATH:/usr/sbin command -v sshd)\""
        " -i -f " +
        (ssh_config.parent_path() / "sshd_config").native() + " 2>/dev/null'");
    set_daemon("--address 127.0.0.2");
    expect_lanes("pipe.invalid", "tcp", other_loopback);
    set_daemon("");
    expect_no_way("pipe.invalid", {"SSH_CONNECTION is not set", "--address"});
}

TEST_F(AddressSetting, IsTheOnlyOne) { expect_no_way("127.0.0.1:" + port, {"127.0.0.2"}); }

// RPMEM_ENABLE_SOCKETS=1, because the script that replaces the daemon uses protocol 0.1.
TEST_F(AddressSetting, TheErrorListsWhatWasTried) {
    set_command("printf '\\000\\000\\000\\000'; head -c 157 >/dev/null; printf "
                "'\\000\\000\\000\\000\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000\\054"
                "\\000\\000\\000\\001\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\001"
                "\\000\\000\\000\\000\\000\\000\\000\\000\\001\\000\\000\\000'; cat >/dev/null");
    expect_no_way("127.0.0.1:" + port, {"127.0.0.2"});
}

// Needs own_network.sh and RPMEM_TEST_FORWARDING=yes. sshd, which listens only on the loopback
// device, is its own jump host.
class JumpHost : public Addresses {};

TEST_F(JumpHost, TheDaemonTellsOfItsSecondNetwork) {
    configure_ssh("Host far.invalid\n HostName 127.0.0.1\n Port " + port + "\n ProxyJump " + user +
                  "@[::1]:" + port);
    set_daemon("--address 203.0.113.1");
    expect_lanes("far.invalid", "tcp", second_network);
    // 127.0.0.1 of a jump host is another machine than 127.0.0.1 of this one. Here they are the
    // same, but the library cannot know that.
    set_daemon("");
    expect_no_way("far.invalid", {"127.0.0.1 (ssh -G names 127.0.0.1): not tried: another host",
                                  "RPMEM_ADDRESS names the address"});
    set_daemon("--address 2001:db8::1,203.0.113.1");
    expect_lanes("far.invalid", "tcp6", "B80D0120000000000000000001000000");
}

} // namespace
} // namespace rpmem::test
