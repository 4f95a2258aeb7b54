// SPDX-License-Identifier: BSD-3-Clause
// Tests diagnose() on invented sysfs files with one defect each, and the lookup of the local end of
// a route on the real loopback interface. The test fails if a defect is not found, if another one
// is reported first, or if the text does not name the device and what to do. It also fails if a
// guess counts as certain.
#include "common/rdma/diagnosis.hpp"
#include "tests/unit/common/rdma/device_tree.hpp"

namespace rpmem::rdma {
namespace {

class DiagnosisTest : public DeviceTree {
protected:
    DiagnosisTest() {
        end.address = "10.7.7.1";
        end.interface = "eth0";
        add_subsystem();
    }

    [[nodiscard]] RdmaFacts facts() const {
        return {examine_devices(root), parse_devices(allowed).value(), "RPMEM_DEVICE", providers};
    }

    // Expects FAULT, and a text that contains all WORDS.
    void expect(Fault fault, const std::vector<std::string>& words) const {
        const Diagnosis diagnosis = diagnose(facts(), end);
        EXPECT_EQ(static_cast<int>(diagnosis.fault), static_cast<int>(fault)) << diagnosis.text;
        for (const std::string& word : words)
            EXPECT_TRUE(test::contains(diagnosis.text, word));
    }

    // Adds a device without a fault.
    void add_good_device(const std::string& name, unsigned number,
                         const std::string& interface) const {
        add_port(name, 1, "4: ACTIVE", "Ethernet", interface);
        add_user_access(name, number);
    }

