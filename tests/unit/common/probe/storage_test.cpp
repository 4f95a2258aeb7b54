// SPDX-License-Identifier: BSD-3-Clause
// Tests examine_storage() and advise_on_appliance() on invented sysfs and proc files in a temporary
// directory. The test fails if a namespace is missed, if a partition or memory that the kernel uses
// as RAM is listed, if a device gets the mount of another one whose name begins alike, or if the
// advice does not follow the processor and the persistence domain.
#include "common/probe/storage.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::probe {
namespace {

namespace fs = std::filesystem;

class StorageTest : public testing::Test {
protected:
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((root / file).parent_path());
        std::ofstream(root / file) << text;
    }

    void link_driver(const std::string& directory, const std::string& driver) const {
        fs::create_directories(root / directory);
        fs::create_symlink("../drivers/" + driver, root / directory / "driver");
    }

    const test::TemporaryDirectory temporary;
    const fs::path root = temporary.path();
};

TEST_F(StorageTest, AMachineWithoutAny) {
    const Storage storage = examine_storage(root);
    EXPECT_TRUE(storage.devices.empty());
    EXPECT_EQ(storage.persistence_domain, "");
    EXPECT_TRUE(test::contains(advise_on_appliance(storage), "no persistent memory"));
}

TEST_F(StorageTest, NamespacesAndTheirMounts) {
    write("sys/class/block/pmem0/size", "131072\n");
    write("sys/class/block/pmem0/device/mode", "memory\n");
    write("sys/class/block/pmem1/size", "2048\n");
    write("sys/class/block/pmem1/device/mode", "memory\n");
    write("sys/class/block/pmem10/size", "4096\n");
    write("sys/class/block/pmem2s/size", "2048\n");
    write("sys/class/block/pmem0p1/size", "2048\n"); // a partition, which is not listed
    write("sys/class/block/sda/size", "2048\n");
    write("proc/self/mountinfo",
          "21 1 254:1 / / rw shared:1 - ext4 /dev/sda rw\n"
          "40 21 259:0 / /mnt/pmem0 rw - ext4 /dev/pmem0 rw,dax=always\n"
          "41 21 259:1 / /mnt/pmem1 rw shared:9 - xfs /dev/pmem1 rw,nodax,noquota\n"
          "42 21 - nonsense\n\n");
    const Storage storage = examine_storage(root);
    ASSERT_EQ(storage.devices.size(), 4U);
    EXPECT_EQ(storage.devices[0].name, "/dev/pmem0");
    EXPECT_EQ(storage.devices[0].mode, "fsdax");
    EXPECT_EQ(storage.devices[0].size, 64U << 20);
    EXPECT_EQ(storage.devices[0].mount, "/mnt/pmem0");
    EXPECT_TRUE(storage.devices[0].is_mounted_dax);
    EXPECT_EQ(storage.devices[1].mount, "/mnt/pmem1");
    EXPECT_FALSE(storage.devices[1].is_mounted_dax);
    EXPECT_EQ(storage.devices[2].name, "/dev/pmem10");
    EXPECT_EQ(storage.devices[2].mount, ""); // pmem1 is mounted, pmem10 is not
    EXPECT_EQ(storage.devices[3].mode, "sector");
}

TEST_F(StorageTest, TheMountOfADeviceWithALongerName) {
    write("sys/class/block/pmem1/size", "2048\n");
    write("sys/class/block/pmem10/size", "2048\n");
    write("proc/self/mountinfo", "40 21 259:0 / /mnt/ten rw - ext4 /dev/pmem10 rw,dax\n"
                                 "41 21 259:0 / /mnt/part rw - ext4 /dev/pmem1p1 rw\n");
    const Storage storage = examine_storage(root);
    ASSERT_EQ(storage.devices.size(), 2U);
    EXPECT_EQ(storage.devices[0].mount, "/mnt/part");
    EXPECT_EQ(storage.devices[1].mount, "/mnt/ten");
    EXPECT_TRUE(storage.devices[1].is_mounted_dax);
}

TEST_F(StorageTest, DeviceDax) {
    write("sys/bus/dax/devices/dax0.0/size", "67108864\n");
    link_driver("sys/bus/dax/devices/dax0.0", "device_dax");
    write("sys/bus/dax/devices/dax1.0/size", "67108864\n");
    link_driver("sys/bus/dax/devices/dax1.0", "kmem"); // used as RAM
    const Storage storage = examine_storage(root);
    ASSERT_EQ(storage.devices.size(), 1U);
    EXPECT_EQ(storage.devices[0].name, "/dev/dax0.0");
    EXPECT_EQ(storage.devices[0].mode, "devdax");
    EXPECT_EQ(storage.devices[0].size, 67108864U);
}

TEST_F(StorageTest, AdviceFollowsThePlatform) {
    write("sys/bus/dax/devices/dax0.0/size", "1048576\n");
    write("sys/bus/nd/devices/ndbus0/provider", "ACPI.NFIT\n");
    write("sys/bus/nd/devices/region0/persistence_domain", "memory_controller\n");
    write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    const Storage intel = examine_storage(root);
    EXPECT_EQ(intel.persistence_domain, "memory_controller");
    EXPECT_EQ(intel.processor, "GenuineIntel");
    EXPECT_TRUE(test::contains(advise_on_appliance(intel), "Data Direct I/O"));
    write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
    EXPECT_TRUE(
        test::contains(advise_on_appliance(examine_storage(root)), "leave persist-apm off"));
    write("sys/bus/nd/devices/region0/persistence_domain", "cpu_cache\n");
    EXPECT_TRUE(test::contains(advise_on_appliance(examine_storage(root)), "is safe"));
}

} // namespace
} // namespace rpmem::probe
