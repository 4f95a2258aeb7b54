// SPDX-License-Identifier: BSD-3-Clause
// Tests the checks of a request for a pool that do not need the pool. Initiators of this project
// never send such requests. The test fails if lanes without TLS, a provider that was not agreed on,
// 0 lanes or too much inline data are granted, or if the status of a refusal changes on its way.
#include "rpmemd/session/request_check.hpp"

#include <gtest/gtest.h>

namespace rpmem::target {
namespace {

constexpr wire::Agreement over_tls{.lane_frames = true, .tls = true};
constexpr wire::Agreement without_tls{.lane_frames = true};
constexpr wire::Agreement of_0_1{};

PoolRequest request(wire::Provider provider, std::uint32_t lanes = 1) {
    return {.pool_size = 8 << 20,
            .lanes = lanes,
            .provider = provider,
            .inline_size = 1024,
            .pool_set = "pool.set"};
}

Configuration configuration(UseTls tls) {
    Configuration made{};
    made.sockets = true;
    made.tls = tls;
    return made;
}

void expect_refused(const Result<>& checked, wire::Status status, const std::string& words) {
    ASSERT_FALSE(checked);
    EXPECT_EQ(status_of(checked.error()), status);
    EXPECT_NE(checked.error().text.find(words), std::string::npos) << checked.error().text;
}

TEST(RequestCheck, RequiredTlsLetsNoOtherLanePass) {
    const Configuration required = configuration(UseTls::require);
    EXPECT_TRUE(check_request(request(wire::Provider::tcp), over_tls, required));
    for (const auto& [provider, agreement] : {std::pair(wire::Provider::tcp, without_tls),
                                              {wire::Provider::sockets, over_tls},
                                              {wire::Provider::verbs, over_tls},
                                              {wire::Provider::sockets, of_0_1},
                                              {wire::Provider::verbs, of_0_1}})
        expect_refused(check_request(request(provider), agreement, required),
                       wire::Status::provider_not_supported, "tls = require");
}

TEST(RequestCheck, OfferedTlsMayBeDeclined) {
    EXPECT_TRUE(
        check_request(request(wire::Provider::tcp), without_tls, configuration(UseTls::on)));
}

TEST(RequestCheck, ProvidersOfTheAgreement) {
    Configuration offered = configuration(UseTls::on);
    expect_refused(check_request(request(wire::Provider::tcp), of_0_1, offered),
                   wire::Status::bad_provider, "provider 3 was requested");
    EXPECT_TRUE(check_request(request(wire::Provider::sockets), of_0_1, offered));
    offered.sockets = false;
    expect_refused(check_request(request(wire::Provider::sockets), of_0_1, offered),
                   wire::Status::provider_not_supported, "sockets = yes");
}

TEST(RequestCheck, LanesAndInlineDataAreBounded) {
    const Configuration offered = configuration(UseTls::on);
    expect_refused(check_request(request(wire::Provider::tcp, 0), over_tls, offered),
                   wire::Status::bad_lanes, "0 lanes");
    PoolRequest large = request(wire::Provider::tcp);
    large.inline_size = UINT32_MAX;
    expect_refused(check_request(large, over_tls, offered), wire::Status::bad_protocol,
                   std::to_string(UINT32_MAX));
}

// Within the daemon each status has its own errno value, so the response has the status of the
// refusal.
TEST(RequestCheck, TheStatusOfARefusalStays) {
    using wire::Status;
    for (const Status status :
         {Status::bad_protocol, Status::bad_name, Status::bad_size, Status::bad_lanes,
          Status::bad_provider, Status::fatal, Status::fatal_connection, Status::busy,
          Status::exists, Status::provider_not_supported, Status::not_found, Status::no_access,
          Status::pool_configuration, Status::stale})
        EXPECT_EQ(status_of(refuse(status, "why").value()), status) << static_cast<int>(status);
    EXPECT_EQ(status_of({ENOSPC, ErrorClass::resource_limit, "full"}), Status::fatal);
}

} // namespace
} // namespace rpmem::target
