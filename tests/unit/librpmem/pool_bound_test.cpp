// SPDX-License-Identifier: BSD-3-Clause
// Tests promise 5 of docs/reliability.md with a target whose sessions succeed and are lost
// repeatedly, or that sends only heartbeats or parts of an ack. Each session has a scripted daemon
// and a real lane. The test fails if a call takes longer than its timeout, if a repeated ack counts
// as progress, if a real one does not, or if rpmem_close() reports a wrong loss.
#include "tests/unit/librpmem/scripted_pool.hpp"

#include <regex>

namespace rpmem::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds reconnect_timeout(1500);
constexpr milliseconds one_try(3000); // the minimum time of an attempt to reconnect
constexpr milliseconds busy(4000);    // slack, because other tests run at the same time
constexpr milliseconds operation_timeout(1000);
constexpr std::size_t large_pool_size = std::size_t{8} * 1024 * 1024; // many frames

// How a session behaves after its pool is open.
struct Life {
    LaneAnswer answer = no_answer;
    unsigned frames = 1; // the daemon ends after so many
    bool floods = false; // after a request it sends heartbeats all the time
};

// A target. Each session opens the pool, has one lane, and ends.
class DyingTarget {
public:
    // LIVES has the first sessions. Its last one applies to all further sessions, too.
    explicit DyingTarget(std::vector<Life> lives)
        : lives_(std::move(lives)), daemon_([this](DaemonEnd& end, unsigned number) {
              serve(end, lives_[std::min<std::size_t>(number, lives_.size() - 1)], number);
          }) {}

    // TIME is RPMEM_RECONNECT_TIMEOUT.
    Pool& open(milliseconds time = reconnect_timeout, OnLoss on_loss = OnLoss::fail,
               milliseconds one_operation = operation_timeout) {
        Settings settings = daemon_.settings();
        settings.reconnect_timeout = time;
        settings.on_loss = on_loss;
        settings.operation_timeout = one_operation;
        settings.reconnect_delay = milliseconds(20);
        settings.peer_timeout = milliseconds(4000);
        pool_ = value_of(Pool::open(memory_.arguments(), nullptr, settings));
        return *pool_;
    }
    [[nodiscard]] unsigned sessions() const { return daemon_.sessions(); }
    // Returns the number of sessions, including those that have not ended.
    [[nodiscard]] unsigned started_sessions() const { return started_; }
    // Ends this session and the later ones, even before Life::frames.
    void end_session() { has_ended_ = true; }
    // From now on a session takes so long to open the pool.
    void slow_down(milliseconds time) { opening_ = time; }

private:
    void serve(DaemonEnd& end, const Life& life, unsigned number) {
        started_ = number + 1;
        auto transcript = greet_over_tcp(end, wire::all_capabilities);
        const auto login = std::get<wire::LoginRequest>(DaemonEnd::decoded(end.receive_request()));
        end.say(wire::encode(wire::LoginResponse{wire::Status::success}));
        FrameTarget target(life.answer);
        const wire::Bytes request = end.receive_request();
        std::this_thread::sleep_for(opening_.load()); // a slow medium, which no event ends
        const wire::Bytes response =
            wire::encode(wire::OpenResponse{wire::Status::success, in_band_to(target.port()), {}});
        transcript.add(request, response);
        target.secure(value_of(transcript.prove_by(1, login.generation)));
        end.say(response);
        const Deadline deadline(std::chrono::seconds(30));
        if (life.floods) {
            end.receive_request();
            while (!deadline.passed())
                end.say(wire::encode_target_heartbeat()); // throws after the channel was closed
        }
        while (target.messages() < life.frames && !has_ended_ && !deadline.passed() &&
               !end.is_abandoned())
            std::this_thread::sleep_for(milliseconds(1));
    }

    std::vector<Life> lives_;
    std::atomic<unsigned> started_ = 0;
    std::atomic<bool> has_ended_ = false;
    std::atomic<milliseconds> opening_{};
    ScriptedMemory memory_{.size = large_pool_size};
    RepeatedDaemon daemon_;
    std::unique_ptr<Pool> pool_;
};

Result<> timed(const std::function<Result<>()>& call, milliseconds most) {
    const Deadline deadline(most);
    Result<> result = call();
    EXPECT_FALSE(deadline.passed()) << "took longer than " << most.count() << " ms";
    return result;
}

