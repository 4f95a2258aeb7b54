// SPDX-License-Identifier: BSD-3-Clause
// A pool of the library on a scripted daemon (see tests/support/scripted_daemon.hpp) with one real
// lane, and every call of the API on it.
#pragma once

#include "common/wire/unsolicited.hpp"
#include "librpmem/pool.hpp"
#include "tests/support/frame_target.hpp"
#include "tests/support/scripted_daemon.hpp"

namespace rpmem::test {

using namespace initiator;

inline constexpr std::size_t scripted_pool_size = std::size_t{64} * 1024;

struct FreedMemory {
    void operator()(std::byte* memory) const { std::free(memory); }
};

// The memory of the application, and the arguments to open the pool with it.
struct ScriptedMemory {
    std::size_t size = scripted_pool_size;
    std::unique_ptr<std::byte, FreedMemory> bytes{
        static_cast<std::byte*>(std::aligned_alloc(4096, size))};
    [[nodiscard]] PoolArguments arguments() const {
        return {loopback, "pool.set", bytes.get(), size, 1, "rpmemd"};
    }
};

inline wire::InBandAttributes in_band_to(std::uint32_t port) {
    return {port, wire::PersistMethod::general_purpose, 0, 0, 1};
}

// Waits for a frame. Then the lane is connected, and a call may wait for the answer.
inline void await_message(const FrameTarget& lane) {
    const Deadline deadline(script_timeout);
    while (lane.messages() == 0 && !deadline.passed())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A pool whose daemon runs a script after it was opened, and whose lane sends given answers.
class ScriptedPool {
public:
    using Script = std::function<void(DaemonEnd&)>;

    enum class Begins { at_once, when_a_call_waits };
    explicit ScriptedPool(Script then, LaneAnswer lane_answer = good_answer,
                          std::uint64_t capabilities = test::scripted_capabilities,
                          Begins begins = Begins::at_once)
        : target_(std::move(lane_answer)),
          daemon_([this, capabilities, begins, then = std::move(then)](DaemonEnd& end) {
              auto transcript = greet_over_tcp(end, capabilities);
              const wire::Bytes request = end.receive_request();
              const wire::Bytes response = wire::encode(
                  wire::OpenResponse{wire::Status::success, in_band_to(target_.port()), {}});
              transcript.add(request, response);
              target_.secure(value_of(transcript.prove_by(1)));
              end.say(response);
              if (begins == Begins::when_a_call_waits)
                  await_message(target_);
              then(end);
          }) {}
    // The lane answers nothing. The script begins when a call waits.
    static ScriptedPool that_waits(Script then,
                                   std::uint64_t capabilities = test::scripted_capabilities) {
        return ScriptedPool(std::move(then), no_answer, capabilities, Begins::when_a_call_waits);
    }

    // TIME is the operation timeout.
    Pool& open(std::chrono::milliseconds time = script_timeout) {
        Settings settings = daemon_.settings();
        settings.operation_timeout = time;
        settings.enable_tcp = true;
        pool_ = value_of(Pool::open(memory_.arguments(), nullptr, settings));
        return *pool_;
    }

    std::string problem_of_script() { return daemon_.wait(); }

private:
    ScriptedMemory memory_;
    FrameTarget target_;
    ScriptedDaemon daemon_;
    std::unique_ptr<Pool> pool_;
};

// A call of the API on lane 0 of a pool.
struct Call {
    const char* name;
    std::function<Result<>(Pool&)> make;
};

inline std::vector<Call> calls_on_a_lane() {
    static std::vector<std::byte> place(64);
    return {{"rpmem_persist", [](Pool& pool) { return pool.persist(0, 64, 0, 0); }},
            {"rpmem_deep_persist", [](Pool& pool) { return pool.deep_persist(0, 64, 0); }},
            {"rpmem_read", [](Pool& pool) { return pool.read(place.data(), 0, 64, 0); }},
            {"rpmem_flush", [](Pool& pool) { return pool.flush(0, 64, 0, 0); }},
            {"rpmem_drain", [](Pool& pool) { return pool.drain(0, 0); }}};
}

inline Result<> set_attributes(Pool& pool) { return pool.set_attributes({}); }

// Every call on a pool, close last.
inline std::vector<Call> all_calls() {
    std::vector<Call> calls = calls_on_a_lane();
    calls.push_back({"rpmem_set_attr", set_attributes});
    calls.push_back({"rpmem_close", [](Pool& pool) { return pool.close(); }});
    return calls;
}

inline void expect_failed(const Result<>& result, int code, const std::string& words) {
    ASSERT_TRUE(failed(result, code, words));
}

// Expects that every call on a lost pool fails with this error, which begins with its name.
inline void expect_all_calls_fail(Pool& pool, int code, const std::string& words) {
    for (const Call& call : all_calls()) {
        SCOPED_TRACE(call.name);
        const Result<> result = call.make(pool);
        expect_failed(result, code, words);
        if (!result) {
            EXPECT_EQ(result.error().text.rfind(std::string(call.name) + ": ", 0), 0U)
                << result.error().text;
        }
    }
}

} // namespace rpmem::test
