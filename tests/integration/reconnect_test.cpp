// SPDX-License-Identifier: BSD-3-Clause
// Tests the endings that docs/reliability.md lists, with a real sshd and daemons that are killed,
// stopped or replaced by scripts. A result or an error other than the one in the table, bytes that
// are missing on the target, or a call that takes longer than its row says fails a test.
#include "tests/integration/promised_time.hpp"

#include <sys/wait.h>

namespace rpmem::test {
namespace {

constexpr std::size_t range_begin = 8192; // after the header
constexpr std::size_t range_size = 3000;

class Endings : public PoolTest {
protected:
    // The next session runs SCRIPT, and the sessions after it run the daemon.
    void run_once(const std::string& script) const {
        const std::string once = (directory() / "once").string();
        set_command("if mkdir " + once + " 2>/dev/null; then " + script + "; fi; exec " +
                    daemon_script().string() + " \"$@\"");
        fs::remove(directory() / "once");
    }
    void kill_daemon(int signal = SIGKILL) const {
        ASSERT_EQ(::kill(daemon_process(), signal), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
    }
    // Expects all bytes of the application on the target.
    void expect_equal() const {
        EXPECT_EQ(std::memcmp(part(0).data() + header_size, local.data() + header_size,
                              local.size() - header_size),
                  0);
    }
    [[nodiscard]] int persist_all(RPMEMpool* pool) const {
        return rpmem_persist(pool, header_size, local.size() - header_size, 0, 0);
    }
    // Kills the daemon. The next session runs SCRIPT and is lost, the one after it gets new bytes.
    void expect_survives_next_session(RPMEMpool* pool, const std::string& script,
                                      std::uint64_t seed) {
        run_once(script);
        kill_daemon();
        local.fill(seed);
        const PromisedTime time;
        EXPECT_TRUE(succeeded(persist_all(pool)));
        EXPECT_TRUE(fs::exists(directory() / "once"));
        expect_equal();
    }
    // Creates a pool with one lane and persists it. Then it changes the local bytes.
    RPMEMpool* filled() {
        RPMEMpool* const pool = created();
        EXPECT_TRUE(succeeded(persist_all(pool)));
        local.fill(2);
        return pool;
    }
    // Expects another session to take over, with no effect for the caller but the time.
    void expect_unharmed(RPMEMpool* pool) {
        const pid_t before = daemon_process();
        EXPECT_TRUE(succeeded(in_promised_time([&] { return persist_all(pool); })));
        EXPECT_NE(daemon_process(), before);
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
        expect_equal();
    }
    [[nodiscard]] fs::path daemon_script() const { return directory() / "daemon"; }
    // Returns a script that runs the daemon and ends after BYTES bytes of its output.
    std::string ending_after(std::size_t bytes) const {
        set_daemon("");
        fs::copy_file(variable("RPMEM_TEST_COMMAND_FILE"), daemon_script(),
                      fs::copy_options::overwrite_existing);
        // dd forwards each byte at once.
        return "exec bash -c 'exec dd bs=1 status=none count=" + std::to_string(bytes) + " < <(" +
               daemon_script().string() + " \"$@\")' daemon \"$@\"";
    }
};

TEST_F(Endings, TheDaemonIsKilled) {
    RPMEMpool* const pool = filled();
    kill_daemon();
    expect_unharmed(pool);
}

TEST_F(Endings, TheDaemonIsTerminated) {
    RPMEMpool* const pool = filled();
    kill_daemon(SIGTERM);
    expect_unharmed(pool);
}

// The stopped daemon never continues. The daemon of the next session kills it.
TEST_F(Endings, TheDaemonIsStopped) {
    RPMEMpool* const pool = filled();
    const pid_t before = daemon_process();
    stop_daemon();
    expect_unharmed(pool);
    const fs::path process = "/proc/" + std::to_string(before);
    EXPECT_TRUE(!fs::exists(process) || is_in_state(process, 'Z'));
}

// The daemon ends a moment after its ssh. Until then calls need no other session.
TEST_F(Endings, TheInitiatorsSshIsKilled) {
    RPMEMpool* const pool = filled();
    pid_t ssh = 0;
    const std::string own = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
    std::ifstream(own) >> ssh;
    ASSERT_GT(ssh, 0);
    ASSERT_EQ(::kill(ssh, SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    expect_unharmed(pool);
}

TEST_F(Endings, TheTargetsSshIsKilled) {
    RPMEMpool* const pool = filled();
    ASSERT_EQ(::kill(sshd_of_daemon(), SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    expect_unharmed(pool);
}

// The answer is cut off after various numbers of bytes. A failed create must leave no part file.
// Once a lane is connected, the target cannot know whether it has failed: then the pool stays.
TEST_F(Endings, WhileAPoolIsCreated) {
    RPMEMpool* pool = nullptr;
    std::size_t bytes = 0;
    for (; !pool; bytes += 37) {
        ASSERT_LT(bytes, 2000);
        set_command(ending_after(bytes));
        const std::size_t logged = daemon_log().size();
        pool = in_promised_time([&] { return create(local, 1); });
        if (!pool) {
            EXPECT_TRUE(failed(pool, ECONNRESET)) << bytes;
            for (int i = 0; i < 100 && fs::exists(directory() / "part0"); ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (!fs::exists(directory() / "part0"))
                continue;
            ASSERT_TRUE(contains(daemon_log().substr(logged), "is connected")) << bytes;
            set_daemon("");
            ASSERT_TRUE(part_gets_unlocked(0));
            ASSERT_TRUE(succeeded(remove()));
        }
    }
    EXPECT_GT(bytes, 200);
    set_daemon("");
    EXPECT_TRUE(succeeded(persist_all(pool)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_equal();
}

TEST_F(Endings, WhileAPoolIsOpened) {
    RPMEMpool* pool = filled();
    EXPECT_TRUE(succeeded(persist_all(pool)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    pool = nullptr;
    for (std::size_t bytes = 0; !pool; bytes += 61) {
        ASSERT_LT(bytes, 2000);
        set_command(ending_after(bytes));
        pool = in_promised_time([&] { return open(local, 1); });
        EXPECT_TRUE(pool || failed(pool, ECONNRESET)) << bytes;
        EXPECT_TRUE(pool || part_gets_unlocked(0)) << bytes;
    }
    set_daemon("");
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_equal();
}

struct Interrupted {
    const char* name;
    std::function<int(RPMEMpool*)> run;
};

// The daemon is stopped and then killed while the call waits for its answer.
TEST_F(Endings, DuringACall) {
    std::vector<std::byte> seen(range_size);
    const rpmem_pool_attr attributes = sample_attributes();
    const std::vector<Interrupted> all = {
        {"persist", [&](auto* pool) { return rpmem_persist(pool, range_begin, 64, 0, 0); }},
        {"read",
         [&](auto* pool) { return rpmem_read(pool, seen.data(), range_begin, range_size, 0); }},
        {"set_attr", [&](auto* pool) { return rpmem_set_attr(pool, &attributes); }},
        {"deep_persist",
         [&](auto* pool) { return rpmem_deep_persist(pool, range_begin, range_size, 0); }},
        {"close", [&](auto* pool) { return rpmem_close(pool); }}};
    RPMEMpool* const pool = filled();
    ASSERT_TRUE(succeeded(persist_all(pool)));
    for (const Interrupted& call : all) {
        SCOPED_TRACE(call.name);
        const pid_t before = daemon_process();
        stop_daemon();
        const PromisedTime time;
        Waiter waiter([&] { EXPECT_TRUE(succeeded(call.run(pool))); });
        waiter.expect_asleep();
        EXPECT_EQ(::kill(before, SIGKILL), 0);
    }
    EXPECT_EQ(std::memcmp(seen.data(), local.data() + range_begin, range_size), 0);
    expect_equal();
    rpmem_pool_attr left{};
    EXPECT_TRUE(succeeded(rpmem_close(opened(1, &left))));
    EXPECT_EQ(std::memcmp(&left, &attributes, sizeof(left)), 0);
}

// The library does not retry a removal.
TEST_F(Endings, WhileAPoolIsRemoved) {
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    set_mute_target();
    const fs::path pid = directory() / "pid";
    fs::remove(pid);
    {
        const PromisedTime time;
        Waiter waiter([&] { EXPECT_TRUE(failed(remove(), ECONNRESET)); });
        for (int i = 0; i < 1000 && daemon_process() <= 1; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ASSERT_EQ(::kill(sshd_of_daemon(), SIGKILL), 0);
    }
    if (const pid_t left = daemon_process(); left > 1)
        ::kill(left, SIGKILL);
    set_daemon("");
    EXPECT_EQ(remove(), 0);
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

// The new session is lost as well: at once, in its handshakes, or when it has the pool.
TEST_F(Endings, TheNextSessionIsLostToo) {
    RPMEMpool* const pool = filled();
    for (std::size_t bytes = 0; bytes < 400; bytes += 97) {
        SCOPED_TRACE(bytes);
        expect_survives_next_session(pool, ending_after(bytes), bytes);
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The new session neither answers nor ends. It must use only a part of the reconnect timeout.
TEST_F(Endings, TheNextSessionIsMute) {
    RPMEMpool* const pool = filled();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{97}}) {
        SCOPED_TRACE(bytes);
        expect_survives_next_session(pool, "(" + ending_after(bytes) + "); exec cat >/dev/null",
                                     bytes);
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// A target that refuses or does not respond must not keep a program from closing its pool.
TEST_F(Endings, APoolIsClosedWhileItsTargetIsAway) {
    for (const bool is_mute : {true, false}) {
        set_daemon("");
        RPMEMpool* const pool = fs::exists(directory() / "part0") ? opened() : created();
        stop_daemon();
        EXPECT_TRUE(is_mute || succeeded(rpmem_flush(pool, range_begin, range_size, 0, 0)));
        kill_daemon();
        set_command(is_mute ? "exec cat >/dev/null" : "exit 127");
        const PromisedTime time;
        EXPECT_TRUE(
            failed(rpmem_close(pool), ECONNRESET, "in 4000 ms, the limit of rpmem_close()"));
    }
}

// Another thread waits for the target while the program calls exit(3).
TEST_F(Endings, AProgramEndsWhileItsTargetIsAway) {
    const PromisedTime time;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        RPMEMpool* const pool = create(local, 1);
        set_command("exec cat >/dev/null");
        if (const pid_t left = daemon_process(); left > 1)
            ::kill(left, SIGKILL);
        std::atomic<pid_t> id = 0;
        std::thread waiter([&] {
            id = ::gettid();
            rpmem_persist(pool, range_begin, range_size, 0, 0);
        });
        while (id == 0)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        std::exit(pool && falls_asleep(id) ? 42 : 1); // it runs the destructors
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_F(Endings, AnotherInitiatorWantsThePool) {
    RPMEMpool* const pool = filled();
    kill_daemon();
    LocalPool other(local.size());
    RPMEMpool* const thief = sound(open(other, 1));
    {
        const PromisedTime time;
        EXPECT_TRUE(failed(persist_all(pool), ESTALE, "held by the session of user"));
        EXPECT_TRUE(contains(rpmem_errormsg(), "pmempool sync"));
    }
    EXPECT_EQ(rpmem_close(pool), -1);
    EXPECT_TRUE(succeeded(rpmem_close(thief)));
}

// Our session reconnects before the other initiator opens the pool.
TEST_F(Endings, AnotherInitiatorIsRefused) {
    RPMEMpool* const pool = filled();
    kill_daemon();
    ASSERT_TRUE(succeeded(persist_all(pool)));
    LocalPool other(local.size());
    {
        const PromisedTime time;
        EXPECT_TRUE(failed(open(other, 1), EBUSY, "held by the session of user"));
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_equal();
}

TEST_F(Endings, TheInitiatorIsKilled) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        RPMEMpool* const pool = create(local, 1);
        if (pool && persist_all(pool) == 0)
            ::raise(SIGKILL);
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const PromisedTime time;
    EXPECT_TRUE(part_gets_unlocked(0));
    expect_equal();
}

// A stopped initiator sends no heartbeats, so the daemon releases its pool. After another initiator
// has opened it, the first one gets ESTALE.
TEST_F(Endings, TheInitiatorIsStopped) {
    set_daemon("--peer-timeout 4000");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        RPMEMpool* const pool = create(local, 1);
        if (!pool || persist_all(pool) != 0)
            ::_exit(1);
        ::raise(SIGSTOP);
        ::_exit(persist_all(pool) == -1 && errno == ESTALE ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    {
        const PromisedTime time;
        EXPECT_TRUE(part_gets_unlocked(0) || part_gets_unlocked(0));
    }
    RPMEMpool* const pool = opened();
    EXPECT_EQ(::kill(child, SIGCONT), 0);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Endings, TheTargetsDiskIsFull) {
    const std::string full = (directory() / "full").string();
    fs::create_directory(full);
    const std::string daemon = read_file(variable("RPMEM_TEST_COMMAND_FILE"));
    std::ofstream(directory() / "daemon") << daemon;
    fs::permissions(directory() / "daemon", fs::perms::owner_all);
    set_command("exec unshare --mount sh -c 'mount -t tmpfs -o size=2M none " + full + " && exec " +
                (directory() / "daemon").string() + " \"$@\"' daemon \"$@\"");
    if (::system("unshare --mount true 2>/dev/null") != 0)
        GTEST_SKIP() << "this needs the right to mount (unshare --mount), which root has";
    write_pool_set("pool.set", "8M %/full/part0");
    {
        const PromisedTime time;
        EXPECT_TRUE(failed(create(local, 1), EREMOTEIO, "its file system has 2097152 left"));
    }
}

// These run in their own process, with RPMEM_RECONNECT_TIMEOUT=15000.
class EndingsForGood : public Endings {};

TEST_F(EndingsForGood, TheTargetStaysAway) {
    RPMEMpool* const pool = filled();
    kill_daemon();
    set_command("echo closed for the winter >&2; exit 127");
    {
        const PromisedTime time;
        EXPECT_TRUE(failed(persist_all(pool), ECONNRESET, "is lost: ")); // the first cause
    }
    const std::string text = rpmem_errormsg();
    EXPECT_TRUE(contains(text, " attempts in 15000 ms, RPMEM_RECONNECT_TIMEOUT"));
    // This is the last cause. On a busy machine the last login may have timed out instead.
    EXPECT_TRUE(text.find("closed for the winter") != std::string::npos ||
                text.find("waited ") != std::string::npos)
        << text;
    const std::string log = library_log();
    EXPECT_TRUE(contains(log, "closed for the winter"));
    EXPECT_TRUE(contains(log, " s left"));
    // A waiting call is logged after 2 s and after 12 s, and a new cause once.
    const std::size_t first = log.find("reconnecting to ");
    const std::size_t second = log.find("reconnecting to ", first + 1);
    EXPECT_NE(second, std::string::npos) << log;
    // The pool has failed, so the next call does not wait again.
    EXPECT_TRUE(failed(persist_all(pool), ECONNRESET, "15000 ms"));
    EXPECT_EQ(rpmem_close(pool), -1);
}

} // namespace
} // namespace rpmem::test
