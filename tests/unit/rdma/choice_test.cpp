#include "common/rdma/choice.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace rpmem::rdma {
namespace {

TEST(DeviceChoice, NamesAndPorts) {
    const auto devices = parse_devices(" mlx5_0:2, rxe0 ,bnxt_re1:255");
    ASSERT_TRUE(devices) << devices.error().text;
    ASSERT_EQ(devices->size(), 3U);
    EXPECT_EQ((*devices)[0].name, "mlx5_0");
    EXPECT_EQ((*devices)[0].port, 2U);
    EXPECT_EQ((*devices)[1].name, "rxe0");
    EXPECT_FALSE((*devices)[1].port);
    EXPECT_EQ((*devices)[2].port, 255U);
    EXPECT_EQ(text_of(*devices), "mlx5_0:2,rxe0,bnxt_re1:255");
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
         {std::string(","), std::string("a,"), std::string(",a"), std::string("a:"),
          std::string("a:0"), std::string("a:256"), std::string("a:x"), std::string("a:1:2"),
          std::string(":1"), std::string("a b"), std::string("a/b"), std::string("a\nb"),
          std::string(64, 'a'), many}) {
        const auto devices = parse_devices(text);
        ASSERT_FALSE(devices) << text;
        EXPECT_EQ(devices.error().code, EINVAL);
        EXPECT_NE(devices.error().text.find("NAME:PORT"), std::string::npos);
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
    EXPECT_TRUE(allowed_ports(device, {{"mlx5", std::nullopt}}).empty()); // no beginnings of names
}

} // namespace
} // namespace rpmem::rdma
