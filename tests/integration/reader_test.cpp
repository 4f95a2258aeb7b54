// SPDX-License-Identifier: BSD-3-Clause
// Tests sessions that only read while writers open the same pool, with real daemons behind sshd. A
// reader whose session was lost may continue only if no session has opened the pool for writing
// since. Otherwise its reads would mix two states of the pool. A test fails if the reader continues
// then, if it stops although nobody wrote, or if readers keep a writer out.
#include "tests/integration/promised_time.hpp"

#include <atomic>
#include <semaphore>
#include <thread>

namespace rpmem::test {
namespace {

constexpr std::size_t read_offset = 8192; // after the header

class Readers : public PoolTest {
protected:
    // Writes the bytes of SEED to the pool, which it creates if necessary, and closes it.
    void write_pool(std::uint64_t seed) {
        set_daemon("");
        local.fill(seed);
        RPMEMpool* const pool = fs::exists(directory() / "part0") ? opened() : created();
        EXPECT_TRUE(succeeded(rpmem_persist(pool, header_size, local.size() - header_size, 0, 0)));
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
    }
    RPMEMpool* open_reader() {
        set_daemon("--read-only");
        return sound(open(memory_, 1));
    }
    // Kills the daemon of the last session.
    void kill_reader_daemon() const {
        ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
    }
    static int read_some(RPMEMpool* pool, std::vector<std::byte>& buffer) {
        return rpmem_read(pool, buffer.data(), read_offset, buffer.size(), 0);
    }
    void expect_read(RPMEMpool* pool) {
        EXPECT_TRUE(succeeded(read_some(pool, buffer_)));
        EXPECT_EQ(std::memcmp(buffer_.data(), local.data() + read_offset, buffer_.size()), 0);
    }
    void expect_stale(RPMEMpool* pool, const char* words) {
        {
            const PromisedTime time;
            EXPECT_TRUE(failed(read_some(pool, buffer_), ESTALE, words));
        }
        // The pool stays failed, whichever session has it by then.
        EXPECT_TRUE(failed(read_some(pool, buffer_), ESTALE, words));
        EXPECT_EQ(rpmem_close(pool), -1);
    }

private:
    LocalPool memory_{8 * mebibyte};
    std::vector<std::byte> buffer_ = std::vector<std::byte>(3000);
};

TEST_F(Readers, NobodyWroteMeanwhile) {
    write_pool(2);
    RPMEMpool* const reader = open_reader();
    for (int loss = 0; loss < 2; ++loss) {
        expect_read(reader);
        kill_reader_daemon();
    }
    expect_read(reader);
    EXPECT_TRUE(succeeded(rpmem_close(reader)));
}

// The writer has closed the pool again before the reader reconnects.
TEST_F(Readers, AnotherWriterCameMeanwhile) {
    write_pool(2);
    RPMEMpool* const reader = open_reader();
    expect_read(reader);
    kill_reader_daemon();
    write_pool(3);
    set_daemon("--read-only");
    expect_stale(reader, "another session has opened pool pool.set for writing");
}

TEST_F(Readers, AnotherWriterHasThePool) {
    write_pool(2);
    RPMEMpool* const reader = open_reader();
    expect_read(reader);
    kill_reader_daemon();
    set_daemon("");
    RPMEMpool* const writer = opened();
    set_daemon("--read-only");
    expect_stale(reader, "held by the session of user");
    EXPECT_TRUE(succeeded(rpmem_close(writer)));
}

// The claim is still that of the same writer. Its new session has a higher generation.
TEST_F(Readers, AWriterThatWasCutOffWentOnMeanwhile) {
    write_pool(2);
    set_daemon("");
    RPMEMpool* const writer = opened();
    const pid_t daemon = daemon_process();
    ASSERT_TRUE(succeeded(rpmem_persist(writer, read_offset, 3000, 0, 0)));
    ASSERT_EQ(::kill(daemon, SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    RPMEMpool* const reader = open_reader();
    expect_read(reader);
    kill_reader_daemon();
    set_daemon("");
    local.fill(4);
    ASSERT_TRUE(succeeded(rpmem_persist(writer, read_offset, 3000, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(writer)));
    set_daemon("--read-only");
    expect_stale(reader, "generation 1");
}

// The part was created again or restored from a backup. The copy keeps the extended attribute with
// the claim.
TEST_F(Readers, APartIsAnotherFileMeanwhile) {
    write_pool(2);
    RPMEMpool* const reader = open_reader();
    expect_read(reader);
    kill_reader_daemon();
    const std::string part = (directory() / "part0").string();
    ASSERT_EQ(::system(("cp --preserve=xattr " + part + ' ' + part + ".copy && mv " + part +
                        ".copy " + part)
                           .c_str()),
              0);
    expect_stale(reader, "or its parts are other files");
}

// A key that may only read must not keep a writer out with sessions that stay open.
TEST_F(Readers, AWriterComesFirst) {
    write_pool(2);
    RPMEMpool* const first = open_reader();
    RPMEMpool* const second = open_reader();
    expect_read(first);
    expect_read(second);
    set_daemon("");
    {
        const PromisedTime time;
        RPMEMpool* const writer = opened();
        EXPECT_TRUE(succeeded(rpmem_persist(writer, read_offset, 3000, 0, 0)));
        set_daemon("--read-only");
        expect_stale(first, "held by the session of user");
        EXPECT_TRUE(succeeded(rpmem_close(writer)));
    }
    expect_stale(second, "another session has opened pool pool.set for writing");
}

// Actions that read the pool all the time, several at once, must not keep a writer out either.
TEST_F(Readers, AWriterComesFirstAlsoWhileActionsReadAllTheTime) {
    write_pool(2);
    set_daemon("--read-only");
    const std::string action = std::string(variable("RPMEM_TEST_DAEMON")) + " --config /dev/null" +
                               " --read-only --poolset-dir " + directory().string() +
                               " --state-dir " + (directory() / "state").string() + " --log-file " +
                               (directory() / "actions.log").string();
    std::atomic<bool> is_over = false;
    std::counting_semaphore answered(0);
    std::vector<std::thread> readers;
    // With fewer of them, the part is often unlocked between two.
    constexpr int count = 10;
    for (int i = 0; i < count; ++i) {
        const std::string command = action + (i % 2 == 0 ? " --digest" : " --check") +
                                    " pool.set >/dev/null 2>&1 </dev/null";
        readers.emplace_back([&, command] {
            while (!is_over)
                if (::system(command.c_str()) == 0)
                    answered.release();
        });
    }
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(answered.try_acquire_for(std::chrono::seconds(20))) << "the actions fail";
    set_daemon("");
    for (int i = 0; i < 5; ++i) {
        const PromisedTime time;
        RPMEMpool* const writer = open(local, 1);
        EXPECT_TRUE(writer != nullptr) << rpmem_errormsg();
        EXPECT_TRUE(!writer || succeeded(rpmem_close(writer)));
    }
    is_over = true;
    for (std::thread& reader : readers)
        reader.join();
}

} // namespace
} // namespace rpmem::test
