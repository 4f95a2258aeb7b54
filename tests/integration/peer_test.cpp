// SPDX-License-Identifier: BSD-3-Clause
// Tests the negotiation with the peer: current and old daemons, and a malformed hello. The daemon
// is the real one, without the library's offer where it plays an old one; scripts send the
// malformed hello. A session with the wrong protocol or provider, or a hello that is not checked,
// makes a test fail.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

class Peers : public PoolTest {
protected:
    void expect_session_over(const std::string& provider) {
        expect_served(created(2), 20000, 1);
        EXPECT_TRUE(contains(daemon_log(), "provider " + provider));
    }

    void expect_refused(int code, const std::string& words) {
        EXPECT_TRUE(failed(create(local, 1), code, words));
    }
};

TEST_F(Peers, NewOnesTakeTheBestProvider) { expect_session_over("tcp"); }

TEST_F(Peers, ADaemonThatSeesNoOfferSpeaksTheOldProtocol) {
    set_daemon("", "unset RPMEMD_OFFER;");
    expect_session_over("sockets");
}

TEST_F(Peers, SocketsIsOffUnlessTheTargetSwitchesItOn) {
    set_daemon("--sockets=no", "unset RPMEMD_OFFER;");
    expect_refused(EMEDIUMTYPE, "set \"sockets = yes\" in /etc/rpmemd/rpmemd.conf");
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    set_daemon("--sockets", "unset RPMEMD_OFFER;");
    expect_session_over("sockets");
    EXPECT_TRUE(contains(daemon_log(), "this session uses the provider sockets: "));
}

TEST_F(Peers, OldOnesNeedDirectAccess) {
    set_daemon("--direct-access=no", "unset RPMEMD_OFFER;");
    expect_refused(EREMOTEIO, "direct-access = no");
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Peers, AnOfferThatIsNotKnownIsNone) {
    set_daemon("", "RPMEMD_OFFER=2");
    expect_session_over("sockets");
}

// On a little-endian target, the status HMPR announces a hello.
TEST_F(Peers, AHelloThatMakesNoSense) {
    set_command("printf 'HMPR\\377\\377\\377\\377'; cat >/dev/null");
    expect_refused(EBADMSG, "size");
    set_command("printf 'HMPR\\000\\000\\000\\060'; head -c 44 /dev/zero; cat >/dev/null");
    expect_refused(EBADMSG, "hello");
    set_command("printf 'HMPR\\000\\000\\000\\060'; head -c 10 /dev/zero");
    expect_refused(ECONNRESET, "within its hello");
    set_command("printf 'HMPR'");
    expect_refused(ECONNRESET, "within its hello");
}

} // namespace
} // namespace rpmem::test
