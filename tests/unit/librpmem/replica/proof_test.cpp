// SPDX-License-Identifier: BSD-3-Clause
// Tests when the memory of a process counts as the newer side, and the record that this depends on:
// its text, its file, and the files behind real mappings. The tests fail if one condition of the
// proof is not checked, so that a restored backup could overwrite a replica, or if a damaged record
// proves anything.
#include "common/base/unique_fd.hpp"
#include "librpmem/replica/proof.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rpmem::initiator {
namespace {

constexpr std::array<std::byte, 16> pool{std::byte{7}};

wire::PoolState target_of_epoch(std::uint64_t last_epoch) {
    return {.id = pool, .epoch = last_epoch + 1, .last_epoch = last_epoch, .behind_since = 1};
}

const std::vector<LocalFile> two_files{{{1, 2, 3}, 100, "first"}, {{1, 4, 5}, 200, "second"}};
const InitiatorRecord record{pool, 8, 9, two_files};

std::string missing(const wire::PoolState& target, const std::optional<InitiatorRecord>& known,
                    const std::vector<LocalFile>& files) {
    return missing_proof(target, known, files).value_or("proved");
}

TEST(Proof, NeedsTheLastSessionThatWroteFromTheSameFiles) {
    EXPECT_EQ(missing(target_of_epoch(8), record, two_files), "proved");
    // The session of epoch 9 was opened with a proof, and killed before its first write.
    EXPECT_EQ(missing(target_of_epoch(9), record, two_files), "proved");
    EXPECT_TRUE(test::contains(missing(target_of_epoch(8), std::nullopt, two_files), "no record"));
    for (const std::uint64_t other : {0U, 7U, 10U})
        EXPECT_TRUE(test::contains(missing(target_of_epoch(other), record, two_files),
                                   "is not the one that this machine has a record of"))
            << other;
}

TEST(Proof, NeedsTheSamePool) {
    wire::PoolState other = target_of_epoch(8);
    other.id[15] = std::byte{1};
    EXPECT_TRUE(test::contains(missing(other, record, two_files), "another pool"));
}

TEST(Proof, NeedsTheSameFiles) {
    const std::vector<LocalFile> fewer(two_files.begin(), two_files.end() - 1);
    EXPECT_TRUE(test::contains(missing(target_of_epoch(8), record, fewer), "maps 1 files"));
    for (int field = 0; field < 3; ++field) {
        auto files = two_files;
        LastingIdentity& identity = files[1].identity;
        (field == 0   ? identity.file_system
         : field == 1 ? identity.inode
                      : identity.inode_generation) += 1;
        EXPECT_TRUE(
            test::contains(missing(target_of_epoch(8), record, files), "second is another file"));
    }
}

TEST(Proof, NeedsFilesThatWereModifiedNoEarlier) {
    auto files = two_files;
    files[0].modified = 101;
    EXPECT_EQ(missing(target_of_epoch(8), record, files), "proved");
    files[0].modified = 99;
    EXPECT_TRUE(test::contains(missing(target_of_epoch(8), record, files), "may be a backup"));
}

TEST(InitiatorRecord, ItsTextIsDecodedAsItWasEncoded) {
    const std::string text = encode(record);
    InitiatorRecord decoded = test::value_of(decode_initiator_record(text));
    EXPECT_EQ(decoded, record);
}

TEST(InitiatorRecord, DamagedTextIsNoRecord) {
    const std::string text = encode(record);
    for (std::size_t length = 0; length < text.size(); ++length) {
        const auto cut = decode_initiator_record(std::string_view(text).substr(0, length));
        // A text that ends after a line with a file is complete.
        if (cut)
            EXPECT_TRUE(text[length - 1] == '\n' && cut->files.size() == 1) << length;
        else
            EXPECT_EQ(cut.error().code, EBADMSG) << length;
    }
    for (const char* line : {"epoch", "epoch 1 2", "epoch -1", "epoch 18446744073709551616", "",
                             "pool 00", "file 1 2 3", "file 1 2 3 4 5", "other 1", "version 1"})
        EXPECT_TRUE(test::failed(decode_initiator_record(text + line + "\n"), EBADMSG)) << line;
}

TEST(InitiatorRecord, ALaterFormatIsRefused) {
    EXPECT_TRUE(test::failed(decode_initiator_record("version 2\nnew 1\n"), ENOTSUP));
}

TEST(InitiatorRecord, HasALimitOfFiles) {
    InitiatorRecord full = record;
    full.files.resize(max_local_files, two_files[0]);
    EXPECT_TRUE(decode_initiator_record(encode(full)));
    EXPECT_LE(encode(full).size(), max_record_size);
    full.files.push_back(two_files[0]);
    EXPECT_TRUE(test::failed(decode_initiator_record(encode(full)), EBADMSG));
}

TEST(InitiatorRecordFile, IsWrittenReadAndErased) {
    const test::TemporaryDirectory home;
    const InitiatorRecordFile file(home.path() / "local" / "state", pool);
    EXPECT_EQ(test::value_of(file.read()), std::nullopt);
    const mode_t before = ::umask(0); // of a careless program
    EXPECT_TRUE(file.write(record));
    ::umask(before);
    for (const char* const made : {"local", "local/state", "local/state/librpmem"})
        EXPECT_EQ(std::filesystem::status(home.path() / made).permissions(),
                  std::filesystem::perms::owner_all)
            << made;
    EXPECT_EQ(test::value_of(file.read()), record);
    struct stat status {};
    ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    EXPECT_TRUE(file.erase());
    EXPECT_TRUE(file.erase());
    EXPECT_EQ(test::value_of(file.read()), std::nullopt);
}

TEST(InitiatorRecordFile, WithoutAStateHomeThereIsNone) {
    const InitiatorRecordFile file("", pool);
    EXPECT_TRUE(test::failed(file.read(), ENOENT, "XDG_STATE_HOME"));
    EXPECT_TRUE(test::failed(file.write(record), ENOENT, "XDG_STATE_HOME"));
    EXPECT_TRUE(file.erase());
}

TEST(InitiatorRecordFile, OfSomebodyElseIsRefused) {
    const test::TemporaryDirectory home;
    const InitiatorRecordFile file(home.path(), pool);
    EXPECT_TRUE(file.write(record));
    ASSERT_EQ(::chmod(file.path().c_str(), 0622), 0);
    EXPECT_TRUE(test::failed(file.read(), EACCES));
    std::filesystem::remove(file.path());
    ASSERT_EQ(::symlink("/dev/null", file.path().c_str()), 0);
    EXPECT_TRUE(test::failed(file.read(), ELOOP));
}

// A file of two pages that is mapped in a chosen way.
class MappedFile {
public:
    explicit MappedFile(int flags, const char* name = "file") : path_(directory_.path() / name) {
        std::ofstream(path_) << std::string(size, 'x');
        const UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd.get(), 0));
    }
    ~MappedFile() { ::munmap(memory_, size); }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::span<std::byte> memory() const { return {memory_, size}; }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    static constexpr std::size_t size = 8192;
    test::TemporaryDirectory directory_;
    std::string path_;
    std::byte* memory_;
};