// The error states the number of attempts since the time limit of the call began. If the limit was
// restarted, the earlier attempts are missing. The first session is not an attempt.
void expect_all_sessions_counted(const DyingTarget& target, const Result<>& result) {
    expect_failed(result, ECONNRESET, "led to a session");
    ASSERT_FALSE(result);
    std::smatch attempts;
    ASSERT_TRUE(std::regex_search(result.error().text, attempts, std::regex("([0-9]+) attempts")));
    EXPECT_GE(std::stoul(attempts[1]), target.started_sessions() - 1) << result.error().text;
}

// In each new session the call sends its own range again, and flushed ranges are replayed.
TEST(DyingTarget, EachCallGivesUpInThePromisedTime) {
    static std::vector<std::byte> place(64);
    const std::vector<Call> calls = {
        {"rpmem_persist", [](Pool& pool) { return pool.persist(0, 64, 0, 0); }},
        {"rpmem_deep_persist", [](Pool& pool) { return pool.deep_persist(0, 64, 0); }},
        {"rpmem_read", [](Pool& pool) { return pool.read(place.data(), 0, 64, 0); }},
        {"rpmem_drain",
         [](Pool& pool) {
             const auto flushed = pool.flush(0, 64, 0, 0);
             return flushed ? pool.drain(0, 0) : flushed;
         }},
        {"rpmem_persist", [](Pool& pool) {
             const auto flushed = pool.flush(4096, 64, 0, 0);
             return flushed ? pool.persist(0, 64, 0, 0) : flushed;
         }}};
    for (const Call& call : calls) {
        SCOPED_TRACE(call.name);
        DyingTarget target({Life{}});
        Pool& pool = target.open();
        const auto result =
            timed([&] { return call.make(pool); }, reconnect_timeout + one_try + busy);
        expect_failed(result, ECONNRESET, "led to a session that was lost before it had");
        EXPECT_GT(target.sessions(), 1U);
        // A session without progress does not reset the pauses, which are 20, 40, 80 ms and so on.
        EXPECT_LT(target.sessions(), 30U);
        // Later calls fail, too, without further attempts.
        const unsigned sessions = target.sessions();
        expect_all_calls_fail(pool, ECONNRESET, "led to a session");
        EXPECT_LE(target.sessions(), sessions + 1);
    }
}

TEST(DyingTarget, CloseGivesUpInItsOwnTime) {
    DyingTarget target({Life{}});
    Pool& pool = target.open();
    ASSERT_TRUE(pool.flush(0, 64, 0, 0));
    const auto closed = timed([&] { return pool.close(); }, reconnect_timeout + one_try + busy);
    expect_failed(closed, ECONNRESET, "may be missing from the replica");
}

// RPMEM_ON_LOSS=wait: the sessions before the last one take far longer than
// RPMEM_RECONNECT_TIMEOUT, also if that is 0.
TEST(DyingTarget, IsWaitedForWithoutLimit) {
    for (const milliseconds time : {milliseconds(0), milliseconds(100)}) {
        SCOPED_TRACE(time.count());
        std::vector<Life> lives(7);
        lives.push_back({good_answer, 1000});
        DyingTarget target(std::move(lives));
        Pool& pool = target.open(time, OnLoss::wait);
        EXPECT_TRUE(succeeded(pool.persist(0, 64, 0, 0)));
        EXPECT_EQ(target.started_sessions(), 8U);
        target.end_session();
    }
}

// The first session opened the pool at once. Each later one needs longer than the first try may
// take, which depends on how long the first session took.
TEST(DyingTarget, ATargetThatOpensSlowlyIsWaitedFor) {
    // A session that ended right after its ack could be lost before the ack is read.
    DyingTarget target({Life{}, Life{.answer = good_answer, .frames = 1000}});
    const auto began = std::chrono::steady_clock::now();
    Pool& pool = target.open(milliseconds(0), OnLoss::wait, 10 * one_try);
    const auto took = std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - began);
    const milliseconds first_try = std::max(one_try, 2 * took);
    target.slow_down(first_try * 3 / 2);
    EXPECT_TRUE(succeeded(timed([&] { return pool.persist(0, 64, 0, 0); }, 10 * first_try)));
    EXPECT_GT(target.started_sessions(), 2U) << "no try was too short";
    target.end_session();
}

