// SPDX-License-Identifier: BSD-3-Clause
// Tests the library with a scripted daemon that sends malformed, incomplete and unexpected messages
// on the control channel and on a lane. The test fails if a call hangs or succeeds, if its error
// has another errno value or does not name the cause, or if a refused request ends the session.
#include "tests/unit/librpmem/scripted_pool.hpp"

namespace rpmem::test {
namespace {

using wire::InBandAttributes;
using wire::MessageType;
using wire::PersistMethod;
using wire::Status;

std::string as_text(const wire::Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns MESSAGE with VALUE as the big-endian number of SIZE bytes at OFFSET.
std::string with_field(const wire::Bytes& message, std::size_t offset, std::size_t size,
                       std::uint64_t value) {
    std::string changed = as_text(message);
    for (std::size_t index = size; index > 0; --index, value >>= 8)
        changed.at(offset + index - 1) = static_cast<char>(value & 0xff);
    return changed;
}

Result<> opened(const ScriptedDaemon& daemon) {
    const ScriptedMemory memory;
    return Pool::open(memory.arguments(), nullptr, daemon.settings()).map([](const auto&) {});
}

struct Saying {
    const char* name;
    std::string bytes;
    int code;
    const char* words;
};

// The daemon sends SAYING instead of a hello.
void expect_no_session(const Saying& saying) {
    SCOPED_TRACE(saying.name);
    const ScriptedDaemon daemon([&](const DaemonEnd& end) { end.say(saying.bytes); });
    const Result<> result = opened(daemon);
    expect_failed(result, saying.code, saying.words);
    expect_failed(result, saying.code, loopback);
}

TEST(HostileDaemon, AbsurdHellos) {
    const std::string status = as_text(wire::encode_initial_status(wire::hello_status));
    const wire::Hello hello{1, test::scripted_capabilities, 7, 4, {}, {}};
    const auto good = wire::encode(hello);
    const auto changed = [&](std::size_t offset, std::size_t size, std::uint64_t value) {
        return status + with_field(good, offset, size, value);
    };
    const char* const blame = "violated the protocol";
    for (const Saying& saying :
         std::vector<Saying>{{"size 0", changed(0, 4, 0), EBADMSG, blame},
                             {"size 47", changed(0, 4, 47), EBADMSG, blame},
                             {"size 1025", changed(0, 4, 1025), EBADMSG, blame},
                             {"size huge", changed(0, 4, 0xffffffff), EBADMSG, blame},
                             {"ends early", changed(0, 4, 1024), ECONNRESET, "within its hello"},
                             {"version 0", changed(4, 2, 0), EBADMSG, blame},
                             {"no lanes", changed(20, 4, 0), EBADMSG, blame},
                             {"no lane frames", changed(8, 8, 0), EPROTO, "0x800"},
                             {"no hello", status, ECONNRESET, "within its hello"},
                             {"half a status", status.substr(0, 2), EPROTO, "rpmemd"},
                             {"nothing", "", ECONNRESET, "before"}})
        expect_no_session(saying);
}

// The library must not request as much as this daemon allows.
TEST(HostileDaemon, HelloOfLimitsWithoutLimit) {
    ScriptedDaemon daemon([&](const DaemonEnd& end) {
        end.say(wire::encode_initial_status(wire::hello_status));
        end.say(wire::encode(wire::Hello{0xffff, test::scripted_capabilities, ~0U, ~0U, {}, {}}));
        static_cast<void>(end.receive(wire::hello_answer_size));
        const auto request = std::get<wire::OpenRequest>(DaemonEnd::decoded(end.receive_request()));
        EXPECT_EQ(request.lanes, 1U);
        EXPECT_LE(request.inline_size, std::uint64_t{512} * 1024);
    });
    EXPECT_FALSE(opened(daemon));
    EXPECT_EQ(daemon.wait(), "");
}

TEST(HostileDaemon, CapabilitiesThatNobodyKnowsAreNotTaken) {
    wire::HelloAnswer answer;
    ScriptedDaemon daemon([&](const DaemonEnd& end) { answer = greet(end, ~std::uint64_t{0}); });
    EXPECT_FALSE(opened(daemon));
    EXPECT_EQ(daemon.wait(), "");
    // RPMEM_TLS is off.
    EXPECT_EQ(answer.capabilities,
              (wire::all_capabilities & ~wire::capability_tls) | wire::all_conditions);
}

// The daemon sends SAYING instead of the response to OPEN.
void expect_no_pool(const Saying& saying, std::uint64_t capabilities) {
    SCOPED_TRACE(saying.name);
    const ScriptedDaemon daemon([&](const DaemonEnd& end) {
        greet(end, capabilities);
        end.receive_request();
        end.say(saying.bytes);
    });
    expect_failed(opened(daemon), saying.code, saying.words);
}

TEST(HostileDaemon, AbsurdResponses) {
    const auto good = wire::encode(wire::OpenResponse{Status::success, in_band_to(1), {}});
    const auto changed = [&](std::size_t offset, std::size_t size, std::uint64_t value) {
        return with_field(good, offset, size, value);
    };
    const auto in_band = [](const InBandAttributes& content) {
        return as_text(wire::encode(wire::OpenResponse{Status::success, content, {}}));
    };
    const std::uint64_t high = UINT64_MAX - scripted_pool_size + 1;
    const auto general = PersistMethod::general_purpose;
    const char* const blame = "violated the protocol";
    for (const Saying& saying : std::vector<Saying>{
             {"status", changed(0, 4, 77), EREMOTEIO, "status 77"},
             {"type", changed(4, 4, 2), EBADMSG, blame},
             {"size 0", changed(8, 8, 0), EBADMSG, blame},
             {"size less", changed(8, 8, 147), EBADMSG, blame},
             {"size huge", changed(8, 8, UINT64_MAX), EBADMSG, blame},
             {"port 0", in_band({0, general, 1, 0, 1}), EBADMSG, blame},
             {"port high", in_band({65536, general, 1, 0, 1}), EBADMSG, blame},
             {"method", in_band({1, PersistMethod{3}, 1, 0, 1}), EBADMSG, blame},
             {"method without access", in_band({1, PersistMethod::appliance, 0, 0, 1}), EBADMSG,
              blame},
             {"no lanes", in_band({1, general, 1, 0, 0}), EBADMSG, blame},
             {"2 lanes", in_band({1, general, 1, 0, 2}), EBADMSG, "2 lanes"},
             {"address", in_band({1, general, 1, high, 1}), EBADMSG, "remote address"},
             {"header only", as_text(good).substr(0, 16), ECONNRESET, "ended"},
             {"half a header", as_text(good).substr(0, 7), ECONNRESET, "ended"},
             {"nothing", "", ECONNRESET, "ended"}})
        expect_no_pool(saying, test::scripted_capabilities);
}

TEST(HostileDaemon, AMediumFailureThatMakesNoSense) {
    const auto good = wire::encode(wire::MediumFailure{"/p", 1, 2, EIO, "text"});
    const auto changed = [&](std::size_t offset, std::size_t size, std::uint64_t value) {
        return with_field(good, offset, size, value);
    };
    for (const Saying& saying :
         std::vector<Saying>{{"status", changed(0, 4, 0), EBADMSG, "violated the protocol"},
                             {"size 0", changed(8, 8, 0), EBADMSG, "violated the protocol"},
                             {"size huge", changed(8, 8, UINT64_MAX), EBADMSG, "size field"},
                             {"errno 0", changed(32, 4, 0), EBADMSG, "errno"},
                             {"errno high", changed(32, 4, 4096), EBADMSG, "errno"},
                             {"path", changed(36, 4, 0xffffffff), EBADMSG, "path"},
                             {"text", changed(40, 4, 5), EBADMSG, "path"},
                             {"short", as_text(good).substr(0, good.size() - 1), EBADMSG, "33 of"}})
        expect_no_pool(saying, test::scripted_capabilities);
    // The daemon did not offer this message.
    expect_no_pool({"not agreed", as_text(good), EBADMSG, "violated the protocol"},
                   test::scripted_capabilities & ~wire::capability_medium_failure);
}

TEST(HostileDaemon, AnswersOnALane) {
    struct Answer {
        const char* name;
        std::vector<std::byte> bytes;
        const char* words;
    };
    const auto frame = [](wire::FrameHeader header) {
        const auto bytes = wire::encode(header);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const std::vector<std::byte> garbage(wire::frame_header_size, std::byte{0x5a});
    for (const Answer& answer : std::vector<Answer>{
             {"to nothing", frame({.type = wire::FrameType::ack, .number = 0}), "0"},
             {"to one too many", frame({.type = wire::FrameType::ack, .number = 2}), "2"},
             {"to billions", frame({.type = wire::FrameType::ack, .number = ~0U}), "4294967295"},
             {"of a type of ours", frame({.type = wire::FrameType::read, .number = 1}), "type"},
             {"data without a read",
              frame({.type = wire::FrameType::data, .length = 64, .number = 1}), "number"},
             {"an endless text", frame({.type = wire::FrameType::error, .length = ~0U}), ""},
             {"no frame", garbage, "checksum"}}) {
        SCOPED_TRACE(answer.name);
        ScriptedPool scripted([](const DaemonEnd& end) { end.wait_for_end(); },
                              {.is_good = false, .bytes = answer.bytes});
        Pool& pool = scripted.open();
        // A wrong checksum is damage in transit, and not a protocol violation.
        const bool is_damaged = answer.bytes == garbage;
        expect_failed(pool.persist(0, 64, 0, 0), ECONNRESET,
                      is_damaged ? "bytes were altered in transit" : "violated the protocol");
        expect_all_calls_fail(pool, ECONNRESET, answer.words);
    }
}

// A response, a status, or other text while no request waits for a response. The error names the
// bytes that arrived.
TEST(HostileDaemon, MessagesWithoutARequest) {
    struct Unexpected {
        std::string bytes;
        const char* described;
    };
    for (const auto& [bytes, described] :
         {Unexpected{as_text(wire::encode(wire::SetAttributesResponse{})),
                     "a message of type 8 with status 0 and size 16 without a request"},
          Unexpected{std::string(4, '\0'), "4 bytes and then closed the stream"},
          Unexpected{"Welcome to this machine\n",
                     "a message of type 1869440288 with status 1466264675 and size"}}) {
        ScriptedPool scripted =
            ScriptedPool::that_waits([&](const DaemonEnd& end) { end.say(bytes); });
        Pool& pool = scripted.open();
        expect_failed(pool.persist(0, 64, 0, 0), ECONNRESET, described);
        expect_all_calls_fail(pool, ECONNRESET, described);
    }
}

// The daemon hangs within a message, before its type has arrived.
TEST(HostileDaemon, HalfAnUnaskedMessage) {
    ScriptedPool scripted = ScriptedPool::that_waits([](const DaemonEnd& end) {
        end.say(std::string(4, '\0'));
        end.wait_for_end();
    });
    Pool& pool = scripted.open();
    expect_failed(pool.persist(0, 64, 0, 0), ECONNRESET, "did not arrive within 2000 ms");
}

// The daemon responds to ASK with SAYING. GOES_ON states that the session can be used afterwards.
void expect_answer(const Call& ask, const Saying& saying, bool goes_on) {
    SCOPED_TRACE(std::string(ask.name) + ": " + saying.name);
    ScriptedPool scripted([&](const DaemonEnd& end) {
        end.receive_request();
        end.say(saying.bytes);
        if (goes_on)
            end.wait_for_end();
    });
    Pool& pool = scripted.open();
    expect_failed(ask.make(pool), saying.code, saying.words);
    if (goes_on) {
        EXPECT_TRUE(pool.persist(0, 64, 0, 0));
    }
}

TEST(HostileDaemon, AnswersToRequests) {
    const Call set{"rpmem_set_attr", set_attributes};
    const Call close{"rpmem_close", [](Pool& pool) { return pool.close(); }};
    const auto set_response = wire::encode(wire::SetAttributesResponse{});
    const auto close_response = wire::encode(wire::CloseResponse{});
    const char* const blame = "violated the protocol";
    for (const auto& [ask, good, other] : {std::tuple{&set, &set_response, &close_response},
                                           std::tuple{&close, &close_response, &set_response}})
        for (const Saying& saying : std::vector<Saying>{
                 {"another type", as_text(*other), ECONNRESET, blame},
                 {"size less", with_field(*good, 8, 8, 15), ECONNRESET, blame},
                 {"size huge", with_field(*good, 8, 8, UINT64_MAX), ECONNRESET, blame},
                 {"half", as_text(*good).substr(0, 8), ECONNRESET, "ended"},
                 {"nothing", "", ECONNRESET, "ended"}})
            expect_answer(*ask, saying, false);
    // A refusal of SET_ATTR does not end the session.
    expect_answer(set, {"refused", with_field(set_response, 0, 4, 12), EACCES, "refused"}, true);
    expect_answer(close, {"refused", with_field(close_response, 0, 4, 6), EREMOTEIO, "refused"},
                  false);
}

} // namespace
} // namespace rpmem::test
