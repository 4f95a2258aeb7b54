// Messages on a lane that break the rules: whoever serves it, the session ends at once.
#include "hostile_session.hpp"
#include "support/bare_end.hpp"
#include "wire/hello.hpp"
#include "wire/persist_message.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::hostile {
namespace {

using test::BareEnd;
using test::value_of;
using wire::PersistMessage;

constexpr unsigned lanes = 2;

class LaneMessages : public HostileTest {
protected:
    // Each sync of the daemon takes SYNC_TIME, and is written down.
    explicit LaneMessages(std::chrono::milliseconds sync_time = {})
        : daemon_(directory_.daemon_arguments(), directory_.path(), loopback_connection,
                  wire::offer_value,
                  sync_time.count() == 0 ? std::vector<std::string>{} : slow_medium(sync_time)) {
        daemon_.receive(wire::initial_status_size);
        auto hello = daemon_.receive(wire::hello_size_field);
        const auto size = value_of(wire::decode_hello_size(hello, wire::hello_size));
        hello = joined({hello, daemon_.receive(size - hello.size())});
        token_ = value_of(wire::decode_hello(hello)).token;
        wire::OpenRequest open = open_request();
        open.provider = wire::Provider::tcp;
        open.lanes = lanes;
        daemon_.send(joined({encode(wire::HelloAnswer{1, wire::all_capabilities}), encode(open)}));
        const auto header = value_of(wire::decode_response_header(
            daemon_.receive(wire::response_header_size), wire::MessageType::open_response));
        in_band_ = value_of(wire::decode_open_response(
                                header, daemon_.receive(header.size - wire::response_header_size)))
                       .in_band;
    }

    [[nodiscard]] std::unique_ptr<BareEnd> connect(unsigned lane) const {
        auto peer = std::make_unique<BareEnd>(value_of(fabric::find_to_connect(
            fabric::ProviderKind::tcp, test::loopback, std::to_string(in_band_.port), {16, 16})));
        peer->endpoint = value_of(fabric::Endpoint::open(peer->domain, peer->provider.info.get(),
                                                         *peer->events, peer->completions));
        if (!peer->endpoint.connect(peer->provider.info->dest_addr,
                                    encode(wire::LaneGreeting{lane, token_})))
            throw std::runtime_error("no connection");
        peer->await(fabric::ConnectionEvent::Kind::connected, [] {});
        return peer;
    }

    static void send(BareEnd& peer, const PersistMessage& message) {
        wire::Bytes bytes(sizeof(message));
        std::memcpy(bytes.data(), &message, sizeof(message));
        const iovec place{bytes.data(), bytes.size()};
        void* descriptor = nullptr;
        ASSERT_EQ(peer.endpoint.post_send({&place, 1}, {&descriptor, 1}), 0);
    }

    // The input is left open.
    void expect_end(const std::string& logged) {
        const Ending ending = daemon_.wait();
        EXPECT_TRUE(ending.in_time) << "the daemon hangs";
        EXPECT_FALSE(ending.by_signal) << ending.error_text;
        EXPECT_EQ(ending.status, 1);
        EXPECT_NE(ending.error_text.find(logged), std::string::npos) << ending.error_text;
        EXPECT_NE(directory_.read_log().find("the session ends: " + logged), std::string::npos)
            << directory_.read_log();
        EXPECT_EQ(directory_.damage(), "");
    }

    // How many calls of FUNCTION have begun.
    [[nodiscard]] int count_begun(const std::string& function) const {
        std::ifstream lines(begins());
        int count = 0;
        for (std::string line; std::getline(lines, line);)
            count += line == function ? 1 : 0;
        return count;
    }

    wire::InBandAttributes in_band_;
    DaemonProcess daemon_;

private:
    [[nodiscard]] std::filesystem::path begins() const { return directory_.path() / "begins"; }
    [[nodiscard]] std::vector<std::string> slow_medium(std::chrono::milliseconds sync_time) const {
        return {"LD_PRELOAD=" RECORDER_PATH, "RPMEM_RECORDER_LOG=/proc/self/fd/2",
                "RPMEM_RECORDER_BEGINS=" + begins().native(),
                "RPMEM_RECORDER_DELAY_MS=" + std::to_string(sync_time.count()),
                "ASAN_OPTIONS=verify_asan_link_order=0"};
    }

    wire::Token token_{};
};

class SlowSyncs : public LaneMessages {
protected:
    SlowSyncs() : LaneMessages(std::chrono::milliseconds(900)) {}
};

// Connects to PORT, and says nothing, or one byte.
UniqueFd stranger(std::uint32_t port, bool speaks) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (speaks) {
        EXPECT_EQ(::send(fd.get(), "", 1, 0), 1);
    }
    return fd;
}

