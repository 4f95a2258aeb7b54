// Old and new peers: what they agree on, and what comes of a hello that is wrong.
#include "tests/integration/environment.hpp"

#include <cerrno>
#include <cstring>

namespace rpmem::test {
namespace {

class Peers : public TargetTest {
protected:
    void SetUp() override { write_simple_pool_set(8); }

    void expect_replicated(const std::string& provider) {
        RPMEMpool* pool = create(local, 2);
        ASSERT_NE(pool, nullptr) << rpmem_errormsg();
        ASSERT_EQ(rpmem_persist(pool, 8192, 20000, 1, 0), 0) << rpmem_errormsg();
        EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
        EXPECT_EQ(std::memcmp(part(0).data() + 8192, local.data() + 8192, 20000), 0);
        EXPECT_NE(daemon_log().find("provider " + provider), std::string::npos);
    }

    void expect_refused(int code, const std::string& words) {
        EXPECT_EQ(create(local, 1), nullptr);
        EXPECT_EQ(errno, code) << rpmem_errormsg();
        EXPECT_NE(std::string(rpmem_errormsg()).find(words), std::string::npos) << rpmem_errormsg();
    }

    LocalPool local{8 * mebibyte};
};

TEST_F(Peers, NewOnesTakeTheBestProvider) { expect_replicated("tcp"); }

TEST_F(Peers, ADaemonThatSeesNoOfferSpeaksTheOldProtocol) {
    set_daemon("", "unset RPMEMD_OFFER;");
    expect_replicated("sockets");
}

TEST_F(Peers, SocketsIsOffUnlessTheTargetSwitchesItOn) {
    set_daemon("--sockets=no", "unset RPMEMD_OFFER;");
    expect_refused(EMEDIUMTYPE, "set \"sockets = yes\" in /etc/rpmemd/rpmemd.conf");
    EXPECT_FALSE(std::filesystem::exists(directory() / "part0"));
    set_daemon("--sockets", "unset RPMEMD_OFFER;");
    expect_replicated("sockets");
    EXPECT_NE(daemon_log().find("this session uses the provider sockets: "), std::string::npos);
}

TEST_F(Peers, OldOnesNeedDirectAccess) {
    set_daemon("--direct-access=no", "unset RPMEMD_OFFER;");
    expect_refused(EREMOTEIO, "direct-access = no");
    EXPECT_FALSE(std::filesystem::exists(directory() / "part0"));
}

TEST_F(Peers, AnOfferThatIsNotKnownIsNone) {
    set_daemon("", "RPMEMD_OFFER=2");
    expect_replicated("sockets");
}

// 'HMPR' is the status that announces a hello on a little-endian target.
TEST_F(Peers, AHelloThatMakesNoSense) {
    set_command("printf 'HMPR\\377\\377\\377\\377'; cat >/dev/null");
    expect_refused(EBADMSG, "size");
    set_command("printf 'HMPR\\000\\000\\000\\060'; head -c 44 /dev/zero; cat >/dev/null");
    expect_refused(EBADMSG, "hello");
    set_command("printf 'HMPR\\000\\000\\000\\060'; head -c 10 /dev/zero");
    expect_refused(EBADMSG, "hello");
    set_command("printf 'HMPR'");
    expect_refused(EBADMSG, "hello");
}

} // namespace
} // namespace rpmem::test
