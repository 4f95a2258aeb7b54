#include "transport/slots.hpp"

#include <gtest/gtest.h>

namespace rpmem::transport {
namespace {

using namespace std::chrono_literals;
constexpr Slots::Time start{1h};

TEST(Slots, Placeholder) { EXPECT_FALSE(Slots().deadline()); }

} // namespace
} // namespace rpmem::transport
