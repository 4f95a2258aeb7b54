#include "common/rdma/on_demand_paging.hpp"

#include <gtest/gtest.h>

namespace rpmem::rdma {
namespace {

constexpr std::uint32_t all_but_read =
    IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
constexpr std::uint32_t all = all_but_read | IBV_ODP_SUPPORT_READ;

ibv_odp_caps capabilities_of(std::uint64_t general, std::uint32_t reliable) {
    ibv_odp_caps capabilities{};
    capabilities.general_caps = general;
    capabilities.per_transport_caps.rc_odp_caps = reliable;
    return capabilities;
}

TEST(OnDemandPaging, NeedsAllThatLanesDo) {
    EXPECT_TRUE(judge_paging("mlx5_0", capabilities_of(IBV_ODP_SUPPORT, all)).can_page);
    const PagingDevice none = judge_paging("rxe0", capabilities_of(0, all));
    EXPECT_FALSE(none.can_page);
    EXPECT_EQ(none.why_not, "it has no on-demand paging");
    const PagingDevice some =
        judge_paging("mlx5_0", capabilities_of(IBV_ODP_SUPPORT, all_but_read));
    EXPECT_FALSE(some.can_page);
    EXPECT_EQ(some.why_not, "its on-demand paging is not for: read");
}

TEST(OnDemandPaging, OfADeviceThatIsNotThere) {
    const PagingDevice device = paging_device("nosuch0");
    EXPECT_FALSE(device.can_page);
    EXPECT_EQ(device.why_not, "there is no such device");
}

} // namespace
} // namespace rpmem::rdma
