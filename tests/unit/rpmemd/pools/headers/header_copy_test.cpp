// SPDX-License-Identifier: BSD-3-Clause
// Tests the copy of the headers: its bytes, and its file in a real directory with the recorder. The
// test fails if a copy changes on its way, if a damaged one is accepted, if the file or its name is
// not durable, if its name changes, or if a pool cannot be used because the copy cannot be written.
#include "rpmemd/pools/headers/header_copy.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

HeaderCopy copy_of(std::size_t count) {
    std::vector<Uuid> uuids(count);
    for (auto& uuid : uuids)
        uuid = random_uuid();
    const auto before = build_headers(golden_attributes(2), uuids, 7);
    return {before, rewrite_headers(before, golden_attributes(2, 0x80))};
}

TEST(HeaderCopy, IsDecodedAsItWasEncoded) {
    for (const std::size_t count : {1U, 2U, 5U, 1024U}) {
        const auto copy = copy_of(count);
        auto bytes = encode(copy);
        bytes.resize(bytes.size() + 100); // the rest of an older copy
        const auto decoded = value_of(decode_header_copy(bytes));
        EXPECT_TRUE(same_headers(decoded.before, copy.before)) << count;
        EXPECT_TRUE(same_headers(decoded.after, copy.after)) << count;
    }
}

TEST(HeaderCopy, CutOffOrFlippedItIsRefused) {
    const auto bytes = encode(copy_of(1));
    for (const std::size_t length : {std::size_t{0}, std::size_t{23}, std::size_t{24},
                                     bytes.size() - header_size, bytes.size() - 1})
        EXPECT_TRUE(failed(decode_header_copy(std::span(bytes).first(length)), EINVAL, "copy"));
    for (std::size_t at = 0; at < bytes.size(); at += at < 32 ? 1 : 61) {
        auto wrong = bytes;
        wrong[at] ^= std::byte{0x10};
        EXPECT_TRUE(failed(decode_header_copy(wrong), EINVAL, "copy")) << "byte " << at;
    }
}

TEST(HeaderCopy, OfAsManyHeadersAsNoPoolHasIsRefused) {
    auto bytes = encode(copy_of(1));
    for (const std::uint32_t count : {0U, 1025U, ~0U}) {
        std::memcpy(bytes.data() + 8, &count, sizeof(count));
        EXPECT_TRUE(
            failed(decode_header_copy(bytes), EINVAL, fmt::format("it has {} headers", count)));
    }
}

class HeaderCopyInFile : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        directory_.reset(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        test::Recorder::instance().reset();
    }
    void TearDown() override {
        test::Recorder::instance().reset();
        PoolFixture::TearDown();
    }
    Result<HeaderCopyFile> open(std::size_t count = 2) {
        return HeaderCopyFile::open(directory_.get(), pool_set_, count);
    }
    const fs::path pool_set_ = "/sets/some/pool.set";
    const fs::path file_ = root / HeaderCopyFile::name_for(pool_set_);
    UniqueFd directory_;
};

TEST_F(HeaderCopyInFile, IsForItsUserAndItsNameIsDurable) {
    const mode_t old_mask = ::umask(0);
    ASSERT_TRUE(succeeded(open()));
    ::umask(old_mask);
    EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(test::Recorder::instance().count("fsync", file_.native()), 1U);
    EXPECT_EQ(test::Recorder::instance().count("fsync"), 2U) << "of the directory";
    test::Recorder::instance().reset();
    ASSERT_TRUE(succeeded(open()));
    EXPECT_EQ(test::Recorder::instance().count("fsync"), 0U) << "nothing is new";
}

TEST_F(HeaderCopyInFile, IsThereForTheNextSession) {
    EXPECT_FALSE(value_of(value_of(open()).load()));
    // A shorter copy overwrites a longer one, and the reverse.
    for (const std::size_t count : {2U, 1U, 5U}) {
        const auto copy = copy_of(count);
        const auto file = value_of(open(count));
        ASSERT_TRUE(succeeded(file.save(copy)));
        EXPECT_GE(test::Recorder::instance().count("fdatasync", file_.native()), 1U);
        const auto loaded = value_of(value_of(open(1)).load());
        ASSERT_TRUE(loaded);
        EXPECT_TRUE(same_headers(loaded->after, copy.after)) << count;
    }
}

