// SPDX-License-Identifier: BSD-3-Clause
// Tests which blocks of mapped files are found to be holes. The test fails if a block with data or
// an unreadable block counts as a hole, if a hole is read, or if the look at the files takes a
// descriptor or a lock of the program away.
#include "common/base/file_holes.hpp"
#include "common/base/unique_fd.hpp"
#include "librpmem/replica/local_data.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::initiator::local_data {
namespace {

constexpr std::size_t block = wire::digest_block;
constexpr std::size_t blocks = 64;
constexpr std::size_t size = blocks * block;

class LocalDataTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(::ftruncate(fd_.get(), size), 0);
        if (!has_reliable_holes(fd_.get()))
            GTEST_SKIP() << "the holes of this file system are not used";
        map(MAP_SHARED);
    }
    ~LocalDataTest() override {
        if (memory_ != nullptr)
            ::munmap(memory_, size);
    }

    void map(int flags) {
        if (memory_ != nullptr)
            ::munmap(memory_, size);
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd_.get(), 0));
        ASSERT_NE(memory_, MAP_FAILED);
    }
    // Returns what is found in a thread, as the function requires.
    [[nodiscard]] LocalData find() const { return find({memory_, size}); }
    [[nodiscard]] static LocalData find(std::span<std::byte> memory) {
        std::optional<Result<LocalData>> found;
        std::thread([&] { found = find_local_data(memory); }).join();
        return test::value_of(std::move(*found));
    }
    [[nodiscard]] static std::vector<std::size_t> marked(const LocalData& data) {
        std::vector<std::size_t> numbers;
        for (std::size_t at = data.blocks.next(0); at < data.blocks.blocks();
             at = data.blocks.next(at + 1))
            numbers.push_back(at);
        return numbers;
    }
    [[nodiscard]] std::size_t resident_pages() const {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        std::vector<unsigned char> pages(size / page);
        EXPECT_EQ(::mincore(memory_, size, pages.data()), 0);
        return static_cast<std::size_t>(
            std::ranges::count_if(pages, [](unsigned char each) { return (each & 1) != 0; }));
    }

    using Numbers = std::vector<std::size_t>;
    test::TemporaryDirectory directory_;
    std::string path_ = directory_.path() / "a pool";
    UniqueFd fd_{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    std::byte* memory_ = nullptr;
};

TEST_F(LocalDataTest, MarksWhatWasStored) {
    EXPECT_EQ(marked(find()), Numbers());
    EXPECT_EQ(resident_pages(), 0U);
    // Through the mapping, and not written back: the end of a block, and the begin of the next.
    memory_[6 * block - 1] = std::byte{1};
    memory_[6 * block + 8192] = std::byte{1};
    memory_[9 * block] = std::byte{1};
    EXPECT_EQ(::pwrite(fd_.get(), "x", 1, 20 * block), 1);
    memory_[size - 1] = std::byte{1};
    EXPECT_EQ(marked(find()), (Numbers{5, 6, 9, 20, blocks - 1}));
}

// The pool need not begin at a block of the file.
TEST_F(LocalDataTest, CountsFromTheBeginOfTheMemory) {
    memory_[10 * block - 1] = std::byte{1};
    memory_[10 * block + 4096] = std::byte{1};
    EXPECT_EQ(marked(find({memory_ + 4096, 20 * block})), (Numbers{9, 10}));
    EXPECT_EQ(marked(find({memory_ + 3 * block, 20 * block})), (Numbers{6, 7}));
}

TEST_F(LocalDataTest, MarksPagesWithoutAFile) {
    ASSERT_NE(::mmap(memory_ + 4 * block, block, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              MAP_FAILED);
    ASSERT_EQ(::munmap(memory_ + 7 * block, 4096), 0);
    ASSERT_EQ(::mprotect(memory_ + 10 * block, 4096, PROT_NONE), 0);
    EXPECT_EQ(marked(find()), (Numbers{4, 7, 10}));
}

TEST_F(LocalDataTest, MarksAllOfAPrivateMapping) {
    map(MAP_PRIVATE);
    EXPECT_EQ(marked(find()).size(), blocks);
    EXPECT_TRUE(find().on_disk.empty()) << "dropping such pages would lose them";
}

TEST_F(LocalDataTest, MarksWhatIsBeyondTheEndOfTheFile) {
    ASSERT_EQ(::ftruncate(fd_.get(), size - 2 * block - 1), 0);
    EXPECT_EQ(marked(find()), (Numbers{blocks - 3, blocks - 2, blocks - 1}));
}

TEST_F(LocalDataTest, FindsARenamedFile) {
    memory_[2 * block] = std::byte{1};
    ASSERT_EQ(::rename(path_.c_str(), (path_ + ".aside").c_str()), 0);
    const UniqueFd other(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(marked(find()), Numbers{2});
}

// The kernel shows a removed file by this name.
TEST_F(LocalDataTest, MarksAllOfARemovedFile) {
    ASSERT_EQ(::unlink(path_.c_str()), 0);
    EXPECT_EQ(marked(find()).size(), blocks);
    const UniqueFd other(
        ::open((path_ + " (deleted)").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(other.get(), size), 0);
    EXPECT_EQ(marked(find()).size(), blocks);
}

TEST_F(LocalDataTest, TheProgramKeepsItsLocksAndDescriptors) {
    struct flock whole {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0
    };
    ASSERT_EQ(::fcntl(fd_.get(), F_SETLK, &whole), 0);
    ASSERT_EQ(::lseek(fd_.get(), 5, SEEK_SET), 5);
    static_cast<void>(find());
    EXPECT_EQ(::lseek(fd_.get(), 0, SEEK_CUR), 5);
    const pid_t child = ::fork();
    if (child == 0) // a lock does not conflict with those of the same process
        ::_exit(::fcntl(fd_.get(), F_GETLK, &whole) == 0 && whole.l_type == F_WRLCK ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the lock is gone";
}

TEST_F(LocalDataTest, DropsPagesWithoutLosingAStore) {
    for (std::size_t at = 0; at < size; at += 4096)
        memory_[at] = std::byte{7};
    const LocalData data = find();
    data.drop({memory_, size - 8});
    for (std::size_t at = 0; at < size; at += 4096)
        ASSERT_EQ(memory_[at], std::byte{7});
    std::byte last{};
    EXPECT_EQ(::pread(fd_.get(), &last, 1, size - 4096), 1);
    EXPECT_EQ(last, std::byte{7});
}

} // namespace
} // namespace rpmem::initiator::local_data
