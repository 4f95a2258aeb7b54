// SPDX-License-Identifier: BSD-3-Clause
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
        return test::value_of(ExpositionFile::open(directory_, "one"));
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
    std::string own_ = "one-" + std::to_string(::getpid()) + ".prom";
};

TEST_F(MetricsFile, IsReplacedAsAWhole) {
    put("." + own_ + ".new"); // left behind by a program that was killed
    const ExpositionFile file = opened();
    for (const char* text : {"first\n", "second, and longer\n", "3\n"}) {
        ASSERT_TRUE(test::succeeded(file.replace(text)));
        EXPECT_EQ(test::read_file(path(own_)), text);
        EXPECT_EQ(names(), std::set{own_});
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

// A process that has lived: nobody else has its number so soon.
std::string number_of_the_dead() {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return std::to_string(child);
}

TEST_F(MetricsFile, OfTheDeadGoesAndNothingElseDoes) {
    const std::string dead = number_of_the_dead();
    const std::set<std::string> kept{own_,
                                     "one-1.prom",
                                     "." + own_ + ".new",
                                     "one-0" + dead + ".prom",
                                     "one-+" + dead + ".prom",
                                     "one-" + dead + "x.prom",
                                     "one-" + dead + ".prom.new",
                                     "one-" + dead + ".prom.old",
                                     ".one-" + dead + ".prom",
                                     "one--" + dead + ".prom",
                                     "one-.prom",
                                     "one-0.prom",
                                     "one-99999999999999999999.prom",
                                     "onetoo-" + dead + ".prom",
                                     "two-" + dead + ".prom"};
    for (const std::string& name : kept)
        put(name);
    put("one-" + dead + ".prom");
    put(".one-" + dead + ".prom.new");
    fs::create_directory(path("one-" + number_of_the_dead() + ".prom"));
    opened().remove_of_the_dead();
    std::set<std::string> left = names();
    std::erase_if(left, [&](const std::string& name) { return fs::is_directory(path(name)); });
    EXPECT_EQ(left, kept);
}

} // namespace
} // namespace rpmem::statistics
