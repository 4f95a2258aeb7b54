// SPDX-License-Identifier: BSD-3-Clause
// Tests the forced command of rpmemd(1): a key in authorized_keys that can only replicate. A real
// sshd runs the real daemon, and ssh tries to escape. A request that runs another command, changes
// the daemon's options, or removes or writes without permission makes a test fail. So does a forced
// command that keeps the key from replicating.
#include "tests/integration/environment.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <cstdio>

namespace rpmem::test {
namespace {

struct Said {
    int status;
    std::string text; // standard output and standard error
};

// Runs ssh as the library does, with WAY: options, the host, and the command for it.
Said login(const std::string& way, const std::string& variables = "") {
    const std::string target = variable("RPMEM_TEST_TARGET");
    const std::string command = variables + " timeout 20 " + variable("RPMEM_SSH") +
                                " -oBatchMode=yes -p " + variable("RPMEM_TEST_SSH_PORT") + " " +
                                way + " </dev/null 2>&1";
    Said said{-1, {}};
    FILE* const output = ::popen(command.c_str(), "r");
    if (!output)
        return said;
    char buffer[4096];
    while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), output))
        said.text.append(buffer, got);
    const int status = ::pclose(output);
    said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return said;
}

class ForcedKey : public PoolTest {
protected:
    ForcedKey() {
        fs::create_directory(directory() / "sets");
        std::ofstream(directory() / "sets/pool.set")
            << "PMEMPOOLSET\n8M " << (directory() / "part0").native() << '\n';
    }
    ~ForcedKey() override { std::ofstream(authorized_keys) << key; }

    // Makes the key of these tests run rpmemd with OPTIONS, whatever command the client requests.
    void force(const std::string& options) const {
        std::ofstream(authorized_keys)
            << "restrict,command=\"" << variable("RPMEM_TEST_DAEMON") << " --config /dev/null "
            << "--poolset-dir " << (directory() / "sets").native() << " --state-dir "
            << (directory() / "state").native() << " --log-file " << (directory() / "log").native()
            << " --log-level debug " << options << "\" " << key;
    }

    const std::string login_name = target.substr(0, target.rfind(':'));
    const fs::path authorized_keys = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "authorized_keys";
    const std::string key = read_file(authorized_keys);
};

TEST_F(ForcedKey, Replicates) {
    force("--restricted");
    expect_served(created(2), 5000, 1);
    EXPECT_TRUE(contains(daemon_log(), "provider tcp")) << "the offer was dropped";
    const Said probe = login(login_name + " rpmemd --probe");
    EXPECT_EQ(probe.status, 0);
    EXPECT_TRUE(contains(probe.text, "\"providers\""));
}

TEST_F(ForcedKey, RemovesNothingUnlessItIsAllowedTo) {
    for (const std::string restricted : {"", "--restricted "}) {
        force(restricted);
        EXPECT_TRUE(succeeded(rpmem_close(created(2))));
        EXPECT_TRUE(failed(remove("pool.set", RPMEM_REMOVE_FORCE), EACCES, "--allow-remove"));
        EXPECT_TRUE(fs::exists(directory() / "part0"));
        force(restricted + "--allow-remove");
        EXPECT_TRUE(succeeded(remove("pool.set", RPMEM_REMOVE_FORCE)));
        EXPECT_FALSE(fs::exists(directory() / "part0"));
    }
}

TEST_F(ForcedKey, ThatIsReadOnlyWritesNothing) {
    force("--restricted");
    expect_served(created(2), 5000);
    const auto before = part(0);
    const auto changed = fs::last_write_time(directory() / "part0");
    for (const char* access : {"", " --direct-access=no"}) {
        force(std::string("--restricted --read-only --allow-remove") + access);
        EXPECT_TRUE(failed(create(local, 1), EACCES));
        RPMEMpool* const pool = opened(2);
        RPMEMpool* const second = opened(); // readers share
        const char* const why = "--read-only";
        EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), EACCES, why));
        EXPECT_TRUE(failed(rpmem_deep_persist(pool, 8192, 100, 0), EACCES, why));
        EXPECT_TRUE(failed(rpmem_flush(pool, 8192, 100, 0, 0), EACCES, why));
        const rpmem_pool_attr attributes = sample_attributes();
        EXPECT_TRUE(failed(rpmem_set_attr(pool, &attributes), EACCES, "read-only"));
        EXPECT_TRUE(failed(remove(), EACCES, why));
        // The session still serves reads.
        std::vector<std::byte> back(local.size());
        EXPECT_TRUE(succeeded(rpmem_read(pool, back.data(), 0, back.size(), 1)));
        EXPECT_EQ(back, before);
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
        EXPECT_TRUE(succeeded(rpmem_close(second)));
    }
    EXPECT_EQ(part(0), before);
    EXPECT_EQ(fs::last_write_time(directory() / "part0"), changed);
}