// See proc_pid_stat(5).
std::chrono::milliseconds processor_time(pid_t process) {
    constexpr int fields_behind_name = 11; // between the name and the two times
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(stat, line);
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string field;
    for (int i = 0; i < fields_behind_name; ++i)
        fields >> field;
    long user = 0;
    long system = 0;
    EXPECT_TRUE(fields >> user >> system) << line;
    return std::chrono::milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
}

// They take what there is of descriptors.
TEST_F(LaneMessages, StrangersWhoSayNothingAreEnded) {
    constexpr std::size_t most = 64;
    constexpr std::chrono::seconds soon(8); // they are allowed 10
    constexpr std::chrono::seconds late(25);
    const auto first = connect(0);
    constexpr rlimit fewer{120, 120}; // than the strangers need
    ASSERT_EQ(::prlimit(daemon_.pid(), RLIMIT_NOFILE, &fewer, nullptr), 0);
    std::vector<UniqueFd> strangers;
    for (std::size_t i = 0; i < most + 26; ++i)
        strangers.push_back(stranger(in_band_.port, i % 8 == 0));
    const auto left_after = [&](std::size_t wanted, std::chrono::seconds time) {
        for (const Deadline deadline(time); strangers.size() > wanted && !deadline.passed();) {
            std::vector<pollfd> fds;
            for (const UniqueFd& each : strangers)
                fds.push_back({each.get(), POLLIN, 0});
            ::poll(fds.data(), fds.size(), 100);
            std::size_t place = 0;
            std::erase_if(strangers, [&](const UniqueFd&) { return fds[place++].revents != 0; });
        }
        return strangers.size();
    };
    EXPECT_LE(left_after(most, soon), most);
    EXPECT_EQ(left_after(0, late), 0U);
    // Whether it does nothing shows in the time that it takes meanwhile.
    const auto busy = processor_time(daemon_.pid());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LT(processor_time(daemon_.pid()) - busy, std::chrono::milliseconds(500))
        << "the daemon goes on with those who have gone";
    // Lanes are let alone, also new ones.
    const auto second = connect(1);
    send(*first, {static_cast<std::uint32_t>(wire::PersistMode::persist_written), 0,
                  in_band_.raddr - 1, 8});
    expect_end("lane 0: the range of 8 bytes");
}

// The memory of the pool must not go while a worker makes it durable.
TEST_F(SlowSyncs, AreAwaitedByClose) {
    constexpr std::uint64_t page = 4096;
    const std::array peers = {connect(0), connect(1)};
    for (std::size_t lane = 0; lane < peers.size(); ++lane)
        send(*peers[lane], {static_cast<std::uint32_t>(wire::PersistMode::persist_written),
                            static_cast<std::uint32_t>(lane), in_band_.raddr + lane * page, 8});
    for (const Deadline deadline(std::chrono::seconds(20));
         count_begun("pmem_msync") < 2 && !deadline.passed();)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(daemon_.send(encode(wire::CloseRequest{})));
    const Ending ending = daemon_.wait();
    EXPECT_TRUE(ending.in_time) << "the daemon hangs";
    EXPECT_FALSE(ending.by_signal) << ending.error_text;
    EXPECT_EQ(ending.status, 0) << ending.error_text;
    // A line of the recorder ends with the code of the call.
    std::istringstream lines(ending.error_text);
    int syncs = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool is_sync = line.starts_with("pmem_msync ");
        syncs += is_sync ? 1 : 0;
        EXPECT_TRUE(!is_sync || line.ends_with(" 0")) << line;
    }
    EXPECT_EQ(syncs, 2) << ending.error_text;
    EXPECT_EQ(directory_.damage(), "");
}

TEST_F(LaneMessages, ToTheFirstWorker) {
    const auto first = connect(0);
    send(*first, {static_cast<std::uint32_t>(wire::PersistMode::persist_written), 0,
                  in_band_.raddr - 1, 8});
    expect_end("lane 0: the range of 8 bytes");
}

TEST_F(LaneMessages, ToAnotherWorker) {
    const auto first = connect(0);
    const auto second = connect(1);
    send(*second, {static_cast<std::uint32_t>(wire::PersistMode::fetch), 0, in_band_.raddr, 8});
    expect_end("lane 1: 8 bytes were asked for");
}

} // namespace
} // namespace rpmem::hostile
