// SPDX-License-Identifier: BSD-3-Clause
// Tests the output of --version. The test fails if it reports another version than that of the
// CMake project, or if its list of transports lacks one that the protocol knows or has one more.
#include "common/base/version.hpp"
#include "common/wire/control_messages.hpp"
#include "tests/support/expect.hpp"

namespace rpmem {
namespace {

TEST(Version, IsThatOfTheProject) {
    EXPECT_STREQ(product_version(), PROJECT_VERSION);
    EXPECT_EQ(describe_version("program").rfind("program " PROJECT_VERSION "\nbuilt ", 0), 0U);
}

// common/base has a copy of the names, because it must not depend on common/wire.
TEST(Version, TellsEveryTransport) {
    const std::string text = describe_version("program");
    std::string list = text.substr(text.find("transports: ") + 12) + ", ";
    int transports = 0;
    for (std::size_t end = 0; (end = list.find(", ")) != std::string::npos; ++transports)
        list.erase(0, end + 2);
    EXPECT_EQ(transports, 3);
    for (const auto provider :
         {wire::Provider::verbs, wire::Provider::tcp, wire::Provider::sockets})
        EXPECT_TRUE(test::contains(text, wire::name_of(provider)));
}

} // namespace
} // namespace rpmem
