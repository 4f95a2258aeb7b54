// SPDX-License-Identifier: BSD-3-Clause
// A file that `rpmemctl pull` has written is durable when it says so: told by the recorder.
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
