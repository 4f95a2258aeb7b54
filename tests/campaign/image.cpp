// SPDX-License-Identifier: BSD-3-Clause
// Makes images that the campaign's disk may hold after a power failure, from its log.
//   image points LOG          prints the number of records, and the numbers of the first and the
//                             last record at which the pool was opened
//   image make LOG IMAGE SIZE POINT SEED DATA
//                             makes IMAGE as a power failure after record POINT may leave it: all
//                             flushed writes, and a subset by SEED of the other blocks. DATA has a
//                             line for each extent of the disk with data of files: first byte,
//                             length. Only their blocks may be torn, by sectors of 512 bytes,
//                             because a file system relies on complete blocks of its own.
#include "tests/campaign/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

namespace rpmem::campaign {
namespace {

constexpr std::size_t block_size = 4096;
constexpr std::size_t sector_size = 512;

struct Extent {
    std::uint64_t begin;
    std::uint64_t length;
};

struct Write {
    std::uint64_t offset;
    std::vector<char> data;
};

class Image {
public:
    Image(const std::string& path, std::uint64_t size)
        : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
        if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(size)) != 0)
            throw std::runtime_error("cannot make the image " + path);
    }
    ~Image() { ::close(fd_); }
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    void put(std::uint64_t offset, const char* data, std::size_t size) const {
        if (::pwrite(fd_, data, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size))
            throw std::runtime_error("cannot write to the image");
    }

private:
    int fd_;
};

// Selects the unflushed blocks that reach the disk.
class Subset {
public:
    Subset(std::uint64_t seed, std::vector<Extent> data) : random_(seed), data_(std::move(data)) {
        constexpr std::array<double, 5> shares{0, 0.25, 0.5, 0.75, 1};
        share_ = shares[random_() % shares.size()];
    }
    void apply(const Write& write, const Image& image) {
        for (std::size_t at = 0; at < write.data.size(); at += block_size) {
            const std::size_t size = std::min(block_size, write.data.size() - at);
            if (!chance(share_))
                continue;
            if (is_data(write.offset + at) && chance(0.5))
                tear(write, at, size, image);
            else
                image.put(write.offset + at, write.data.data() + at, size);
        }
    }

private:
    bool chance(double share) { return std::uniform_real_distribution<>()(random_) < share; }
    [[nodiscard]] bool is_data(std::uint64_t offset) const {
        return std::ranges::any_of(data_, [&](const Extent& extent) {
            return offset >= extent.begin && offset < extent.begin + extent.length;
        });
    }
    void tear(const Write& write, std::size_t at, std::size_t size, const Image& image) {
        for (std::size_t sector = 0; sector < size; sector += sector_size)
            if (chance(0.5))
                image.put(write.offset + at + sector, write.data.data() + at + sector,
                          std::min(sector_size, size - sector));
    }

    std::mt19937_64 random_;
    std::vector<Extent> data_;
    double share_;
};

int print_points(const std::string& log) {
    LogReader reader(log);
    std::vector<char> data;
    std::uint64_t count = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    while (const auto record = reader.next(data)) {
        ++count;
        if (record->kind != Kind::mark || LogReader::mark_of(data).step != Step::opened)
            continue;
        first = first == 0 ? count : first;
        last = count;
    }
    std::cout << count << " " << first << " " << last << "\n";
    return first == 0 ? 1 : 0;
}

void make_image(const std::string& log, const Image& image, std::uint64_t point, Subset subset) {
    LogReader reader(log);
    std::vector<char> data;
    std::vector<Write> pending;
    for (std::uint64_t number = 0; number < point; ++number) {
        const auto record = reader.next(data);
        if (!record)
            throw std::runtime_error("the log ends before the point");
        if (record->kind == Kind::write)
            pending.push_back({record->offset, data});
        if (record->kind != Kind::flush)
            continue;
        for (const Write& write : pending)
            image.put(write.offset, write.data.data(), write.data.size());
        pending.clear();
    }
    for (const Write& write : pending)
        subset.apply(write, image);
}

std::vector<Extent> read_extents(const std::string& path) {
    std::ifstream file(path);
    std::vector<Extent> extents;
    for (Extent extent{}; file >> extent.begin >> extent.length;)
        extents.push_back(extent);
    return extents;
}

} // namespace
} // namespace rpmem::campaign

int main(int count, char** arguments) try {
    using namespace rpmem::campaign;
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() == 2 && words[0] == "points")
        return print_points(words[1]);
    if (words.size() == 7 && words[0] == "make") {
        make_image(words[1], Image(words[2], std::stoull(words[3])), std::stoull(words[4]),
                   Subset(std::stoull(words[5]), read_extents(words[6])));
        return 0;
    }
    std::cerr << "usage: image points LOG | image make LOG IMAGE SIZE POINT SEED DATA\n";
    return 2;
} catch (const std::exception& error) {
    std::cerr << "image: " << error.what() << '\n';
    return 1;
}
