// SPDX-License-Identifier: BSD-3-Clause
// Tests sessions over libssh2 with a real sshd and daemon: that no process is started, no answer is
// overlooked, IPv6 works, the secret does not stay in memory, and a broken connection is detected.
// A fork or exec in the library, an answer that waits for more input, or a copy of the secret that
// is not wiped makes a test fail.
#include "tests/integration/environment.hpp"
#include "tests/support/thoroughness.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <span>

namespace rpmem::test {
namespace {

class Ssh2Session : public PoolTest {
protected:
};

constexpr sock_filter statement(unsigned code, unsigned value) {
    return {static_cast<std::uint16_t>(code), 0, 0, value};
}
constexpr sock_filter equal(unsigned value, std::uint8_t skip_if_not) {
    return {BPF_JMP | BPF_JEQ | BPF_K, 0, skip_if_not, value};
}

// Forbids the calling thread, and threads that it starts, to create processes and to run programs.
// These calls fail with EPERM. clone3(2) fails with ENOSYS, because a filter cannot see its flags.
bool forbid_processes() {
    constexpr unsigned error = SECCOMP_RET_ERRNO;
    static const sock_filter program[] = {
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        equal(SYS_clone3, 1),
        statement(BPF_RET | BPF_K, error | ENOSYS),
#ifdef SYS_fork
        equal(SYS_fork, 1),
        statement(BPF_RET | BPF_K, error | EPERM),
        equal(SYS_vfork, 1),
        statement(BPF_RET | BPF_K, error | EPERM),
#endif
        equal(SYS_execve, 1),
        statement(BPF_RET | BPF_K, error | EPERM),
        equal(SYS_execveat, 1),
        statement(BPF_RET | BPF_K, error | EPERM),
        equal(SYS_clone, 3),
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)), // the flags
        {BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_THREAD},
        statement(BPF_RET | BPF_K, error | EPERM),
        statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {std::size(program), const_cast<sock_filter*>(program)};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// libssh2 reads all data that has arrived, whatever data the call asked for. An answer that it has
// already read must not wait until more data arrives.
TEST_F(Ssh2Session, NoAnswerIsOverlooked) {
    RPMEMpool* pool = created();
    rpmem_pool_attr attributes = sample_attributes();
    for (std::uint32_t i = 0; i < 20000; i += every_case) {
        attributes.compat_features = i;
        ASSERT_EQ(rpmem_set_attr(pool, &attributes), 0) << i << ": " << rpmem_errormsg();
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Ssh2Session, NoProcessIsMade) {
    std::thread([&] {
        ASSERT_TRUE(forbid_processes()) << std::strerror(errno);
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(0);
        ASSERT_EQ(child, -1) << "the filter does not work";
        RPMEMpool* pool = created(2);
        ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size, local.size() - header_size, 1, 0)));
        std::vector<std::byte> back(local.size() - header_size);
        ASSERT_TRUE(succeeded(rpmem_read(pool, back.data(), header_size, back.size(), 0)));
        EXPECT_EQ(std::memcmp(back.data(), local.data() + header_size, back.size()), 0);
        ASSERT_TRUE(succeeded(rpmem_close(pool)));
        const auto media = part(0);
        ASSERT_EQ(media.size(), local.size());
        EXPECT_EQ(std::memcmp(media.data() + header_size, local.data() + header_size, back.size()),
                  0);
        EXPECT_TRUE(succeeded(remove()));
        EXPECT_FALSE(fs::exists(directory() / "part0"));
    }).join();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

// The secret of a session, masked, so that the test itself keeps no copy of it.
class MaskedSecret {
public:
    static constexpr std::size_t size = 32;
    static constexpr std::size_t quarter = size / 4;
    static constexpr unsigned char mask = 0x5a;

