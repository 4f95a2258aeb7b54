// SPDX-License-Identifier: BSD-3-Clause
// Tests lanes of protocol 0.1 over libfabric. A recording target keeps every message and every
// change of its memory. The test fails if ranges arrive out of the order of the calls, if a byte is
// not made durable, if a word is cut, if an older write replaces a newer one, or if an invalid
// answer is accepted.
#include "librpmem/lanes/fabric_lanes.hpp"
#include "tests/support/recorded_lane.hpp"

namespace rpmem::initiator {
namespace {

using test::Record;
using test::Recorded;
using test::RecordedLane;
using wire::PersistMode;

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t word_size = 8;

struct Method {
    const char* name;
    bool writes_are_durable;
};

const Method general{"general purpose", false};
const Method appliances{"appliance", true};

enum class What { flush, relaxed_flush, persist, relaxed_persist, deep_persist, read };

struct Call {
    What what;
    std::size_t offset;
    std::size_t length;
};

struct Sequence {
    const char* name;
    std::vector<Call> calls; // with disjoint ranges
};

// Ranges that may be cut have odd offsets.
const std::vector<Sequence> sequences{
    {"small flush, persist", {{What::flush, 64, 64}, {What::persist, 8192, 64}}},
    {"small flush, relaxed persist", {{What::flush, 64, 64}, {What::relaxed_persist, 8192, 64}}},
    {"relaxed flush, persist", {{What::relaxed_flush, 64, 64}, {What::persist, 8192, 64}}},
    {"small flush, long flush", {{What::flush, 64, 64}, {What::flush, 8195, 100'001}}},
    {"small flush, long relaxed flush",
     {{What::flush, 64, 64}, {What::relaxed_flush, 8195, 100'001}}},
    {"long relaxed flush, small flush, relaxed persist",
     {{What::relaxed_flush, 8195, 100'001},
      {What::flush, 64, 64},
      {What::relaxed_persist, 200'003, 50'001}}},
    {"small flushes, persist",
     {{What::flush, 64, 64},
      {What::flush, 256, 100},
      {What::relaxed_flush, 1024, 8},
      {What::flush, 2051, 4000},
      {What::persist, 16384, 8}}},
    {"small flush, deep_persist", {{What::flush, 64, 64}, {What::deep_persist, 8192, 4096}}},
    {"long relaxed flush, deep_persist",
     {{What::relaxed_flush, 8195, 1'100'001}, {What::deep_persist, 4096, 64}}},
    {"small flush, long deep_persist",
     {{What::flush, 64, 64}, {What::deep_persist, 8195, 100'001}}},
    {"flushes, read",
     {{What::flush, 64, 64}, {What::relaxed_flush, 8192, 20'000}, {What::read, 0, 40'000}}},
    {"more than may be under way, persist",
     {{What::flush, 1, 300'001}, {What::flush, 400'000, 64}, {What::persist, 400'064, 64}}},
};

class Performance {
public:
    Performance(const Method& method, const Sequence& sequence, bool slow_target,
                std::size_t max_strict)
        : recorded_(method.writes_are_durable, pool_size_of(sequence), slow_target,
                    test::fabric_timeout, max_strict),
          method_(method), calls_(sequence.calls) {
        // The memory of the target contains zeros, so the arrival of each byte can be seen.
        std::ranges::fill(recorded_.pool(), std::byte{1});
    }

    void run() {
        for (const Call& call : calls_) {
            ASSERT_EQ(perform(call), 0);
            if (call.what == What::read)
                continue;
            made_.push_back(call);
        }
        ASSERT_EQ(recorded_.lane().drain(), 0);
        ASSERT_TRUE(recorded_.target().wait_until([this](const Record& record) {
            return std::ranges::all_of(
                made_, [&](const Call& call) { return bytes_of(record, call) == call.length; });
        })) << recorded_.target().problem();
        record_ = recorded_.target().record();
        expect_order();
        expect_durable();
        expect_whole_words();
    }

private:
    static std::size_t pool_size_of(const Sequence& sequence) {
        std::size_t end = 0;
        for (const Call& call : sequence.calls)
            end = std::max(end, call.offset + call.length);
        return end;
    }
    static bool carries_data(const Recorded& entry) {
        return !entry.mode || entry.mode == PersistMode::inline_data;
    }
    static bool touches(const Recorded& entry, const Call& call) {
        return entry.offset < call.offset + call.length && call.offset < entry.end();
    }
    static std::size_t bytes_of(const Record& record, const Call& call) {
        std::size_t count = 0;
        for (const Recorded& entry : record)
            if (carries_data(entry) && touches(entry, call))
                count += std::min(entry.end(), call.offset + call.length) -
                         std::max(entry.offset, call.offset);
        return count;
    }

    int perform(const Call& call) {
        FrameLane& lane = recorded_.lane();
        const auto [what, offset, length] = call;
        switch (what) {
        case What::flush:
        case What::relaxed_flush:
            return lane.flush(offset, length, what == What::relaxed_flush);
        case What::persist:
        case What::relaxed_persist:
            return lane.persist(offset, length, what == What::relaxed_persist);
        case What::deep_persist:
            return lane.deep_persist(offset, length);
        case What::read:
            return read(offset, length);
        }
        return EINVAL;
    }

    int read(std::size_t offset, std::size_t length) {
        std::vector<std::byte> bytes(offset + length);
        const int code = recorded_.lane().read(bytes.data() + offset, offset, length);
        for (const Call& call : made_)
            EXPECT_EQ(std::memcmp(bytes.data() + call.offset, recorded_.pool().data() + call.offset,
                                  call.length),
                      0)
                << "what was flushed at " << call.offset << " is not read";
        return code;
    }

    // Expects that all bytes of a call arrived before any byte of the next call.
    void expect_order() const {
        for (std::size_t i = 0; i + 1 < made_.size(); ++i) {
            std::size_t last = 0;
            std::size_t first = record_.size();
            bool in_messages = false;
            for (std::size_t at = 0; at < record_.size(); ++at) {
                const Recorded& entry = record_[at];
                const bool is_of_this = touches(entry, made_[i]);
                const bool is_of_next = touches(entry, made_[i + 1]);
                if (!carries_data(entry) || (!is_of_this && !is_of_next))
                    continue;
                in_messages |= entry.mode.has_value();
                if (is_of_this)
                    last = at;
                if (is_of_next)
                    first = std::min(first, at);
            }
            // The target cannot tell the order of direct writes that it finds at the same time.
            if (in_messages) {
                EXPECT_LT(last, first) << "the range at " << made_[i + 1].offset
                                       << " came before the one at " << made_[i].offset;
            }
        }
    }

    // Expects that the target was asked to make every byte durable after its arrival.
    void expect_durable() const {
        std::string there(recorded_.target().pool().size(), no);
        std::string durable = there;
        std::size_t deep = 0;
        for (const Recorded& entry : record_) {
            if (carries_data(entry))
                there.replace(entry.offset, entry.length, entry.length, yes);
            if (entry.mode || method_.writes_are_durable)
                durable.replace(entry.offset, entry.length, there, entry.offset, entry.length);
            if (entry.mode == PersistMode::deep_persist)
                expect_deep(entry, durable, deep++);
        }
        for (const Call& call : made_)
            EXPECT_TRUE(is_whole(durable, call))
                << "not all of the range at " << call.offset << " was made durable";
        EXPECT_EQ(deep, static_cast<std::size_t>(
                            std::ranges::count(made_, What::deep_persist, &Call::what)));
    }

    // Expects that deep_persist number NUMBER has its range, and that all ranges up to it are
    // durable.
    void expect_deep(const Recorded& entry, const std::string& durable, std::size_t number) const {
        for (const Call& call : made_) {
            EXPECT_TRUE(is_whole(durable, call))
                << "deep_persist overtook the range at " << call.offset;
            if (call.what == What::deep_persist && number-- == 0) {
                EXPECT_EQ(entry.offset, call.offset);
                EXPECT_EQ(entry.length, call.length);
                return;
            }
        }
    }

    // Expects that a message begins and ends where its range does, or between words.
    void expect_whole_words() const {
        for (const Recorded& entry : record_) {
            if (entry.mode != PersistMode::inline_data)
                continue;
            EXPECT_LE(entry.length, wire::inline_size_of_0_1);
            EXPECT_TRUE(entry.offset % word_size == 0 ||
                        std::ranges::count(made_, entry.offset, &Call::offset) == 1)
                << "a message begins at " << entry.offset;
            EXPECT_TRUE(entry.end() % word_size == 0 ||
                        std::ranges::any_of(made_,
                                            [&](const Call& call) {
                                                return call.offset + call.length == entry.end();
                                            }))
                << "a message ends at " << entry.end();
        }
    }

    // The states of a byte of the pool.
    static constexpr char no = 0;
    static constexpr char yes = 1;
    static bool is_whole(const std::string& bytes, const Call& call) {
        return std::string_view(bytes).substr(call.offset, call.length).find(no) ==
               std::string_view::npos;
    }

    RecordedLane recorded_;
    const Method& method_;
    const std::vector<Call>& calls_;
    std::vector<Call> made_; // the calls that send a range
    Record record_;
};

TEST(LaneOrder, IsThatOfTheCalls) {
    for (const Method* method : {&general, &appliances})
        for (const Sequence& sequence : sequences) {
            SCOPED_TRACE(std::string(method->name) + ": " + sequence.name);
            for (const bool slow_target : {false, true})
                Performance(*method, sequence, slow_target, DirectRanges{}.strict).run();
            // Over sockets a message holds no more, so longer strict ranges are written directly.
            Performance(*method, sequence, true, wire::inline_size_of_0_1).run();
        }
}

// The target copies the data of messages late.
TEST(LaneOrder, ANewerWriteIsNotOverwritten) {
    for (const bool appliance : {false, true}) {
        SCOPED_TRACE(appliance);
        RecordedLane recorded(appliance, 64 * kibibyte, true);
        auto& pool = recorded.pool();
        for (const std::byte value : {std::byte{1}, std::byte{2}}) {
            std::ranges::fill(pool, value);
            const bool relaxed = value == std::byte{2}; // written directly
            ASSERT_EQ(recorded.lane().flush(8192, 5000, relaxed), 0);
        }
        ASSERT_EQ(recorded.lane().drain(), 0);
        EXPECT_EQ(std::memcmp(recorded.target().pool().data() + 8192, pool.data() + 8192, 5000), 0);
    }
}

// Without an answer, only one message is sent.
TEST(LaneOrder, OneMessageIsUnderWay) {
    RecordedLane recorded(false, 64 * kibibyte, false, std::chrono::milliseconds(200));
    recorded.target().withhold_answers(true);
    ASSERT_EQ(recorded.lane().flush(0, 64, false), 0);
    EXPECT_EQ(recorded.lane().flush(64, 64, false), ETIMEDOUT);
    EXPECT_TRUE(
        recorded.target().wait_until([&](const Record& record) { return record.size() == 1; }));
}

Settings settings() {
    Settings settings = read_settings([](const char*) -> const char* { return nullptr; });
    settings.operation_timeout = test::fabric_timeout;
    settings.connect_timeout = test::fabric_timeout;
    return settings;
}

// Returns the result of a persist of 64 bytes, to which a bare libfabric peer sends ANSWER.
int persist_answered_by(std::vector<std::byte> answer) {
    std::vector<std::byte> pool(4096);
    const test::RecordingTarget target({.pool_size = pool.size(), .response = std::move(answer)});
    const Event lost = test::value_of(Event::make());
    const auto lanes = test::value_of(FabricLanes::open(
        {.kind = fabric::ProviderKind::sockets,
         .host = test::loopback,
         .port = target.port(),
         .pool = pool.data(),
         .pool_size = pool.size(),
         .remote = fabric::RemoteAddress{target.remote_address(), target.remote_key()},
         .method = wire::PersistMethod::general_purpose,
         .lanes = 1,
         .interrupt = {lost.fd(), [] { return true; }}},
        settings(), test::fabric_timeout));
    return lanes->lane(0)->persist(0, 64, false);
}

std::vector<std::byte> bytes_of(const wire::PersistResponse& answer,
                                std::size_t size = sizeof(wire::PersistResponse)) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &answer, std::min(size, sizeof(answer)));
    return bytes;
}

TEST(HostileAnswer, AGoodOneIsTaken) {
    // The daemon of 1.12.1 returns the flags of the request.
    for (const std::uint32_t flags : {0U, 2U, 77U})
        EXPECT_EQ(persist_answered_by(bytes_of({flags, 0})), 0);
}

TEST(HostileAnswer, IsForAnotherLaneOrHasAnotherSize) {
    for (const std::uint32_t lane : {1U, 0xffffffffU})
        EXPECT_EQ(persist_answered_by(bytes_of({1, lane})), EBADMSG) << lane;
    for (const std::size_t size : {1U, 4U, 7U})
        EXPECT_EQ(persist_answered_by(bytes_of({1, 0}, size)), EBADMSG) << size;
    // The provider refuses what does not fit into the buffer.
    for (const std::size_t size : {9U, 64U})
        EXPECT_NE(persist_answered_by(bytes_of({1, 0}, size)), 0) << size;
}

} // namespace
} // namespace rpmem::initiator
