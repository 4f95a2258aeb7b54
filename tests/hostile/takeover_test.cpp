// A session that is lost, and a later one of the same initiator that takes its pool over.
#include "tests/hostile/control_session.hpp"
#include "tests/hostile/raw_lane.hpp"

namespace rpmem::hostile {
namespace {

using wire::Status;
using wire::TakeoverKey;

class Takeover : public HostileTest {
protected:
    Takeover() { offer_ = wire::offer_value; }
};

// A daemon and its initiator.
struct Peer {
    explicit Peer(const PoolDirectory& directory, const std::vector<std::string>& more = {})
        : daemon(with(directory.daemon_arguments(), more), directory.path(), loopback_connection,
                 wire::offer_value),
          control(daemon) {}

    static std::vector<std::string> with(std::vector<std::string> arguments,
                                         const std::vector<std::string>& more) {
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    RawLane lane(std::uint32_t number = 0) { return {control.port(), control.proof(), number}; }

    DaemonProcess daemon;
    ControlSession control;
};

TEST_F(Takeover, EndsTheEarlierDaemonAndOpensItsPool) {
    Peer earlier(directory_);
    ASSERT_EQ(earlier.control.log_in(), Status::success);
    ASSERT_EQ(earlier.control.open(), Status::success);
    RawLane lane = earlier.lane();
    ASSERT_TRUE(lane.persist(8192, 64, std::byte{7}));

    Peer later(directory_);
    ASSERT_EQ(later.control.log_in(1, earlier.control.takeover_key()), Status::success);
    const Ending ending = earlier.daemon.wait();
    EXPECT_TRUE(ending.by_signal);
    EXPECT_EQ(ending.status, SIGKILL);
    ASSERT_EQ(later.control.open(), Status::success) << directory_.read_log();
    EXPECT_TRUE(later.control.notices().empty());
    RawLane again = later.lane();
    EXPECT_TRUE(again.persist(8192, 64, std::byte{8}));
    EXPECT_EQ(later.control.close(), Status::success);
    expect_status(later.daemon.wait(), 0);
}

} // namespace
} // namespace rpmem::hostile
