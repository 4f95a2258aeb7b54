// SPDX-License-Identifier: BSD-3-Clause
// Tests examine_devices() on invented sysfs files in a temporary directory, and parse_devices() and
// allowed_ports() for the setting that names the allowed devices. The test fails if a device, a
// port or an interface is missed or out of order, if a file without permission counts as usable, or
// if a malformed list is accepted.
#include "common/rdma/choice.hpp"
#include "common/rdma/devices.hpp"
#include "tests/unit/common/rdma/device_tree.hpp"

#include <unistd.h>

namespace rpmem::rdma {
namespace {

TEST_F(DeviceTree, AMachineWithoutRdma) {
    const Devices found = examine_devices(root);
    EXPECT_FALSE(found.has_subsystem);
    EXPECT_EQ(found.manager_access, FileAccess::missing);
    EXPECT_TRUE(found.devices.empty());
    add_subsystem();
    const Devices later = examine_devices(root);
    EXPECT_TRUE(later.has_subsystem);
    EXPECT_EQ(later.manager_access, FileAccess::usable);
    EXPECT_TRUE(later.devices.empty());
}

TEST_F(DeviceTree, DevicesAndPortsAreInOrder) {
    add_subsystem();
    add_port("mlx5_1", 1, "4: ACTIVE", "Ethernet", "eth1");
    add_port("mlx5_0", 10, "1: DOWN", "InfiniBand");
    add_port("mlx5_0", 2, "2: INIT", "InfiniBand");
    add_driver("mlx5_0", "mlx5_core");
    add_user_access("mlx5_1", 0);
    add_child_interface("ib0", "mlx5_0", 2);
    const Devices found = examine_devices(root);
    ASSERT_EQ(found.devices.size(), 2U);
    const Device& first = found.devices[0];
    EXPECT_EQ(first.name, "mlx5_0");
    EXPECT_EQ(first.driver, "mlx5_core");
    EXPECT_EQ(first.uverbs, "");
    ASSERT_EQ(first.ports.size(), 2U);
    EXPECT_EQ(first.ports[0].number, 2U);
    EXPECT_EQ(first.ports[0].state, "INIT");
    EXPECT_FALSE(first.ports[0].is_active());
    EXPECT_EQ(first.ports[0].link_layer, "InfiniBand");
    EXPECT_EQ(first.ports[0].interfaces, std::vector<std::string>{"ib0"});
    EXPECT_EQ(first.ports[1].number, 10U);
    EXPECT_TRUE(first.ports[1].interfaces.empty());
    const Device& second = found.devices[1];
    EXPECT_EQ(second.name, "mlx5_1");
    EXPECT_EQ(second.driver, "");
    EXPECT_EQ(second.uverbs, "uverbs0");
    EXPECT_EQ(second.access, FileAccess::usable);
    EXPECT_TRUE(second.ports[0].is_active());
    EXPECT_EQ(second.ports[0].interfaces, std::vector<std::string>{"eth1"});
    EXPECT_EQ(describe(found.devices),
              "mlx5_0 (port 2 INIT, InfiniBand, ib0; port 10 DOWN, InfiniBand), "
              "mlx5_1 (port 1 ACTIVE, Ethernet, eth1)");
}

TEST_F(DeviceTree, AFileThatIsNotOursIsForbidden) {
    add_subsystem();
    add_port("rxe0", 1, "4: ACTIVE", "Ethernet", "eth0");
    add_user_access("rxe0", 3);
    std::filesystem::permissions(root / "dev/infiniband/uverbs3", std::filesystem::perms(0600));
    // Root may open every file, so another user examines it.
    const bool is_root = ::geteuid() == 0;
    if (is_root) {
        ASSERT_EQ(::seteuid(65534), 0);
    } else {
        std::filesystem::permissions(root / "dev/infiniband/uverbs3", std::filesystem::perms(0));
    }
    const Devices found = examine_devices(root);
    if (is_root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    ASSERT_EQ(found.devices.size(), 1U);
    EXPECT_EQ(found.devices[0].uverbs, "uverbs3");
    EXPECT_EQ(found.devices[0].access, FileAccess::forbidden);
}

TEST_F(DeviceTree, AFileThatIsMissing) {
    add_subsystem();
    add_port("rxe0", 1, "4: ACTIVE", "Ethernet", "eth0");
    add_user_access("rxe0", 0);
    std::filesystem::remove(root / "dev/infiniband/uverbs0");
    EXPECT_EQ(examine_devices(root).devices.at(0).access, FileAccess::missing);
}

TEST_F(DeviceTree, AbsurdFilesAreTakenAsTheyAre) {
    add_subsystem();
    write("sys/class/infiniband/odd0/ports/x/state", "");
    write("sys/class/infiniband/odd0/ports/99999999999/state", "ACTIVE");
    write("sys/class/infiniband/file", "no directory");
    const Devices found = examine_devices(root);
    ASSERT_EQ(found.devices.size(), 2U);
    EXPECT_EQ(describe(found.devices[0]), "file (no ports)");
    EXPECT_EQ(found.devices[1].ports.size(), 2U);
}

TEST(DeviceChoice, NamesAndPorts) {
    const auto devices = test::value_of(parse_devices(" mlx5_0:2, rxe0 ,bnxt_re1:255"));
    ASSERT_EQ(devices.size(), 3U);
    EXPECT_EQ((devices)[0].name, "mlx5_0");
    EXPECT_EQ((devices)[0].port, 2U);
    EXPECT_EQ((devices)[1].name, "rxe0");
    EXPECT_FALSE((devices)[1].port);
    EXPECT_EQ((devices)[2].port, 255U);
    EXPECT_EQ(text_of(devices), "mlx5_0:2,rxe0,bnxt_re1:255");
}

TEST(DeviceChoice, NothingAllowsAll) {
    for (const char* text : {"", " "}) {
        const auto devices = parse_devices(text);
        ASSERT_TRUE(devices);
        EXPECT_TRUE(devices->empty());
    }
}

TEST(DeviceChoice, WhatIsNoListIsRefused) {
    std::string many = "a";
    for (int i = 0; i < 64; ++i)
        many += ",a";
    for (const std::string& text :
         std::vector<std::string>{",", "a,", ",a", "a:", "a:0", "a:256", "a:x", "a:1:2", ":1",
                                  "a b", "a/b", "a\nb", std::string(64, 'a'), many}) {
        EXPECT_TRUE(test::failed(parse_devices(text), EINVAL, "NAME:PORT")) << text;
    }
    EXPECT_TRUE(parse_devices(std::string(63, 'a')));
}

TEST(DeviceChoice, Ports) {
    Device device;
    device.name = "mlx5_0";
    device.ports.resize(2);
    device.ports[0].number = 1;
    device.ports[1].number = 2;
    EXPECT_EQ(allowed_ports(device, {}).size(), 2U);
    EXPECT_EQ(allowed_ports(device, {{"mlx5_0", std::nullopt}}).size(), 2U);
    const auto one = allowed_ports(device, {{"rxe0", 1}, {"mlx5_0", 2}});
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0]->number, 2U);
    EXPECT_TRUE(allowed_ports(device, {{"mlx5_0", 3}}).empty());
    EXPECT_TRUE(allowed_ports(device, {{"mlx5", std::nullopt}}).empty()); // a prefix does not match
}

} // namespace
} // namespace rpmem::rdma
