// SPDX-License-Identifier: BSD-3-Clause
// Simulates a power failure while headers are written. At each sync, of which the recorder informs
// it, the fixture takes an image of the headers and their copies. From two successive images torn()
// makes images that a failure between these syncs may leave.
#pragma once

#include "tests/support/recorder/recorder.hpp"
#include "tests/support/thoroughness.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <random>
#include <set>

namespace rpmem::target {

// The header pages of all parts, and the whole files with copies.
using Image = std::map<std::filesystem::path, std::string>;

class CutFixture : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        std::filesystem::create_directory(root / "state");
        directory_.reset(::open((root / "state").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(directory_);
        options.header_copies = directory_.get();
        test::Recorder::instance().reset();
    }
    void TearDown() override {
        test::Recorder::instance().reset();
        PoolFixture::TearDown();
    }

    static std::string header_page(const std::filesystem::path& path) {
        std::string page(header_size, '\0');
        std::ifstream(path, std::ios::binary).read(page.data(), header_size);
        return page;
    }
    [[nodiscard]] Image image() const {
        Image image;
        for (const auto& entry : std::filesystem::directory_iterator(root))
            if (entry.is_regular_file())
                image[entry.path()] = header_page(entry.path());
        for (const auto& entry : std::filesystem::directory_iterator(root / "state"))
            image[entry.path()] = read_file(entry.path());
        return image;
    }
    void put(const Image& image) const {
        for (const auto& entry : std::filesystem::directory_iterator(root / "state"))
            if (!image.contains(entry.path()))
                std::filesystem::remove(entry.path());
        for (const auto& [path, bytes] : image) {
            const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
            ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
        }
    }

    // Returns the images before ACTION, at each sync in it, and after it, without repetitions.
    template <typename Action>
    std::vector<Image> record(Action action) {
        std::vector<Image> images{image()};
        const auto note = [&] {
            if (auto now = image(); now != images.back())
                images.push_back(std::move(now));
        };
        test::Recorder::instance().before_each([&](const test::Event& event) {
            if (event.call == "fsync" || event.call == "fdatasync")
                note();
        });
        action();
        test::Recorder::instance().reset();
        note();
        return images;
    }

    // Calls CHECK_CUT for every torn write between two of IMAGES. MOST is that of TornWrites.
    template <typename Check>
    void for_each_cut(const std::vector<Image>& images, std::size_t most, Check check_cut);

private:
    UniqueFd directory_;
};

// Returns the offsets of the units of UNIT bytes that differ between BEFORE and AFTER.
inline std::vector<std::size_t> changed_units(const std::string& before, const std::string& after,
                                              std::size_t unit) {
    std::vector<std::size_t> units;
    for (std::size_t at = 0; at < after.size(); at += unit)
        if (before.compare(at, unit, after, at, unit) != 0)
            units.push_back(at);
    return units;
}

// The results of one torn write: BEFORE with some of the units that are changed in AFTER.
class TornWrites {
public:
    // MOST limits the number of prefixes, of suffixes, and of random choices for each unit size.
    TornWrites(const std::string& before, const std::string& after, std::size_t most)
        : before_(before), after_(after), max_(most) {
        before_.resize(after.size());
        for (const std::size_t unit : {std::size_t{512}, std::size_t{8}, std::size_t{1}})
            tear(unit);
    }
    [[nodiscard]] const std::set<std::string>& results() const { return results_; }

private:
    void tear(std::size_t unit) {
        const auto changed = changed_units(before_, after_, unit);
        std::vector<bool> taken(changed.size());
        const std::size_t step = 1 + changed.size() / max_;
        for (std::size_t length = 0; length <= changed.size(); length += step) {
            for (std::size_t i = 0; i < changed.size(); ++i)
                taken[i] = i < length;
            add(changed, taken, unit);
            taken.flip();
            add(changed, taken, unit);
        }
        for (std::size_t i = 0; i < max_ && unit > 1; ++i) {
            for (std::size_t k = 0; k < changed.size(); ++k)
                taken[k] = random_() % 2 == 0;
            add(changed, taken, unit);
        }
    }
    void add(const std::vector<std::size_t>& changed, const std::vector<bool>& taken,
             std::size_t unit) {
        auto bytes = before_;
        for (std::size_t i = 0; i < changed.size(); ++i)
            if (taken[i])
                bytes.replace(changed[i], std::min(unit, bytes.size() - changed[i]), after_,
                              changed[i], unit);
        results_.insert(std::move(bytes));
    }

    std::string before_;
    std::string after_;
    std::size_t max_;
    std::mt19937 random_{17};
    std::set<std::string> results_;
};

// Returns the images that a power failure between BEFORE and AFTER may leave. Only one file may
// differ, because each write must be durable before the next begins.
inline std::vector<Image> torn(const Image& before, const Image& after, std::size_t most) {
    std::vector<Image> images;
    std::size_t files = 0;
    for (const auto& [path, bytes] : after) {
        const auto old = before.find(path);
        const std::string old_bytes = old == before.end() ? std::string() : old->second;
        if (old_bytes == bytes)
            continue;
        ++files;
        const TornWrites writes(old_bytes, bytes, most);
        for (const auto& result : writes.results()) {
            images.push_back(before);
            images.back()[path] = result;
        }
    }
    EXPECT_EQ(files, 1U) << "two files are written at a time";
    return images;
}

template <typename Check>
void CutFixture::for_each_cut(const std::vector<Image>& images, std::size_t most, Check check_cut) {
    for (std::size_t i = 1; i < images.size(); ++i) {
        std::size_t number = 0;
        for (const auto& cut : torn(images[i - 1], images[i], most)) {
            if (++number % every_case != 0)
                continue;
            SCOPED_TRACE(fmt::format("write {}, cut {}", i, number));
            put(cut);
            check_cut();
            if (HasFailure())
                return;
        }
    }
}

class StockCuts : public CutFixture {
protected:
    // Runs pmempool(1) of PMDK. Returns whether it succeeds.
    [[nodiscard]] bool pmempool(const std::string& words) const {
        const std::string command =
            fmt::format("cd {} && pmempool {} >{} 2>&1", (root / "sets").native(), words,
                        (root / "sets/output").native());
        return std::system(command.c_str()) == 0;
    }
};

} // namespace rpmem::target