TEST(DyingTarget, CloseDoesNotWaitWithoutLimit) {
    DyingTarget target({Life{}});
    Pool& pool = target.open(reconnect_timeout, OnLoss::wait);
    ASSERT_TRUE(pool.flush(0, 64, 0, 0));
    constexpr milliseconds close_time(4000);
    const auto closed = timed([&] { return pool.close(); }, close_time + one_try + busy);
    expect_failed(closed, ECONNRESET, "the limit of rpmem_close()");
}

// The session is lost after everything was acknowledged, and the error must not state otherwise.
TEST(DyingTarget, CloseSaysThatNothingIsMissing) {
    DyingTarget target({Life{good_answer, 1000}, Life{no_answer, 0}});
    Pool& pool = target.open();
    ASSERT_TRUE(pool.persist(0, 64, 0, 0));
    target.end_session();
    const auto closed = timed([&] { return pool.close(); }, reconnect_timeout + one_try + busy);
    expect_failed(closed, ECONNRESET, "every write was acknowledged");
}

// Each session acknowledges the first frame of the call, and the next session gets it again. That
// must not restart the time limit.
TEST(DyingTarget, TheSameRangeAcknowledgedAgainIsNoProgress) {
    static std::vector<std::byte> place(large_pool_size);
    const std::vector<Call> calls = {
        {"persist", [](Pool& pool) { return pool.persist(0, large_pool_size, 0, 0); }},
        {"persist_at_once",
         [](Pool& pool) {
             EXPECT_FALSE(pool.persist_at_once(0, large_pool_size, 0, 0));
             return pool.persist(0, large_pool_size, 0, 0);
         }},
        {"deep_persist", [](Pool& pool) { return pool.deep_persist(0, 64, 0); }},
        {"read", [](Pool& pool) { return pool.read(place.data(), 0, large_pool_size, 0); }}};
    for (const Call& call : calls) {
        SCOPED_TRACE(call.name);
        DyingTarget target({Life{.answer = {.limit = 1}, .frames = 2}});
        Pool& pool = target.open();
        const auto result =
            timed([&] { return call.make(pool); }, reconnect_timeout + one_try + busy);
        expect_all_sessions_counted(target, result);
    }
}

// The second range contains the first one, which is dropped when the replay fails. Nothing was
// acknowledged, so the time limit must not be restarted.
TEST(DyingTarget, ARangeThatAnotherOneContainsIsNoProgress) {
    DyingTarget target({Life{}});
    Pool& pool = target.open();
    ASSERT_TRUE(pool.flush(0, 64, 0, 0));
    ASSERT_TRUE(pool.flush(0, 128, 0, 0));
    const auto result = timed([&] { return pool.drain(0, 0); }, reconnect_timeout + one_try + busy);
    expect_all_sessions_counted(target, result);
}

// An acknowledged range is not replayed again, so a lane with many ranges needs several sessions,
// but completes.
TEST(DyingTarget, ReplayedRangesAreProgress) {
    constexpr unsigned ranges = 12;
    DyingTarget target({Life{no_answer, 1}, Life{good_answer, 4}, Life{good_answer, 1000}});
    Pool& pool = target.open();
    for (unsigned i = 0; i < ranges; ++i)
        ASSERT_TRUE(pool.flush(4096 + i * std::size_t{128}, 64, 0, 0));
    EXPECT_TRUE(
        succeeded(timed([&] { return pool.drain(0, 0); }, reconnect_timeout + one_try + busy)));
}

// The daemon is alive, but does not answer. Its heartbeats must not extend the timeout.
TEST(DyingTarget, AFloodOfHeartbeatsIsNoAnswer) {
    for (const Call& call : {Call{"rpmem_set_attr", set_attributes},
                             Call{"rpmem_close", [](Pool& pool) { return pool.close(); }}}) {
        SCOPED_TRACE(call.name);
        DyingTarget target({Life{.floods = true}});
        Pool& pool = target.open(milliseconds(0));
        const auto result = timed([&] { return call.make(pool); }, operation_timeout + busy);
        expect_failed(result, ETIMEDOUT, "RPMEM_OPERATION_TIMEOUT");
    }
}

// The whole ack would take far longer than the timeout of an operation.
TEST(DyingTarget, AnAckByteByByteIsNoProgress) {
    DyingTarget target({Life{.answer = {.pause = operation_timeout / 8}}});
    Pool& pool = target.open(milliseconds(0));
    const auto result = timed([&] { return pool.persist(0, 64, 0, 0); }, operation_timeout + busy);
    expect_failed(result, ETIMEDOUT, "RPMEM_OPERATION_TIMEOUT");
}

} // namespace
} // namespace rpmem::test