TEST_F(ForcedKey, ThePeersEnvironmentIsForgotten) {
    const std::string way = login_name + " rpmemd --probe";
    const std::string variables = "FI_PROVIDER=^sockets"; // sshd of the tests accepts FI_*
    force("");
    const std::string heeded = login(way, variables).text;
    for (const char* option : {"--restricted", "--restricted=yes"}) {
        force(option);
        const std::string forgotten = login(way, variables).text;
        EXPECT_EQ(forgotten, login(way).text) << option;
        EXPECT_NE(forgotten, heeded) << option;
    }
}

// A forced command that permits everything that begins with the command of rpmemd. Therefore the
// offer must not be an assignment before it. RPMEM_OFFER=option
class ForcedOffer : public ForcedKey {};

TEST_F(ForcedOffer, ComesThroughACommandThatLooksAtTheBeginning) {
    std::ofstream(authorized_keys)
        << "restrict,command=\"case $SSH_ORIGINAL_COMMAND in " << variable("RPMEM_CMD")
        << "*) exec $SSH_ORIGINAL_COMMAND ;; esac; exit 77\" " << key;
    expect_served(created(2), 5000, 1);
    EXPECT_TRUE(contains(daemon_log(), "provider tcp")) << "the offer was dropped";
    force("--restricted");
    EXPECT_TRUE(succeeded(rpmem_close(opened())));
}

// Each of these would create a file, remove the pool or print something if it succeeded.
TEST_F(ForcedKey, NobodyEscapes) {
    const fs::path proof = directory() / "escaped";
    const std::string touch = "touch " + proof.native();
    const std::string ways[] = {
        "HOST",
        "HOST ''",
        "HOST '" + touch + "'",
        "HOST 'rpmemd; " + touch + "'",
        "HOST 'rpmemd && " + touch + "'",
        "HOST 'rpmemd || " + touch + "'",
        "HOST 'rpmemd | " + touch + "'",
        "HOST 'rpmemd & " + touch + "'",
        "HOST 'rpmemd $(" + touch + ")'",
        "HOST 'rpmemd `" + touch + "`'",
        "HOST 'rpmemd >" + proof.native() + "'",
        "HOST '$(" + touch + ") rpmemd'",
        "HOST 'rpmemd\n" + touch + "'",
        "HOST '" + touch + "\nrpmemd'",
        "HOST 'export RPMEMD_OFFER=1; " + touch + "; rpmemd'",
        "HOST 'export RPMEMD_OFFER=1;" + touch + "'",
        "HOST 'exec " + touch + "'",
        "HOST 'env rpmemd'",
        "HOST 'sh -c rpmemd'",
        "HOST 'RPMEM_ODP=on rpmemd'",
        "HOST 'rpmemd --log-file " + proof.native() + "'",
        "HOST 'rpmemd --config /etc/passwd'",
        "HOST 'rpmemd --poolset-dir=/ --poolset-outside'",
        "HOST 'rpmemd --allow-remove --remove pool.set'",
        "HOST 'rpmemd --remove pool.set --allow-remove'",
        "HOST 'rpmemd --remove pool.set; " + touch + "'",
        "HOST 'rpmemd --remove '\\''pool.set'",
        "HOST 'rpmemd --remove ../pool.set --force --pool-set'",
        "HOST 'rpmemd --remove pool.set --force --pool-set'",
        "-s HOST sftp",
        "HOST 'scp -t " + directory().native() + "'",
        "-tt HOST " + touch,
        "-N -W 127.0.0.1:" + std::string(variable("RPMEM_TEST_SSH_PORT")) + " HOST",
    };
    force("--restricted");
    ASSERT_TRUE(succeeded(rpmem_close(created(2))));
    for (std::string way : ways) {
        SCOPED_TRACE(way);
        way.replace(way.find("HOST"), 4, login_name);
        const Said said = login(way);
        EXPECT_NE(said.status, 0) << said.text;
        EXPECT_NE(said.status, 124) << "nobody refused it: " << said.text;
        EXPECT_FALSE(contains(said.text, "root:"));
        EXPECT_FALSE(contains(said.text, "SSH-2.0"));
        EXPECT_FALSE(fs::exists(proof));
        EXPECT_TRUE(fs::exists(directory() / "part0"));
        EXPECT_TRUE(fs::exists(directory() / "sets/pool.set"));
    }
    // Names of pool sets must not escape either.
    write_simple_pool_set(8);
    for (const char* name : {"../pool.set", "/etc/passwd", "../../../etc/passwd"}) {
        EXPECT_EQ(open(local, 1, name), nullptr);
        EXPECT_FALSE(contains(rpmem_errormsg(), "root:"));
    }
    // Without the forced command, the same login creates the file, so these attempts are real.
    std::ofstream(authorized_keys) << key;
    EXPECT_EQ(login(login_name + " '" + touch + "'").status, 0);
    EXPECT_TRUE(fs::exists(proof));
}

} // namespace
} // namespace rpmem::test
