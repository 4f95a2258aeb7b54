// SPDX-License-Identifier: BSD-3-Clause
// A pool in a file, whose target can be taken away.
#pragma once

#include "tests/integration/promised_time.hpp"

#include <sys/xattr.h>

#include <array>
#include <cstring>
#include <thread>

namespace rpmem::test {

using Clock = std::chrono::steady_clock;

class AwayTest : public PoolTest {
protected:
    AwayTest() : PoolTest(8, Memory::of_a_file) {}
    [[nodiscard]] int persist_all(RPMEMpool* pool) const {
        return rpmem_persist(pool, header_size, local.size() - header_size, 0, 0);
    }
    RPMEMpool* filled(unsigned lanes = 1) {
        RPMEMpool* const pool = created(lanes);
        EXPECT_TRUE(succeeded(persist_all(pool)));
        return pool;
    }
    void kill_daemon() const {
        ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
    }
    // Kills the daemon. Nothing answers there until set_daemon().
    void take_away() const {
        kill_daemon();
        set_command("echo closed for a while >&2; exit 127");
    }
    [[nodiscard]] std::string first_page() const {
        return read_file(directory() / "part0").substr(0, header_size);
    }
    [[nodiscard]] std::string record() const {
        std::array<char, 4096> value{};
        EXPECT_GT(::getxattr((directory() / "part0").c_str(), "user.rpmem.pool", value.data(),
                             value.size() - 1),
                  0);
        return value.data();
    }
    [[nodiscard]] bool record_says(const char* name) const {
        const std::string text = record();
        const std::size_t at = text.find(std::string("\"") + name + "\":");
        return at != std::string::npos && text.at(at + std::strlen(name) + 3) != '0';
    }
    // It follows the join.
    [[nodiscard]] bool record_gets_in_sync() const {
        for (int i = 0; i < 250 && record_says("catching_up_since"); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return !record_says("catching_up_since");
    }
    // Waits until reads are served again, which they are after the join. Nothing reports the join
    // to the program.
    static testing::AssertionResult joins(RPMEMpool* pool) {
        std::byte byte{};
        for (const auto end = Clock::now() + std::chrono::seconds(60); Clock::now() < end;) {
            if (rpmem_read(pool, &byte, header_size, 1, 0) == 0)
                return testing::AssertionSuccess();
            if (errno != ENOTCONN)
                break;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return testing::AssertionFailure() << rpmem_errormsg();
    }
};

// With RPMEM_ON_LOSS=alone, the program goes on without it.
class Alone : public AwayTest {
protected:
    // Opens a pool without headers as pool_, whose part exists and has no record. Its bytes are
    // BYTE. Then makes the first call that writes; READS: after one that reads into the memory.
    void open_existing(char byte, bool reads = false) {
        write_pool_set("existing.set", "OPTION NOHDRS\n8M %/part0");
        std::ofstream(directory() / "part0") << std::string(local.size(), byte);
        fs::permissions(directory() / "part0", fs::perms::owner_read | fs::perms::owner_write);
        local.fill(31);
        pool_ = sound(open(local, 1, "existing.set"));
        if (reads) {
            ASSERT_TRUE(succeeded(rpmem_read(pool_, local.data() + mebibyte, mebibyte, 64, 0)));
        }
        ASSERT_TRUE(succeeded(rpmem_persist(pool_, 8192, 100, 0, 0)));
    }
    RPMEMpool* pool_ = nullptr;
};

} // namespace rpmem::test
