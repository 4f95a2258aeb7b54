// SPDX-License-Identifier: BSD-3-Clause
// Tests the metrics of a session, and the file in stats-dir that a thread writes for Prometheus.
// The test fails if counters of workers are not added up, if a metric has other labels, if the file
// is missing during the session or stays after it, or if an unusable directory is not logged.
#include "common/base/deadline.hpp"
#include "rpmemd/statistics/session_statistics.hpp"
#include "tests/support/expect.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

TEST(SessionMetrics, AddUpWhatTheWorkersCounted) {
    const auto one = std::make_shared<WorkerCounters>();
    const auto other = std::make_shared<WorkerCounters>();
    one->count(RequestKind::write, 100);
    one->count(RequestKind::write, 20);
    other->count(RequestKind::write, 3);
    other->count(RequestKind::drain, 0);
    one->of(MediumCall::persist).count(120, statistics::ticks());
    other->of(MediumCall::deep_persist).count(3, statistics::ticks());
    one->lanes.set(2);
    other->lanes.set(1);
    one->failures.add(2);
    other->failures.add(1);
    const std::vector<std::shared_ptr<const WorkerCounters>> workers{one, other};
    const std::string text = metrics_of(
        {.pool_set = "a.set", .initiator = "host", .pool_size = 4096, .began = 5, .process = 7},
        workers, 1);
    const auto says = [&](const std::string& name, const std::string& more,
                          const std::string& value) {
        return test::contains("\n" + text, "\n" + name +
                                               R"({pool_set="a.set",initiator="host",pid="7")" +
                                               more + "} " + value + "\n");
    };
    EXPECT_TRUE(says("rpmemd_session_requests_total", R"(,request="write")", "3"));
    EXPECT_TRUE(says("rpmemd_session_request_bytes_total", R"(,request="write")", "123"));
    EXPECT_TRUE(says("rpmemd_session_requests_total", R"(,request="drain")", "1"));
    EXPECT_TRUE(says("rpmemd_session_requests_total", R"(,request="read")", "0"));
    EXPECT_TRUE(says("rpmemd_session_durable_bytes_total", R"(,call="persist")", "120"));
    EXPECT_TRUE(says("rpmemd_session_durable_bytes_total", R"(,call="deep_persist")", "3"));
    EXPECT_TRUE(
        says("rpmemd_session_durable_duration_seconds_count", R"(,call="deep_persist")", "1"));
    EXPECT_TRUE(says("rpmemd_session_lanes", "", "3"));
    EXPECT_TRUE(says("rpmemd_session_failures_total", "", "3"));
    EXPECT_TRUE(says("rpmemd_session_pool_size_bytes", "", "4096"));
    EXPECT_TRUE(says("rpmemd_session_start_time_seconds", "", "5"));
}

TEST(SessionMetrics, HaveNoLabelForAnInitiatorThatIsNotKnown) {
    const std::string text = metrics_of({.pool_set = "a.set", .initiator = {}}, {}, 1);
    EXPECT_TRUE(test::contains(text, R"(rpmemd_session_lanes{pool_set="a.set",pid="0"} 0)"));
}

class StatisticsOfSession : public ::testing::Test {
protected:
    StatisticsOfSession() { EXPECT_NE(::mkdtemp(directory_.data()), nullptr); }
    ~StatisticsOfSession() override { fs::remove_all(directory_); }

    [[nodiscard]] Log log() const {
        return test::value_of(Log::to_file(directory_ + "/log", LogLevel::warning));
    }
    [[nodiscard]] std::string logged() const { return test::read_file(directory_ + "/log"); }

    std::string directory_ = fs::temp_directory_path() / "rpmem-session-XXXXXX";
};

TEST_F(StatisticsOfSession, AreThereAtOnceAndGoWithIt) {
    const fs::path file =
        directory_ + "/" + statistics::stem_of_process("rpmemd", ::getpid()) + ".prom";
    {
        SessionStatistics statistics(directory_, log());
        EXPECT_FALSE(fs::exists(file));
        statistics.start({.pool_set = "a.set", .initiator = {}},
                         {std::make_shared<WorkerCounters>()});
        // The thread does not signal that it has written the file.
        const Deadline deadline(std::chrono::seconds(20));
        while (!fs::exists(file) && !deadline.passed())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT_TRUE(test::contains(test::read_file(file), "pool_set=\"a.set\""));
    }
    EXPECT_FALSE(fs::exists(file));
    EXPECT_EQ(logged(), "");
}

TEST_F(StatisticsOfSession, ThatAreNotWantedSayNothing) {
    SessionStatistics statistics({}, log());
    EXPECT_EQ(statistics.prepare_confinement(), -1);
    statistics.start({}, {});
    EXPECT_EQ(logged(), "");
}

TEST_F(StatisticsOfSession, WithoutADirectoryAreOneWarning) {
    SessionStatistics statistics(directory_ + "/nowhere", log());
    statistics.start({}, {});
    EXPECT_EQ(statistics.prepare_confinement(), -1);
    EXPECT_TRUE(test::contains(logged(), "stats-dir: cannot open the directory " + directory_ +
                                             "/nowhere: "));
}

} // namespace
} // namespace rpmem::target