TEST_F(HeaderCopyInFile, HasItsSpaceBeforeItIsNeeded) {
    const auto file = value_of(open(2));
    const auto size = fs::file_size(file_);
    ASSERT_TRUE(succeeded(file.save(copy_of(2))));
    EXPECT_EQ(fs::file_size(file_), size);
}

TEST_F(HeaderCopyInFile, WhatIsNoCopyIsRefused) {
    write_file(file_, "something else, as long as what stands in front of a copy");
    EXPECT_TRUE(failed(value_of(open(1)).load(), EINVAL, "of another version"));
    fs::remove(file_);
    fs::create_symlink(root / "elsewhere", file_);
    EXPECT_TRUE(failed(open(), ELOOP));
    EXPECT_FALSE(fs::exists(root / "elsewhere"));
    fs::remove(file_);
    ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    EXPECT_TRUE(failed(open(), EINVAL, "no regular file"));
}

// It may have the only intact headers of a pool. So no pool is opened for writing beside it.
TEST_F(HeaderCopyInFile, OfALaterFormatIsRefusedAndKept) {
    const std::string later = "RPMHDRS2, whatever follows in that format";
    write_file(file_, later);
    const auto refused = open();
    EXPECT_TRUE(failed(refused, ENOTSUP, file_.filename().native()));
    EXPECT_TRUE(
        failed(refused, ENOTSUP, "has format 2, but this rpmemd knows formats only up to 1"));
    EXPECT_EQ(read_file(file_), later);
}

TEST_F(HeaderCopyInFile, IsNamedAfterThePoolSet) {
    EXPECT_EQ(HeaderCopyFile::name_for("/a/b/../c"), HeaderCopyFile::name_for("/a/c"));
    EXPECT_NE(HeaderCopyFile::name_for("/a/b"), HeaderCopyFile::name_for("/a/c"));
    EXPECT_EQ(HeaderCopyFile::old_name_for("/a"), "headers-07d66707b49cd92d")
        << "FNV-1a, as the first release named it";
    EXPECT_EQ(HeaderCopyFile::name_for("/a"), "headers-6a50dc8584134c7de537c0052ff6d236")
        << "SHA-256: other releases look for it";
}

// The file of the first release may have the only intact copy.
TEST_F(HeaderCopyInFile, OfTheOldNameIsTakenOver) {
    ASSERT_TRUE(succeeded(value_of(open(1)).save(copy_of(1))));
    const fs::path old = root / HeaderCopyFile::old_name_for(pool_set_);
    fs::rename(file_, old);
    EXPECT_TRUE(value_of(value_of(open(1)).load()).has_value());
    EXPECT_FALSE(fs::exists(old));
    write_file(old, "of another pool set, say");
    EXPECT_TRUE(value_of(value_of(open(1)).load()).has_value()) << "the new one is kept";
    HeaderCopyFile::remove(directory_.get(), pool_set_);
    EXPECT_FALSE(fs::exists(old));
    EXPECT_FALSE(fs::exists(file_));
}

TEST_F(HeaderCopyInFile, GoesWithThePool) {
    options.header_copies = directory_.get();
    PoolFixture::pool_set("pool.set", "2M @/part0\n");
    ASSERT_TRUE(succeeded(create()));
    const auto name = HeaderCopyFile::name_for(options.poolset_dir / "pool.set");
    EXPECT_TRUE(has(name));
    ASSERT_TRUE(succeeded(remove()));
    EXPECT_FALSE(has(name));
}

TEST_F(HeaderCopyInFile, ThatCannotBeMadeOrWrittenCostsAWarning) {
    PoolFixture::pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    const auto log_file = root / "log";
    log = value_of(Log::to_file(log_file, LogLevel::warning));
    options.header_copies = directory_.get();
    const auto name = HeaderCopyFile::name_for(options.poolset_dir / "pool.set");
    auto pool = value_of(create());
    test::Recorder::instance().fail({"pwrite", name, 1, EIO});
    EXPECT_TRUE(succeeded(pool.set_attributes(golden_attributes(2, 0x80))));
    EXPECT_TRUE(test::contains(read_file(log_file), "cannot be restored"));
    ASSERT_TRUE(succeeded(pool.close()));
    fs::remove(log_file);
    fs::remove(root / name);
    fs::create_directory(root / name);
    log = value_of(Log::to_file(log_file, LogLevel::warning));
    pool = value_of(PoolFixture::open());
    EXPECT_TRUE(succeeded(pool.set_attributes(golden_attributes(2))));
    EXPECT_TRUE(test::contains(read_file(log_file), name));
}

} // namespace
} // namespace rpmem::target
