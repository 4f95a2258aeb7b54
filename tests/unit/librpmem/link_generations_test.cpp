// SPDX-License-Identifier: BSD-3-Clause
// Tests how a link reconnects a pool. Each session is a scripted daemon with a real lane, so that
// it can send what the real daemon never sends. The test fails if a reconnect does not have the
// next generation, if a temporary error ends the attempts, or if the link retries after a final
// one.
#include "tests/unit/librpmem/scripted_pool.hpp"

namespace rpmem::test {
namespace {

// Successive sessions of one initiator. Call number N of ssh gets script number N.
class ScriptedSessions {
public:
    struct Answers {
        std::uint32_t lanes = 1; // granted
        wire::Status login = wire::Status::success;
        bool medium_failed = false; // sent instead of connecting a lane
        wire::Bytes last{};         // sent before the daemon ends
    };

    explicit ScriptedSessions(const std::vector<Answers>& all) {
        std::ofstream ssh(directory_.path() / "ssh");
        ssh << "#!/bin/sh\ncd " << directory_.path().native() << "\necho >>calls\n"
            << "case $(wc -l <calls) in\n";
        for (std::size_t i = 0; i < all.size(); ++i) {
            sessions_.push_back(std::make_unique<Session>(*this, all[i]));
            ssh << i + 1 << ") exec " << sessions_.back()->daemon.settings().ssh << " \"$@\" ;;\n";
        }
        ssh << "esac\nexit 1\n";
        ssh.close();
        std::filesystem::permissions(directory_.path() / "ssh", std::filesystem::perms::owner_all);
    }
    ~ScriptedSessions() {
        pool_.reset();
        for (std::size_t i = 0; i < sessions_.size(); ++i)
            end(i);
    }
    ScriptedSessions(const ScriptedSessions&) = delete;
    ScriptedSessions& operator=(const ScriptedSessions&) = delete;

    Pool& open(unsigned lanes) {
        Settings settings = sessions_.front()->daemon.settings();
        settings.ssh = directory_.path() / "ssh";
        settings.enable_tcp = true;
        settings.reconnect_timeout = script_timeout;
        PoolArguments arguments = memory_.arguments();
        arguments.lanes = lanes;
        pool_ = value_of(Pool::open(arguments, nullptr, settings));
        return *pool_;
    }
    // Ends session NUMBER.
    void end(std::size_t number) { sessions_[number]->over.raise(); }
    // Returns the generations of all logins.
    [[nodiscard]] std::vector<std::uint64_t> generations() const {
        const std::lock_guard lock(mutex_);
        return generations_;
    }

private:
    struct Session {
        Session(ScriptedSessions& all, const Answers& answers)
            : daemon([this, &all, answers](DaemonEnd& end) { all.serve(*this, end, answers); }) {}

        Event over = value_of(Event::make());
        FrameTarget target{good_answer};
        ScriptedDaemon daemon;
    };

    void serve(Session& session, DaemonEnd& end, const Answers& answers) {
        auto transcript = greet_over_tcp(end, wire::all_capabilities);
        const auto login = std::get<wire::LoginRequest>(DaemonEnd::decoded(end.receive_request()));
        {
            const std::lock_guard lock(mutex_);
            generations_.push_back(login.generation);
        }
        end.say(wire::encode(wire::LoginResponse{answers.login}));
        if (answers.login != wire::Status::success)
            return;
        const wire::Bytes request = end.receive_request();
        auto in_band = in_band_to(session.target.port());
        in_band.lanes = answers.lanes;
        if (answers.medium_failed)
            in_band.port = 1; // no process listens there
        const wire::Bytes response =
            wire::encode(wire::OpenResponse{wire::Status::success, in_band, {}});
        transcript.add(request, response);
        session.target.secure(value_of(transcript.prove_by(answers.lanes, login.generation)));
        end.say(response);
        if (answers.medium_failed)
            end.say(wire::encode(wire::MediumFailure{"/pools/part", 0, 4096, EIO, "msync"}));
        static_cast<void>(wait_readable(session.over.fd(), Deadline(script_timeout)));
        end.say(answers.last);
    }