    std::string allowed;
    std::string providers;
    LocalEnd end;
};

TEST_F(DiagnosisTest, NothingIsWrong) {
    add_good_device("rxe0", 0, "eth0");
    EXPECT_EQ(diagnose(facts(), end).text, "");
    allowed = "rxe0:1";
    EXPECT_EQ(diagnose(facts(), end).text, "");
}

TEST_F(DiagnosisTest, NoSubsystemAndNoDevice) {
    std::filesystem::remove(root / "sys/class/infiniband");
    expect(Fault::no_subsystem, {"/sys/class/infiniband", "driver"});
    add_subsystem();
    expect(Fault::no_device, {"there is no RDMA device", "rdma link add"});
}

TEST_F(DiagnosisTest, LibfabricIsToldToLeaveVerbsOut) {
    add_good_device("rxe0", 0, "eth0");
    for (const char* without : {"tcp", "tcp,sockets", "^verbs"}) {
        providers = without;
        expect(Fault::excluded, {std::string("FI_PROVIDER=") + without});
    }
    for (const char* with : {"verbs", "tcp,verbs", "^tcp"}) {
        providers = with;
        expect(Fault::none, {});
    }
}

TEST_F(DiagnosisTest, AWrongNameListsWhatThereIs) {
    add_good_device("rxe0", 0, "eth0");
    add_good_device("rxe1", 1, "eth1");
    for (const char* wrong : {"rxe9", "rxe", "rxe0:2", "mlx5_0,rxe7"}) {
        allowed = wrong;
        expect(Fault::unknown_device,
               {std::string("RPMEM_DEVICE=") + wrong, "rxe0 (port 1 ACTIVE, Ethernet, eth0)",
                "rxe1 (port 1 ACTIVE, Ethernet, eth1)"});
    }
    allowed = "rxe9,rxe0"; // one device that exists is enough
    expect(Fault::none, {});
}

TEST_F(DiagnosisTest, TheModuleIsNotLoaded) {
    add_port("mlx5_0", 1, "4: ACTIVE", "Ethernet", "eth0");
    expect(Fault::no_module, {"mlx5_0", "modprobe ib_uverbs"});
}

TEST_F(DiagnosisTest, TheDeviceFileIsMissing) {
    add_good_device("mlx5_0", 4, "eth0");
    std::filesystem::remove(root / "dev/infiniband/uverbs4");
    expect(Fault::no_device_file, {"mlx5_0", "/dev/infiniband/uverbs4 is missing", "container"});
    add_good_device("mlx5_0", 4, "eth0");
    std::filesystem::remove(root / "dev/infiniband/rdma_cm");
    expect(Fault::no_device_file, {"/dev/infiniband/rdma_cm is missing", "modprobe rdma_ucm"});
}

TEST_F(DiagnosisTest, NoPermission) {
    RdmaFacts with;
    with.devices.has_subsystem = true;
    with.devices.manager_access = FileAccess::usable;
    with.setting = "RPMEM_DEVICE";
    Port port{1, "ACTIVE", "Ethernet", {"eth0"}};
    with.devices.devices = {{"mlx5_0", "mlx5_core", "uverbs0", FileAccess::forbidden, {port}}};
    const Diagnosis device = diagnose(with, end);
    EXPECT_EQ(device.fault, Fault::no_permission);
    EXPECT_TRUE(test::contains(device.text, "/dev/infiniband/uverbs0"));
    with.devices.devices[0].access = FileAccess::usable;
    with.devices.manager_access = FileAccess::forbidden;
    const Diagnosis manager = diagnose(with, end);
    EXPECT_EQ(manager.fault, Fault::no_permission);
    EXPECT_TRUE(test::contains(manager.text, "/dev/infiniband/rdma_cm"));
}

TEST_F(DiagnosisTest, OnlyRawPackets) {
    add_good_device("roce0", 0, "eth0"); // the driver decides, not the name
    add_driver("roce0", "mana");
    expect(Fault::no_connections, {"roce0", "raw packet", "manadv(7)"});
}

TEST_F(DiagnosisTest, NoActivePort) {
    add_port("mlx5_0", 1, "1: DOWN", "Ethernet", "eth0");
    add_port("mlx5_0", 2, "2: INIT", "InfiniBand");
    add_user_access("mlx5_0", 0);
    expect(Fault::no_active_port, {"port 1 is DOWN", "port 2 is INIT", "ip link set"});
}

TEST_F(DiagnosisTest, TheChosenPortIsDown) {
    add_port("mlx5_0", 1, "4: ACTIVE", "Ethernet", "eth0");
    add_port("mlx5_0", 2, "1: DOWN", "Ethernet", "eth1");
    add_user_access("mlx5_0", 0);
    expect(Fault::none, {});
    allowed = "mlx5_0:2";
    expect(Fault::no_active_port, {"port 2 is DOWN"});
}

TEST_F(DiagnosisTest, EachDeviceHasItsFault) {
    add_port("mlx5_0", 1, "1: DOWN", "Ethernet", "eth0");
    add_user_access("mlx5_0", 0);
    add_good_device("mana_0", 1, "eth1");
    add_driver("mana_0", "mana");
    expect(Fault::no_connections, {"mana_0", "raw packet", "mlx5_0", "port 1 is DOWN"});
}

TEST_F(DiagnosisTest, AnAddressThatNoDeviceOwns) {
    add_good_device("rxe0", 0, "eth1");
    expect(Fault::not_an_rdma_address, {"10.7.7.1 (eth0)", "no RDMA device owns", "rxe0", "eth1"});
    end.loopback = true;
    end.address = "127.0.0.1";
    end.interface = "lo";
    expect(Fault::not_an_rdma_address, {"127.0.0.1 is a loopback address", "rxe0"});
}

TEST_F(DiagnosisTest, TheLinkLayerIsAnotherOne) {
    add_port("mlx5_0", 1, "4: ACTIVE", "InfiniBand");
    add_child_interface("ib0", "mlx5_0", 1);
    add_user_access("mlx5_0", 0);
    expect(Fault::wrong_link_layer, {"10.7.7.1 (eth0) on Ethernet", "InfiniBand", "ib0"});
    end.interface = "ib0";
    expect(Fault::none, {});
    end.interface = "ib7"; // an InfiniBand interface of no device
    end.infiniband = true;
    expect(Fault::not_an_rdma_address, {"ib7"});
}

TEST_F(DiagnosisTest, TheWayBeginsAtAnotherDevice) {
    add_good_device("rxe0", 0, "eth0");
    add_good_device("rxe1", 1, "eth1");
    allowed = "rxe1";
    expect(Fault::other_device, {"rxe0", "RPMEM_DEVICE=rxe1 does not allow"});
    allowed = "";
    add_port("rxe0", 1, "1: DOWN", "Ethernet", "eth0");
    expect(Fault::other_device, {"rxe0", "cannot be used", "port 1 is DOWN"});
}

TEST_F(DiagnosisTest, WithoutInterfacesItIsAGuess) {
    add_good_device("rxe0", 0, "eth1");
    const RdmaFacts one = facts();
    EXPECT_TRUE(is_certain(diagnose(one, end), one));
    add_port("cxgb4_0", 1, "4: ACTIVE", "Ethernet"); // reports no interfaces
    add_user_access("cxgb4_0", 1);
    const RdmaFacts two = facts();
    EXPECT_EQ(diagnose(two, end).fault, Fault::not_an_rdma_address);
    EXPECT_FALSE(is_certain(diagnose(two, end), two));
    end.interface = "eth1";
    EXPECT_FALSE(is_certain(diagnose(two, end), two)); // there is no fault
    allowed = "rxe9";
    const RdmaFacts wrong = facts();
    EXPECT_TRUE(is_certain(diagnose(wrong, end), wrong));
}

TEST_F(DiagnosisTest, AWayThatIsNotKnown) {
    add_good_device("rxe0", 0, "eth0");
    end = {};
    end.problem = "nohost has no address: Name or service not known";
    expect(Fault::no_address, {"nohost has no address"});
}

TEST(LocalEndTest, OfThisMachine) {
    const LocalEnd to = local_end_to("127.0.0.1");
    EXPECT_EQ(to.problem, "");
    EXPECT_EQ(to.address, "127.0.0.1");
    EXPECT_EQ(to.interface, "lo");
    EXPECT_TRUE(to.loopback);
    EXPECT_FALSE(to.infiniband);
    EXPECT_EQ(local_end_at("127.0.0.1").interface, "lo");
    EXPECT_EQ(address_like("lo", "127.0.0.2"), "127.0.0.1");
    EXPECT_EQ(address_like("lo", "not an address"), "");
    EXPECT_TRUE(
        test::contains(local_end_at("192.0.2.77").problem, "not an address of this machine"));
    EXPECT_NE(local_end_at("name").problem, "");
}

} // namespace
} // namespace rpmem::rdma
