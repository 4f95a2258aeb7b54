// SPDX-License-Identifier: BSD-3-Clause
// Tests ExpositionFile on real files in a temporary directory, with the PIDs of real processes that
// have ended. The test fails if a new text does not replace the old one, if a temporary file
// remains or other users cannot read the result, or if remove_of_the_dead() leaves the file of an
// ended process or removes that of a live process, of another program or of a current container.
#include "common/statistics/exposition_file.hpp"
#include "tests/support/expect.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace rpmem::statistics {
namespace {

namespace fs = std::filesystem;

class MetricsFile : public ::testing::Test {
protected:
    MetricsFile() { EXPECT_NE(::mkdtemp(directory_.data()), nullptr); }
    ~MetricsFile() override { fs::remove_all(directory_); }

    [[nodiscard]] ExpositionFile opened() const {
        return test::value_of(ExpositionFile::open(directory_, stem_of_process("one", ::getpid())));
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return directory_ + "/" + name;
    }
    void put(const std::string& name) const { std::ofstream(path(name)) << "something"; }
    [[nodiscard]] std::set<std::string> names() const {
        std::set<std::string> seen;
        for (const auto& entry : fs::directory_iterator(directory_))
            seen.insert(entry.path().filename());
        return seen;
    }

    std::string directory_ = fs::temp_directory_path() / "rpmem-metrics-XXXXXX";
    std::string own_ = stem_of_process("one", ::getpid()) + ".prom";
};

TEST_F(MetricsFile, IsReplacedAsAWhole) {
    put("." + own_ + ".new"); // left by a killed process with this PID
    const ExpositionFile file = opened();
    std::ifstream before;
    std::string old_text;
    for (const char* text : {"first\n", "second, and longer\n", "3\n"}) {
        ASSERT_TRUE(test::succeeded(file.replace(text)));
        EXPECT_EQ(test::read_file(path(own_)), text);
        EXPECT_EQ(names(), std::set{own_});
        // A reader that has opened the old text reads it to its end.
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(before), {}), old_text);
        before = std::ifstream(path(own_));
        old_text = text;
    }
    file.remove();
    EXPECT_TRUE(names().empty());
}

TEST_F(MetricsFile, MayBeReadByOthersWhateverTheUmask) {
    for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
        const mode_t before = ::umask(mask);
        EXPECT_TRUE(test::succeeded(opened().replace("text\n")));
        ::umask(before);
        struct stat status {};
        ASSERT_EQ(::stat(path(own_).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0644) << mask;
    }
}

TEST_F(MetricsFile, NamesTheDirectoryThatIsMissing) {
    const ExpositionFile file = opened();
    fs::remove_all(directory_);
    const auto gone = file.replace("text\n");
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, ENOENT);
    EXPECT_TRUE(test::contains(gone.error().text, directory_));
    const auto none = ExpositionFile::open(directory_, "one");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ENOENT);
    EXPECT_TRUE(test::contains(none.error().text, directory_));
}

// Returns the PID of a process that has ended. The kernel does not assign it again so soon.
pid_t a_dead_process() {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
}

TEST_F(MetricsFile, OfTheDeadGoesAndNothingElseDoes) {
    const pid_t process = a_dead_process();
    const std::string dead = stem_of_process("one", process);
    const std::string begin = dead.substr(0, dead.rfind('-') + 1);
    const std::string number = std::to_string(process);
    const std::set<std::string> kept{own_,
                                     begin + "1.prom",
                                     "." + own_ + ".new",
                                     begin + "0" + number + ".prom",
                                     begin + "+" + number + ".prom",
                                     dead + "x.prom",
                                     dead + ".prom.new",
                                     dead + ".prom.old",
                                     "." + dead + ".prom",
                                     begin + ".prom",
                                     begin + "99999999999999999999.prom",
                                     "one-" + number + ".prom", // an earlier version
                                     stem_of_process("onetoo", process) + ".prom",
                                     stem_of_process("two", process) + ".prom"};
    for (const std::string& name : kept)
        put(name);
    put(dead + ".prom");
    put("." + dead + ".prom.new");
    fs::create_directory(path(stem_of_process("one", a_dead_process()) + ".prom"));
    opened().remove_of_the_dead("one");
    std::set<std::string> left = names();
    std::erase_if(left, [&](const std::string& name) { return fs::is_directory(path(name)); });
    EXPECT_EQ(left, kept);
}

// Containers and the host use the same PIDs, so only its age shows that such a file is stale.
TEST_F(MetricsFile, OfAnotherNamespaceStaysWhileItIsWritten) {
    const std::string number = std::to_string(a_dead_process());
    const std::string current = "one-0123abcd-4026531000-" + number + ".prom";
    const std::string old = "one-0123abcd-4026531001-" + number + ".prom";
    const std::string earlier_version = "one-" + number + ".prom";
    const std::string other = "one-other.prom";
    for (const std::string& name : {current, old, earlier_version, other})
        put(name);
    for (const std::string& name : {old, earlier_version, other})
        fs::last_write_time(path(name),
                            fs::file_time_type::clock::now() - max_age - std::chrono::seconds(60));
    opened().remove_of_the_dead("one");
    EXPECT_EQ(names(), (std::set{current, other}));
}

} // namespace
} // namespace rpmem::statistics
