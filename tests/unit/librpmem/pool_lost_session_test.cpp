// SPDX-License-Identifier: BSD-3-Clause
// Tests the errors of every call after the session has ended, with a scripted daemon and a real
// lane. The test fails if a failed medium, a timeout or a loss is reported with another errno value
// or without its reason, if a later reason replaces the first one, if a call does not notice a
// loss, or if librpmem(7) lists other errno values of an open pool.
#include "tests/unit/librpmem/scripted_pool.hpp"

#include <future>
#include <set>

namespace rpmem::test {
namespace {

constexpr std::chrono::milliseconds short_time(1000);

wire::MediumFailure failure() {
    return {"/pools/part7", 123456789, 4096, ENOSPC, "msync came\nback"};
}

void expect_medium_failure(const Result<>& result) {
    for (const std::string& words :
         std::vector<std::string>{"/pools/part7", "123456789", "4096 bytes", strerror(ENOSPC),
                                  "msync came\\x0aback", loopback})
        expect_failed(result, EIO, words);
}

TEST(FailedMedium, IsToldToACallThatWaitsAndToAllThatFollow) {
    for (const Call& call : calls_on_a_lane()) {
        if (std::string(call.name) == "rpmem_flush" || std::string(call.name) == "rpmem_drain")
            continue; // these do not wait
        SCOPED_TRACE(call.name);
        ScriptedPool scripted = ScriptedPool::that_waits([](const DaemonEnd& end) {
            end.say(wire::encode(failure()));
            end.wait_for_end(); // the channel stays open
        });
        Pool& pool = scripted.open();
        if (std::string(call.name) == "rpmem_read") {
            ASSERT_TRUE(pool.flush(0, 64, 0, 0)); // the script begins with this frame
        }
        const auto before = Deadline::Clock::now();
        expect_medium_failure(call.make(pool));
        EXPECT_LT(Deadline::Clock::now() - before, script_timeout / 2);
        expect_all_calls_fail(pool, EIO, "/pools/part7");
    }
}

// The message has arrived, and then the daemon has closed its input.
TEST(FailedMedium, IsToldToARequestThatCannotBeSent) {
    ScriptedDaemon daemon([&](const DaemonEnd& end) {
        greet(end, test::scripted_capabilities);
        end.stop_listening();
        end.say(wire::encode(failure()));
        end.wait_for_end();
    });
    const Settings settings = daemon.settings();
    const auto session =
        value_of(Session::start(value_of(parse_target(loopback)), "rpmemd", false, settings));
    EXPECT_EQ(daemon.wait(), "");
    expect_medium_failure(session->set_attributes({}));
}

TEST(FailedMedium, IsToldInThePlaceOfAnAnswer) {
    for (const Call& call : {all_calls().at(5), all_calls().at(6)}) {
        SCOPED_TRACE(call.name);
        ScriptedPool scripted([&](const DaemonEnd& end) {
            end.receive_request();
            end.say(wire::encode(failure()));
        });
        Pool& pool = scripted.open();
        expect_medium_failure(call.make(pool));
        if (std::string(call.name) != "rpmem_close")
            expect_all_calls_fail(pool, EIO, "/pools/part7");
    }
}

// One thread waits for its lane, another one for a response. The message arrives instead of both.
TEST(FailedMedium, IsToldToAllWhoWait) {
    ScriptedPool scripted = ScriptedPool::that_waits([](const DaemonEnd& end) {
        end.receive_request();
        end.say(wire::encode(failure()));
        end.wait_for_end();
    });
    Pool& pool = scripted.open();
    auto asked = std::async(std::launch::async, [&] { return set_attributes(pool); });
    expect_medium_failure(pool.persist(0, 64, 0, 0));
    expect_medium_failure(asked.get());
}

TEST(FailedMedium, IsToldWhenThePoolIsOpened) {
    ScriptedDaemon daemon([&](const DaemonEnd& end) {
        greet(end, test::scripted_capabilities);
        end.receive_request();
        end.say(wire::encode(failure()));
    });
    const ScriptedMemory memory;
    expect_medium_failure(
        Pool::open(memory.arguments(), nullptr, daemon.settings()).map([](const auto&) {}));
}

// A daemon of protocol 0.1 or of an earlier version of this project only sends a text.
TEST(FailedMedium, OlderDaemonsSayOnTheErrorStream) {
    ScriptedPool scripted = ScriptedPool::that_waits(
        [](const DaemonEnd& end) {
            end.complain("rpmemd: lane 0: cannot sync /pools/part7: Input/output error\n");
        },
        test::scripted_capabilities & ~wire::capability_medium_failure);
    Pool& pool = scripted.open();
    expect_failed(pool.persist(0, 64, 0, 0), ECONNRESET, "cannot sync /pools/part7");
    expect_all_calls_fail(pool, ECONNRESET, "cannot sync /pools/part7");
}

TEST(LostSession, TheFirstReasonStays) {
    std::promise<void> over;
    ScriptedPool scripted(
        [&](const DaemonEnd& end) {
            over.get_future().wait();
            end.complain("this comes later\n");
            end.say(wire::encode(failure()));
        },
        no_answer);
    Pool& pool = scripted.open(short_time);
    expect_failed(pool.persist(0, 64, 0, 0), ETIMEDOUT, "RPMEM_OPERATION_TIMEOUT");
    over.set_value();
    EXPECT_EQ(scripted.problem_of_script(), "");
    expect_all_calls_fail(pool, ECONNRESET, "RPMEM_OPERATION_TIMEOUT");
}

// The daemon reads the request and does not respond.
TEST(LostSession, ARequestIsNotWaitedForLongerThanAnOperation) {
    for (const Call& call : {Call{"rpmem_set_attr", set_attributes},
                             Call{"rpmem_close", [](Pool& pool) { return pool.close(); }}}) {
        SCOPED_TRACE(call.name);
        std::promise<void> over;
        ScriptedPool scripted([&](const DaemonEnd& end) {
            end.receive_request();
            over.get_future().wait();
        });
        Pool& pool = scripted.open(short_time);
        const Deadline deadline(script_timeout);
        expect_failed(call.make(pool), ETIMEDOUT, "RPMEM_OPERATION_TIMEOUT");
        EXPECT_FALSE(deadline.passed());
        over.set_value();
        EXPECT_EQ(scripted.problem_of_script(), "");
    }
}

// A call that has nothing to wait for checks for a loss, too.
TEST(LostSession, IsFoundByEachCall) {
    for (Call call : all_calls()) {
        if (std::string(call.name) == "rpmem_flush") // with a range it might wait for room
            call.make = [](Pool& pool) { return pool.flush(0, 0, 0, 0); };
        SCOPED_TRACE(call.name);
        std::promise<void> opened;
        ScriptedPool scripted([&](const DaemonEnd&) { opened.get_future().wait(); }, no_answer);
        Pool& pool = scripted.open();
        opened.set_value();
        EXPECT_EQ(scripted.problem_of_script(), "");
        const bool closes = std::string(call.name) == "rpmem_close";
        Result<> result = call.make(pool);
        // The end of the channel may arrive a moment later.
        const Deadline deadline(script_timeout);
        while (result && !closes && !deadline.passed())
            result = call.make(pool);
        expect_failed(result, ECONNRESET, "ended");
        if (!closes)
            expect_all_calls_fail(pool, ECONNRESET, "ended");
    }
}

Result<> call_with(ScriptedPool::Script script, const std::function<Result<>(Pool&)>& call) {
    ScriptedPool scripted(std::move(script));
    return call(scripted.open(short_time));
}

// The script begins when a persist waits for an answer.
Result<> persist_during(const ScriptedPool::Script& script) {
    ScriptedPool scripted = ScriptedPool::that_waits(script);
    return scripted.open(short_time).persist(0, 64, 0, 0);
}

Result<> refused_with(wire::Status status) {
    return call_with(
        [status](const DaemonEnd& end) {
            end.receive_request();
            end.say(wire::encode(wire::SetAttributesResponse{status}));
            end.wait_for_end();
        },
        set_attributes);
}

// Returns the first word of each row of the table.
std::set<std::string> names_in_manual() {
    std::ifstream page(ERRNO_TABLE);
    std::set<std::string> names;
    bool within = false;
    for (std::string line; std::getline(page, line);) {
        if (line.find("errno values of an open pool") != std::string::npos)
            within = !within;
        const auto end = line.find('\t');
        if (within && line.starts_with("E") && end != std::string::npos)
            names.insert(line.substr(0, end));
    }
    return names;
}

// Compares with the table in librpmem(7), which lists the errno values of calls on an open pool.
TEST(LostSession, EveryErrnoOfTheManualComesAbout) {
    const auto stay = [](const DaemonEnd& end) { end.wait_for_end(); };
    const auto fail_medium = [](const DaemonEnd& end) { end.say(wire::encode(failure())); };
    const auto misuse = [](Pool& pool) { return pool.drain(1, 0); };
    // These depend on this process, and other tests check them.
    std::set<std::string> names{"EPERM", "EPROTO", "ECONNREFUSED", "EFAULT", "EMFILE", "ENOMEM"};
    const auto comes_about = [&](int code, const char* name, const Result<>& result) {
        expect_failed(result, code, "");
        names.insert(name);
    };
    comes_about(EINVAL, "EINVAL", call_with(stay, misuse));
    comes_about(EIO, "EIO", persist_during(fail_medium));
    comes_about(ECONNRESET, "ECONNRESET", persist_during([](const DaemonEnd&) {}));
    comes_about(ETIMEDOUT, "ETIMEDOUT", persist_during(stay));
    comes_about(EACCES, "EACCES", refused_with(wire::Status::no_access));
    comes_about(ESTALE, "ESTALE", refused_with(wire::Status::stale));
    comes_about(EREMOTEIO, "EREMOTEIO", refused_with(wire::Status::fatal));
    EXPECT_EQ(names_in_manual(), names);
}

} // namespace
} // namespace rpmem::test