TEST(LocalFiles, AreThoseOfSharedMappings) {
    const MappedFile shared(MAP_SHARED, "a name with blanks");
    const auto files = test::value_of(local_files(shared.memory()));
    struct stat status {};
    ASSERT_EQ(::stat(shared.path().c_str(), &status), 0);
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files[0].identity.inode, status.st_ino);
    EXPECT_EQ(files[0].modified, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
    EXPECT_EQ(files[0].path, shared.path());
    EXPECT_TRUE(maps_one_of(shared.memory().first(1), files));
}

// To close a descriptor of a file releases all locks that the process holds on it by fcntl(2).
TEST(LocalFiles, TheProgramKeepsItsLocks) {
    const MappedFile shared(MAP_SHARED);
    const UniqueFd fd(::open(shared.path().c_str(), O_RDWR | O_CLOEXEC));
    struct flock whole {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0
    };
    ASSERT_EQ(::fcntl(fd.get(), F_SETLK, &whole), 0);
    EXPECT_TRUE(local_files(shared.memory()));
    const pid_t child = ::fork();
    if (child == 0) // a lock does not conflict with those of the same process
        ::_exit(::fcntl(fd.get(), F_GETLK, &whole) == 0 && whole.l_type == F_WRLCK ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the lock is gone";
}

// ext4 gives the inode of a removed file to the next one.
TEST(LocalFiles, AReusedInodeIsAnotherFile) {
    const test::TemporaryDirectory directory;
    std::vector<LastingIdentity> identities;
    for (int i = 0; i < 2; ++i) {
        const std::string path = directory.path() / "file";
        std::filesystem::remove(path);
        std::ofstream(path) << std::string(4096, 'x');
        const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        auto* const memory = static_cast<std::byte*>(
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
        identities.push_back(test::value_of(local_files({memory, 4096})).at(0).identity);
        ::munmap(memory, 4096);
    }
    EXPECT_NE(identities[0], identities[1]);
    EXPECT_NE(identities[0].inode_generation, 0U);
}

TEST(LocalFiles, OtherMemoryHasNone) {
    const MappedFile a_private_mapping(MAP_PRIVATE);
    EXPECT_TRUE(test::failed(local_files(a_private_mapping.memory()), ENOTSUP));
    std::vector<std::byte> heap(8192);
    EXPECT_TRUE(test::failed(local_files(heap), ENOTSUP));
    const MappedFile shared(MAP_SHARED);
    const auto files = test::value_of(local_files(shared.memory()));
    EXPECT_FALSE(maps_one_of(heap, files));
    // A private mapping shows the bytes of the file, too.
    EXPECT_FALSE(maps_one_of(a_private_mapping.memory(), files));
}

TEST(LocalFiles, AReplacedFileHasNoIdentity) {
    const MappedFile shared(MAP_SHARED);
    const std::string aside = shared.path() + ".aside";
    std::ofstream(aside) << "another file";
    std::filesystem::rename(aside, shared.path());
    EXPECT_FALSE(local_files(shared.memory()));
}

} // namespace
} // namespace rpmem::initiator