    // FILE has the output of the daemon: a status, and a hello that begins with its size and ends
    // with the secret, see rpmem-protocol(7).
    explicit MaskedSecret(const fs::path& file) {
        std::array<unsigned char, 2048> bytes{};
        const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        EXPECT_GT(::read(fd, bytes.data(), bytes.size()), 100);
        ::close(fd);
        for (unsigned char& byte : bytes)
            byte ^= mask;
        const auto end = 4 + (bytes[6] ^ mask) * 256U + (bytes[7] ^ mask);
        std::copy_n(bytes.begin() + end - size, size, bytes_.begin());
    }
    // Counts the copies of a quarter of it in those pages of this process that a core dump
    // contains.
    [[nodiscard]] int copies() const;

private:
    // Reads memory that is freed or that another thread uses, so sanitizers must ignore it.
    [[nodiscard]] __attribute__((no_sanitize("address", "thread"))) int
    copies_between(std::size_t from, std::size_t to) const {
        int found = 0;
        for (std::size_t at = from; at + quarter <= to; ++at) {
            const auto* const memory = reinterpret_cast<const unsigned char*>(at);
            for (const unsigned char* part = bytes_.data(); part < bytes_.data() + size;
                 part += quarter) {
                std::size_t equal = 0;
                while (equal < quarter && (part[equal] ^ mask) == memory[equal])
                    ++equal;
                found += equal == quarter;
            }
        }
        return found;
    }
    std::array<unsigned char, size> bytes_{};
};

int MaskedSecret::copies() const {
    std::ifstream smaps("/proc/self/smaps");
    std::size_t from = 0;
    std::size_t to = 0;
    bool is_written = false;
    int found = 0;
    for (std::string line; std::getline(smaps, line);) {
        const auto dash = line.find('-');
        if (dash != std::string::npos && dash < line.find(' ')) {
            from = std::stoull(line, nullptr, 16);
            to = std::stoull(line.substr(dash + 1), nullptr, 16);
            is_written = line.find(" rw") != std::string::npos;
        }
        constexpr std::size_t largest = std::size_t{64} << 20; // larger mappings are not searched
        if (line.starts_with("VmFlags:") && is_written && to - from <= largest &&
            line.find(" dd") == std::string::npos)
            found += copies_between(from, to);
    }
    return found;
}

// The library must wipe all buffers that the secret passed through, and also the buffer in which
// libssh2 decrypts. If an error text and the hello arrive together, the hello is after the text in
// that buffer, where no later packet overwrites it. To get both together, the script stops this
// process for half a second, because nothing reports when sshd has forwarded the hello.
TEST_F(Ssh2Session, TheSecretIsInNoCoreFile) {
    const fs::path copy = directory() / "hello";
    const std::string self = std::to_string(::getpid());
    set_command("kill -STOP " + self +
                "; head -c 1000 /dev/zero | tr '\\0' x >&2; (sleep 0.5; kill -CONT " + self +
                ") >/dev/null 2>&1 & " + variable("RPMEM_TEST_DAEMON") + " --poolset-dir " +
                directory().string() + " --state-dir " + (directory() / "state").string() +
                " --log-file " + (directory() / "log").string() + " | tee " + copy.string());
    RPMEMpool* const pool = created();
    EXPECT_EQ(MaskedSecret(copy).copies(), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Ssh2Session, ATargetWithAnIPv6Address) {
    target = variable("RPMEM_TEST_TARGET6");
    if (target.empty())
        GTEST_SKIP() << "there is no IPv6 here";
    set_command("echo \"$SSH_CONNECTION\" >" + (directory() / "connection").string() + "\nexec " +
                variable("RPMEM_TEST_DAEMON") + " --poolset-dir " + directory().string() +
                " --state-dir " + directory().string() + "/state");
    expect_served(created(), 10000);
    std::string client;
    std::ifstream(directory() / "connection") >> client;
    EXPECT_TRUE(contains(client, "::"));
}

TEST_F(Ssh2Session, ABrokenConnectionIsALostLink) {
    // The command's parent is the process of sshd that serves this connection.
    set_command("echo $PPID >" + (directory() / "server").string() + "\nexec " +
                variable("RPMEM_TEST_DAEMON") + " --poolset-dir " + directory().string() +
                " --state-dir " + directory().string() + "/state");
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0)));
    pid_t server = 0;
    std::ifstream(directory() / "server") >> server;
    ASSERT_GT(server, 1);
    ASSERT_EQ(::kill(server, SIGKILL), 0);
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_TRUE(failed(persist_until_it_fails(pool), ECONNRESET, "the ssh connection broke"));
    EXPECT_EQ(rpmem_close(pool), -1);
    expect_replicated(8192, 1000);
}

TEST_F(Ssh2Session, ACommandThatIsEndedByASignal) {
    set_command("echo last words >&2; kill -9 $$");
    EXPECT_TRUE(failed(create(local, 1), ECONNRESET));
    const std::string text = rpmem_errormsg();
    EXPECT_TRUE(contains(text, "signal 9"));
    EXPECT_TRUE(contains(text, "last words"));
}

} // namespace
} // namespace rpmem::test
