// SPDX-License-Identifier: BSD-3-Clause
// A pool whose program goes on without its target (RPMEM_ON_LOSS=alone).
#pragma once

#include "tests/integration/promised_time.hpp"

#include <sys/xattr.h>

#include <array>
#include <cstring>
#include <thread>

namespace rpmem::test {

using Clock = std::chrono::steady_clock;

class Alone : public PoolTest {
protected:
    Alone() : PoolTest(8, Memory::of_a_file) {}
    [[nodiscard]] int persist_all(RPMEMpool* pool) const {
        return rpmem_persist(pool, header_size, local.size() - header_size, 0, 0);
    }
    RPMEMpool* filled(unsigned lanes = 1) {
        RPMEMpool* const pool = created(lanes);
        EXPECT_TRUE(succeeded(persist_all(pool)));
        return pool;
    }
    // Kills the daemon. Nothing answers there until set_daemon().
    void take_away() {
        ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
        set_command("echo closed for a while >&2; exit 127");
    }
    [[nodiscard]] std::string first_page() const {
        return read_file(directory() / "part0").substr(0, header_size);
    }
    [[nodiscard]] bool record_says(const char* name) const {
        std::array<char, 4096> value{};
        EXPECT_GT(::getxattr((directory() / "part0").c_str(), "user.rpmem.pool", value.data(),
                             value.size() - 1),
                  0);
        const std::string text = value.data();
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

} // namespace rpmem::test
