// SPDX-License-Identifier: BSD-3-Clause
// Tests the eviction of sessions. Child processes hold the files of sessions and wait to be killed.
// The test fails if a daemon of the initiator survives, if that of another one is killed, if the
// record of the pool keeps its owner or that of another pool loses it, or if evict() does not end.
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/files/pool_attribute.hpp"
#include "rpmemd/registry/evict.hpp"
#include "rpmemd/registry/pool_files.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>

namespace rpmem::target {
namespace {

// A process with the files of a session of OWNER and of its pool. It waits to be killed.
class Daemon {
public:
    Daemon(const StateDirectory& directory, const Owner& owner, const std::string& pool,
           const std::string& part = "/nowhere") {
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        pid_ = ::fork();
        if (pid_ == 0)
            serve(directory, owner, pool, part, ready[1]);
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        ::close(ready[1]);
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon() {
        if (pid_ > 0)
            ::kill(pid_, SIGKILL);
        ended_by();
    }
    // Waits for the end of the process and returns the signal that ended it.
    int ended_by() {
        int status = 0;
        if (pid_ > 0)
            ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    [[nodiscard]] bool lives() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    [[noreturn]] static void serve(const StateDirectory& directory, const Owner& owner,
                                   const std::string& pool, const std::string& part, int ready) {
        SessionRecord session = session_record();
        session.owner = owner;
        session.part = part;
        const auto file = value_of(make_session_file(directory, session));
        auto pool_file = value_of(make_pool_file(directory, pool));
        PoolRecord record = pool_record();
        record.owner = owner;
        const bool good = pool_file.write(record) && ::write(ready, "r", 1) == 1;
        while (good)
            ::pause();
        ::_exit(1);
    }
    pid_t pid_;
};

class Evict : public StateDirectoryTest {
protected:
    [[nodiscard]] std::string id_of(const Daemon& daemon) const {
        for (const LiveSession& each : live_sessions(directory_, log_))
            if (each.pid == daemon.pid())
                return each.id;
        return "none";
    }
    [[nodiscard]] Owner owner_of(const std::string& pool) const {
        auto file = value_of(StateFile::open(directory_, pool));
        return value_of(file.read<PoolRecord>()).value_or(PoolRecord{}).owner;
    }

    const StateDirectory directory_ = directory();
    const Log log_{};
};

TEST_F(Evict, EndsTheDaemonAndTakesItsPools) {
    Daemon ours(directory_, digest_of(1), "pool-1");
    Daemon again(directory_, digest_of(1), "pool-2"); // the same initiator
    Daemon other(directory_, digest_of(2), "pool-3");
    const auto evicted = value_of(evict(directory_, id_of(ours), default_part_mode, log_));
    EXPECT_EQ(evicted.pid, ours.pid());
    EXPECT_EQ(ours.ended_by(), SIGKILL);
    EXPECT_EQ(again.ended_by(), SIGKILL);
    EXPECT_TRUE(other.lives());
    EXPECT_EQ(owner_of("pool-1"), Owner{});
    EXPECT_EQ(owner_of("pool-2"), Owner{});
    EXPECT_EQ(owner_of("pool-3"), digest_of(2));
    EXPECT_TRUE(failed(evict(directory_, evicted.id, default_part_mode, log_), ENOENT));
}

// A compromised session could name the part of any pool.
TEST_F(Evict, ClearsNoClaimOfAnother) {
    const auto path = temporary_.path() / "part";
    std::ofstream(path) << "a part";
    std::filesystem::permissions(path, std::filesystem::perms(default_part_mode));
    PartRules rules;
    rules.unlocked = true;
    for (unsigned char owner = 1; owner <= 2; ++owner) {
        const PartFile part = value_of(PartFile::open(path, rules));
        PoolRecord claim = pool_record();
        claim.owner = digest_of(owner);
        ASSERT_TRUE(succeeded(PoolAttribute(part).write(value_of(encode_attribute(claim)), {})));
        Daemon ours(directory_, digest_of(1), fmt::format("pool-{}", owner), path.native());
        EXPECT_TRUE(succeeded(evict(directory_, id_of(ours), default_part_mode, log_)));
        const auto left = value_of(decode_attribute(value_of(PoolAttribute(part).read()).value()));
        EXPECT_EQ(left.owner, owner == 1 ? Owner{} : digest_of(owner));
    }
}

// Sessions of protocol 0.1 have an empty owner, which does not make them one initiator.
TEST_F(Evict, EndsOneSessionWithoutAnOwner) {
    Daemon ours(directory_, Owner{}, "pool-1");
    Daemon other(directory_, Owner{}, "pool-2");
    EXPECT_TRUE(succeeded(evict(directory_, id_of(ours), default_part_mode, log_)));
    EXPECT_EQ(ours.ended_by(), SIGKILL);
    EXPECT_TRUE(other.lives());
}

TEST_F(Evict, NobodyIsEndedForAWrongName) {
    Daemon ours(directory_, digest_of(1), "pool-1");
    for (const std::string& id : {std::string(), std::string("../pool-1"), std::string("pool-1"),
                                  id_of(ours) + "0", std::string(100000, 'a')})
        EXPECT_TRUE(failed(evict(directory_, id, default_part_mode, log_), ENOENT));
    EXPECT_TRUE(ours.lives());
    EXPECT_EQ(owner_of("pool-1"), digest_of(1));
}

// While another process keeps a record locked, evict() must neither run for ever nor use up the
// processor.
TEST_F(Evict, GivesUpWhileAnotherHasARecordLocked) {
    constexpr std::chrono::milliseconds within(1500);
    Daemon ours(directory_, digest_of(1), "pool-1");
    auto kept = value_of(make_pool_file(directory_, "pool-2"));
    ASSERT_TRUE(succeeded(kept.write(pool_record()))); // the same owner
    const std::clock_t before = std::clock();
    EXPECT_TRUE(failed(evict(directory_, id_of(ours), default_part_mode, log_, within), EBUSY,
                       "try again"));
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 2) << "of the processor";
    EXPECT_EQ(ours.ended_by(), SIGKILL);
    EXPECT_EQ(owner_of("pool-2"), digest_of(1));
}

} // namespace
} // namespace rpmem::target
