// SPDX-License-Identifier: BSD-3-Clause
// Tests PoolFile::make_durable(), on which `rpmemctl pull` relies, with a real file and the
// recorder of the medium. The test fails if the file is reported as durable without fsync(2), or if
// an error of fsync(2) is ignored.
#include "tests/support/expect.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tools/compare/pool_file.hpp"

namespace rpmem::compare {
namespace {

using test::Recorder;

TEST(PoolFile, IsDurableOrFails) {
    const test::TemporaryDirectory directory;
    const std::string path = (directory.path() / "image").native();
    const auto file = test::value_of(PoolFile::make(path, 8192));
    ASSERT_TRUE(file.write(0, std::vector<std::byte>(4096, std::byte{1})));
    Recorder::instance().reset();
    EXPECT_TRUE(file.make_durable());
    EXPECT_EQ(Recorder::instance().count("fsync", path), 1U);
    Recorder::instance().fail({.call = "fsync", .path = path, .number = 0, .code = EIO});
    EXPECT_TRUE(test::failed(file.make_durable(), EIO, path));
    Recorder::instance().reset();
}

} // namespace
} // namespace rpmem::compare