    const TemporaryDirectory directory_;
    mutable std::mutex mutex_;
    std::vector<std::uint64_t> generations_;
    ScriptedMemory memory_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::unique_ptr<Pool> pool_;
};

// Persists until session NUMBER has logged in. Until the loss is noticed, calls may still succeed
// in the session before.
Result<> persist_in_session(ScriptedSessions& sessions, Pool& pool, std::size_t number) {
    const Deadline deadline(script_timeout);
    Result<> persisted = pool.persist(0, 64, 0, 0);
    while (persisted && sessions.generations().size() <= number && !deadline.passed())
        persisted = pool.persist(0, 64, 0, 0);
    return persisted;
}

TEST(LinkGenerations, EachReconnectHasTheNextOne) {
    ScriptedSessions sessions({{}, {}, {}});
    Pool& pool = sessions.open(1);
    for (std::size_t number = 0; number < 3; ++number) {
        EXPECT_TRUE(succeeded(persist_in_session(sessions, pool, number)));
        sessions.end(number);
    }
    EXPECT_EQ(sessions.generations(), (std::vector<std::uint64_t>{0, 1, 2}));
}

// The application continues to use all lanes of the first session.
TEST(LinkGenerations, FewerLanesThanBeforeAreRefused) {
    ScriptedSessions sessions({{.lanes = 2}, {.lanes = 1}});
    Pool& pool = sessions.open(2);
    EXPECT_TRUE(succeeded(pool.persist(0, 64, 1, 0)));
    sessions.end(0);
    expect_failed(persist_in_session(sessions, pool, 1), ESTALE, "only 1 lanes");
    expect_failed(pool.persist(0, 64, 1, 0), ESTALE, "only 1 lanes");
}

// The target may be booting without its file systems yet, or the daemon of the earlier session may
// not have ended.
TEST(LinkGenerations, WhatMayPassIsTriedAgain) {
    using wire::Status;
    ScriptedSessions sessions({{},
                               {.login = Status::not_found},
                               {.login = Status::busy},
                               {.login = Status::fatal},
                               {.login = Status::provider_not_supported},
                               {}});
    Pool& pool = sessions.open(1);
    EXPECT_TRUE(succeeded(pool.persist(0, 64, 0, 0)));
    sessions.end(0);
    EXPECT_TRUE(succeeded(persist_in_session(sessions, pool, 5)));
    EXPECT_EQ(sessions.generations(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

// Another attempt would be refused, too.
TEST(LinkGenerations, ARefusalAboutIdentityOrRightsIsFinal) {
    using wire::Status;
    for (const auto& [status, code] :
         {std::pair(Status::stale, ESTALE), std::pair(Status::no_access, EACCES)}) {
        ScriptedSessions sessions({{}, {.login = status}});
        Pool& pool = sessions.open(1);
        EXPECT_TRUE(succeeded(pool.persist(0, 64, 0, 0)));
        sessions.end(0);
        expect_failed(persist_in_session(sessions, pool, 1), code, "failed (1 attempts in");
    }
}

// A target that grants more lanes than were requested would do so again.
TEST(LinkGenerations, AViolationOfTheProtocolIsFinal) {
    ScriptedSessions sessions({{}, {.lanes = 2}});
    Pool& pool = sessions.open(1);
    EXPECT_TRUE(succeeded(pool.persist(0, 64, 0, 0)));
    sessions.end(0);
    expect_failed(persist_in_session(sessions, pool, 1), ECONNRESET, "failed (1 attempts in");
}

// The stream cannot be resynchronised, and the next daemon is the same program.
TEST(LinkGenerations, AMalformedMessageIsFinal) {
    wire::Bytes malformed = wire::encode(wire::MediumFailure{"/pools/part", 0, 4096, EIO, "msync"});
    std::fill_n(malformed.begin() + 32, 4, std::byte{0}); // its errno value
    ScriptedSessions sessions({{.last = malformed}, {}});
    Pool& pool = sessions.open(1);
    EXPECT_TRUE(succeeded(pool.persist(0, 64, 0, 0)));
    sessions.end(0);
    expect_failed(persist_in_session(sessions, pool, 1), ECONNRESET, "");
    EXPECT_EQ(sessions.generations().size(), 1U);
}

// The daemon reports the failure while the new session connects its lanes. Another session would
// have the same medium.
TEST(LinkGenerations, AMediumThatFailsDuringAReconnectIsFinal) {
    ScriptedSessions sessions({{}, {.medium_failed = true}, {}});
    Pool& pool = sessions.open(1);
    EXPECT_TRUE(succeeded(pool.persist(0, 64, 0, 0)));
    sessions.end(0);
    expect_failed(persist_in_session(sessions, pool, 1), EIO, "failed (1 attempts in");
    expect_failed(pool.persist(0, 64, 0, 0), EIO, "/pools/part");
    EXPECT_EQ(sessions.generations().size(), 2U);
}

} // namespace
} // namespace rpmem::test
