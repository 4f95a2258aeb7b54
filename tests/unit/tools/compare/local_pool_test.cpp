// SPDX-License-Identifier: BSD-3-Clause
// Tests LocalPool, PartialPool and prepare() on real files in a temporary directory, as one file
// and as several parts, with the recorder of the medium. The test fails if a byte is at another
// place, if a file that is not a pool is accepted, if an interrupted process leaves something that
// looks like a whole pool, or if pools are compared beyond the smaller one or with bytes that are
// excluded.
#include "tests/support/expect.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tools/compare/partial_pool.hpp"
#include "tools/compare/preparation.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace rpmem::compare {
namespace {

namespace fs = std::filesystem;
using test::failed;
using test::succeeded;
using test::value_of;

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::uint64_t part_size = 2 * MiB; // the minimum

class LocalPools : public testing::Test {
protected:
    [[nodiscard]] std::string path(const std::string& name) const {
        return (directory_.path() / name).native();
    }
    std::string file(const std::string& name, std::uint64_t size, const std::string& text = "") {
        std::ofstream(path(name)) << text;
        fs::resize_file(path(name), size);
        return path(name);
    }
    // Writes a pool set file with two parts and OPTIONS.
    std::string pool_set(const std::string& options = "") {
        const std::string sizes = "2M " + path("part0") + "\n2M " + path("part1") + "\n";
        std::ofstream(path("pool.set")) << "PMEMPOOLSET\n" << options << sizes;
        return path("pool.set");
    }
    // Makes an image with a header that 1.12.1 wrote, and data after it.
    std::string image(const std::string& name, const std::string& header = "default-local.part0") {
        return file(name, part_size,
                    test::read_file(HEADER_DATA_DIR "/hdr-" + header + ".bin") + "data");
    }
    static std::string read(const LocalPool& pool, std::uint64_t offset, std::size_t size) {
        std::string text(size, '?');
        EXPECT_TRUE(succeeded(pool.read(offset, std::as_writable_bytes(std::span(text)))));
        return text;
    }
    static Result<> write(const LocalPool& pool, std::uint64_t offset, const std::string& text) {
        return pool.write(offset, test::bytes_of_text(text));
    }
    [[nodiscard]] std::string bytes(const std::string& name, std::uint64_t offset,
                                    std::size_t size) const {
        return test::read_file(path(name)).substr(offset, size);
    }

    test::TemporaryDirectory directory_;
};

TEST_F(LocalPools, OfOneFile) {
    const auto pool = value_of(LocalPool::open(image("image"), PoolFile::Use::read));
    EXPECT_EQ(pool.size(), part_size);
    EXPECT_FALSE(pool.is_pool_set());
    EXPECT_EQ(read(pool, 4096, 5), std::string("data\0", 5));
    EXPECT_TRUE(value_of(pool.side()).identity);
    EXPECT_TRUE(value_of(pool.side()).has_header);
    EXPECT_FALSE(pool.is_hole({4096, 8192}));
    const auto writable = value_of(LocalPool::open(path("image"), PoolFile::Use::write));
    ASSERT_TRUE(succeeded(write(writable, MiB / 2, "x")));
    EXPECT_TRUE(pool.is_hole({8192, MiB / 2})); // data follow
    EXPECT_FALSE(pool.is_hole({8192, MiB / 2 + 1}));
    EXPECT_TRUE(pool.is_hole({MiB, part_size}));
    EXPECT_FALSE(pool.is_hole({MiB, part_size + 1})); // beyond the end
    fs::resize_file(image("page"), 4096);
    EXPECT_TRUE(
        value_of(value_of(LocalPool::open(path("page"), PoolFile::Use::read)).side()).identity);
    std::byte byte{};
    EXPECT_TRUE(failed(pool.read(part_size, std::span(&byte, 1)), ERANGE, "beyond"));
    EXPECT_TRUE(succeeded(pool.read(part_size - 1, std::span(&byte, 1))));
}

TEST_F(LocalPools, OfSeveralPartsAreOneRangeOfBytes) {
    file("part0", part_size);
    file("part1", part_size);
    const auto pool = value_of(LocalPool::open(pool_set(), PoolFile::Use::write));
    EXPECT_TRUE(pool.is_pool_set());
    EXPECT_EQ(pool.size(), 2 * part_size - 4096); // without the header of part 1
    ASSERT_TRUE(succeeded(write(pool, part_size - 3, "abcdef")));
    EXPECT_EQ(bytes("part0", part_size - 3, 3), "abc");
    EXPECT_EQ(bytes("part1", 4096, 3), "def");
    EXPECT_EQ(bytes("part1", 0, 4096), std::string(4096, '\0'));
    EXPECT_EQ(read(pool, part_size - 4, 8), std::string("\0abcdef\0", 8));
    EXPECT_FALSE(pool.is_hole({part_size - 8192, part_size}));
    EXPECT_FALSE(pool.is_hole({part_size, part_size + 4096}));
    EXPECT_TRUE(pool.is_hole({part_size + 8192, pool.size()}));
    ASSERT_TRUE(succeeded(pool.clear({part_size - 4096, part_size + 4096})));
    EXPECT_EQ(read(pool, part_size - 4, 8), std::string(8, '\0'));
    EXPECT_TRUE(pool.is_hole({part_size - 4096, part_size + 4096}));
    EXPECT_TRUE(failed(write(pool, pool.size() - 1, "ab"), ERANGE, "beyond"));
    EXPECT_EQ(fs::file_size(path("part1")), part_size);
}

TEST_F(LocalPools, HaveTheHeadersThatTheirPoolSetNames) {
    file("part0", part_size);
    file("part1", part_size);
    const auto size_with = [&](const std::string& options) {
        return value_of(LocalPool::open(pool_set(options), PoolFile::Use::read)).size();
    };
    EXPECT_EQ(size_with("OPTION SINGLEHDR\n"), 2 * part_size);
    EXPECT_EQ(size_with("OPTION NOHDRS\n"), 2 * part_size);
    // In a pool without headers, bytes that look like a header are data.
    image("part0");
    const auto bare = value_of(LocalPool::open(pool_set("OPTION NOHDRS\n"), PoolFile::Use::read));
    EXPECT_FALSE(value_of(bare.side()).has_header);
    EXPECT_FALSE(value_of(bare.side()).identity);
    const auto with = value_of(LocalPool::open(pool_set(), PoolFile::Use::read));
    EXPECT_TRUE(value_of(with.side()).has_header);
}

TEST_F(LocalPools, DoNotIncludeTheirReplicas) {
    file("part0", part_size);
    file("part1", part_size);
    const std::string set = pool_set();
    std::ofstream(set, std::ios::app)
        << "REPLICA target remote.set\nREPLICA\n2M " << path("more") << '\n';
    EXPECT_EQ(value_of(LocalPool::open(set, PoolFile::Use::read)).size(), 2 * part_size - 4096);
}

TEST_F(LocalPools, RefuseWhatIsNoFile) {
    const auto opened = [](const std::string& name) {
        return LocalPool::open(name, PoolFile::Use::read);
    };
    EXPECT_TRUE(failed(opened(path("missing")), ENOENT, "cannot open"));
    EXPECT_TRUE(failed(opened(directory_.path()), EINVAL, "not a regular file"));
    EXPECT_TRUE(failed(opened("/dev/null"), EINVAL, "not a regular file"));
    EXPECT_TRUE(failed(opened(file("empty", 0)), EINVAL, "is empty"));
    file("part0", part_size);
    EXPECT_TRUE(failed(opened(pool_set()), ENOENT, "part1"));
    fs::create_directory(path("part1"));
    EXPECT_TRUE(failed(opened(pool_set()), EINVAL, "a directory or a Device DAX"));
    std::ofstream(path("pool.set")) << "PMEMPOOLSET\nrubbish\n";
    EXPECT_TRUE(failed(opened(path("pool.set")), EINVAL, "rubbish"));
}

TEST_F(LocalPools, SaysThatAFileBecameShorter) {
    const auto pool = value_of(LocalPool::open(image("image"), PoolFile::Use::read));
    fs::resize_file(path("image"), MiB);
    std::byte byte{};
    EXPECT_TRUE(failed(pool.read(MiB, std::span(&byte, 1)), EINVAL, "has become shorter"));
    EXPECT_FALSE(pool.is_hole({MiB, part_size}));
}

// --- while a pool is being overwritten ---------------------------------------------------------

TEST_F(LocalPools, AnImageHasItsNameWhenItIsWhole) {
    const std::string name = path("new");
    {
        const auto partial = value_of(PartialPool::begin(name, part_size));
        EXPECT_EQ(partial.pool().size(), part_size);
        ASSERT_TRUE(succeeded(partial.mark()));
        ASSERT_TRUE(succeeded(write(partial.pool(), 5000, "half")));
        EXPECT_FALSE(fs::exists(name));
    } // interrupted
    EXPECT_FALSE(fs::exists(name));
    const auto again = value_of(PartialPool::begin(name, part_size));
    EXPECT_EQ(read(again.pool(), 5000, 4), "half");
    ASSERT_TRUE(succeeded(again.commit()));
    EXPECT_EQ(bytes("new", 5000, 4), "half");
    EXPECT_FALSE(fs::exists(partial_name(name)));
    EXPECT_EQ(fs::status(name).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(LocalPools, AnOldImageStaysUntilTheNewOneIsWhole) {
    const std::string name = image("old");
    ASSERT_TRUE(succeeded(
        write(value_of(LocalPool::open(name, PoolFile::Use::write)), part_size - 4, "tail")));
    fs::permissions(name, fs::perms(0640));
    const std::string before = test::read_file(name);
    fs::create_symlink("old", path("link"));
    {
        const auto partial = value_of(PartialPool::begin(path("link"), 3 * MiB));
        EXPECT_EQ(read(partial.pool(), 4096, 4), "data"); // a copy of the old image
        EXPECT_EQ(read(partial.pool(), part_size - 4, 4), "tail");
        ASSERT_TRUE(succeeded(partial.mark()));
        ASSERT_TRUE(succeeded(write(partial.pool(), 4096, "more")));
    } // interrupted
    EXPECT_EQ(test::read_file(name), before);
    {
        const auto again = value_of(PartialPool::begin(path("link"), 3 * MiB));
        EXPECT_EQ(read(again.pool(), 4096, 4), "more"); // not the old data
        ASSERT_TRUE(succeeded(again.commit()));
    }
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(bytes("old", 4096, 4), "more");
    EXPECT_EQ(fs::file_size(name), 3 * MiB);
    EXPECT_EQ(fs::status(name).permissions(), fs::perms(0640));
    struct stat status {};
    ASSERT_EQ(::stat(name.c_str(), &status), 0);
    EXPECT_LT(status.st_blocks * 512, static_cast<std::int64_t>(MiB)) << "a hole was filled";
}

TEST_F(LocalPools, AnImageThatIsNotDurableGetsNoName) {
    const std::string name = path("new");
    const auto partial = value_of(PartialPool::begin(name, part_size));
    test::Recorder::instance().fail(
        {.call = "fsync", .path = partial_name(name), .number = 0, .code = EIO});
    EXPECT_TRUE(failed(partial.commit(), EIO, "cannot make durable"));
    test::Recorder::instance().reset();
    EXPECT_FALSE(fs::exists(name));
    fs::resize_file(partial_name(name), MiB);
    EXPECT_TRUE(failed(partial.commit(), EINVAL, "has changed the size"));
    EXPECT_FALSE(fs::exists(name));
    fs::resize_file(partial_name(name), part_size);
    EXPECT_TRUE(succeeded(partial.commit()));
    EXPECT_TRUE(fs::exists(name));
}

TEST_F(LocalPools, AnImageIsWrittenByOneProcessAtATime) {
    const auto first = value_of(PartialPool::begin(path("new"), part_size));
    EXPECT_TRUE(failed(PartialPool::begin(path("new"), part_size), EBUSY, "another rpmemctl"));
    ASSERT_TRUE(succeeded(first.commit()));
    // The lock of FIRST is on the file that is the image now.
    const auto second = value_of(PartialPool::begin(path("new"), part_size));
    EXPECT_TRUE(succeeded(second.commit()));
}

TEST_F(LocalPools, AnImageIsNotMadeOfSomethingElse) {
    EXPECT_TRUE(failed(PartialPool::begin(directory_.path(), part_size), EINVAL, "regular file"));
    EXPECT_TRUE(failed(PartialPool::begin("/dev/null", part_size), EINVAL, "regular file"));
    EXPECT_TRUE(failed(PartialPool::begin(path("no/image"), part_size), ENOENT, "no/image"));
    fs::create_symlink("elsewhere", partial_name(path("new")));
    EXPECT_FALSE(PartialPool::begin(path("new"), part_size));
    EXPECT_FALSE(fs::exists(path("elsewhere")));
}

TEST_F(LocalPools, APoolSetLacksItsFirstPartMeanwhile) {
    image("part0");
    file("part1", part_size);
    const std::string set = pool_set();
    {
        const auto partial = value_of(PartialPool::begin(set, 0));
        EXPECT_TRUE(fs::exists(path("part0")));
        ASSERT_TRUE(succeeded(partial.mark()));
        ASSERT_TRUE(succeeded(write(partial.pool(), 5000, "half")));
    } // interrupted
    EXPECT_FALSE(fs::exists(path("part0")));
    EXPECT_TRUE(failed(LocalPool::open(set, PoolFile::Use::read), ENOENT, "was interrupted"));
    const auto rest =
        value_of(LocalPool::open(set, PoolFile::Use::read, LocalPool::Interrupted::accepted));
    EXPECT_EQ(read(rest, 5000, 4), "half");
    const auto again = value_of(PartialPool::begin(set, 0));
    ASSERT_TRUE(succeeded(again.mark()));
    ASSERT_TRUE(succeeded(again.commit()));
    EXPECT_EQ(bytes("part0", 5000, 4), "half");
    EXPECT_FALSE(fs::exists(path("part0.partial")));
}

TEST_F(LocalPools, APoolSetThatIsEqualKeepsItsParts) {
    image("part0");
    file("part1", part_size);
    const auto partial = value_of(PartialPool::begin(pool_set(), 0));
    ASSERT_TRUE(succeeded(partial.commit()));
    EXPECT_TRUE(fs::exists(path("part0")));
}

// --- before two pools are compared -------------------------------------------------------------

TEST_F(LocalPools, AreComparedAsFarAsBothGo) {
    const auto local =
        value_of(LocalPool::open(image("image", "attr-default-part0"), PoolFile::Use::read));
    Side remote{.name = "REMOTE",
                .size = part_size,
                .has_header = true,
                .identity = value_of(local.side()).identity};
    auto preparation = value_of(prepare(local, remote));
    EXPECT_TRUE(preparation.mismatches.empty());
    EXPECT_EQ(preparation.length, part_size);
    EXPECT_TRUE(preparation.excluded.empty());
    ASSERT_EQ(preparation.not_compared.size(), 1U);
    EXPECT_TRUE(test::contains(preparation.not_compared[0], "the header, 4096 bytes"));

    remote.size = part_size + 4096;
    preparation = value_of(prepare(local, remote));
    EXPECT_EQ(preparation.length, part_size);
    EXPECT_EQ(preparation.mismatches.size(), 1U);
    ASSERT_EQ(preparation.not_compared.size(), 2U);
    EXPECT_TRUE(test::contains(preparation.not_compared[1], "4096 bytes at the end of the pool"));

    remote = {.name = "REMOTE", .size = MiB, .has_header = false};
    preparation = value_of(prepare(local, remote));
    EXPECT_EQ(preparation.length, MiB);
    EXPECT_EQ(preparation.mismatches.size(), 1U); // the file is longer
    EXPECT_TRUE(preparation.not_compared.empty());
}

// The header is that of libpmemobj, but the rest of such a pool is missing.
TEST_F(LocalPools, ThatCannotBeReadAreNotEqual) {
    const auto local = value_of(LocalPool::open(image("image"), PoolFile::Use::read));
    const Side remote{.name = "REMOTE",
                      .size = part_size,
                      .has_header = true,
                      .identity = value_of(local.side()).identity};
    const auto preparation = value_of(prepare(local, remote));
    ASSERT_EQ(preparation.mismatches.size(), 1U);
    EXPECT_TRUE(
        test::contains(preparation.mismatches[0], "cannot be read as a pool of libpmemobj"));
    EXPECT_TRUE(preparation.excluded.empty());
}

} // namespace
} // namespace rpmem::compare
