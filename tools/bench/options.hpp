// What the command line asks for.
#pragma once

#include "common/base/result.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rpmem::bench {

inline constexpr std::size_t pool_header_size = 4096;

struct OpenSet {
    std::string name;
    std::uint64_t size = 0;
};

struct Options {
    std::string target;
    std::string pool_set;
    std::set<std::string> cases;
    std::vector<std::uint64_t> sizes{8, 64, 4096, 65536, 1048576};
    std::vector<unsigned> lanes{1, 4};
    std::uint64_t range = std::uint64_t{256} << 20;
    unsigned flushes = 64;
    std::uint64_t flush_size = 4096;
    unsigned rounds = 11;
    std::chrono::milliseconds time{10};
    unsigned idle = 2; // seconds
    std::vector<OpenSet> open_sets;
    std::vector<unsigned> open_lanes{4, 1024};
    std::string second_pool_set;
    std::string medium;         // a file on the target; empty: the medium is not measured
    std::string answer_program; // rpmem-bench on the target; empty: the path that it has here
    bool table = false;
    bool no_spin = false;
    bool tls = false;
    bool json = false;
    bool show_pool_size = false;
    std::vector<std::string> compared; // two reports; nothing is measured then

    [[nodiscard]] bool wants(const std::string& name) const { return cases.contains(name); }
    // Of what takes long by itself.
    [[nodiscard]] unsigned slow_rounds() const { return std::min(rounds, 5U); }
    [[nodiscard]] unsigned most_lanes() const;
    [[nodiscard]] std::uint64_t largest() const; // of one operation
    // Of the pool in which all measurements but those of starting take place.
    [[nodiscard]] std::uint64_t pool_size() const;
};

struct Parsed {
    Options options;
    bool done = false; // help was printed, or an error
    int status = 0;
};
[[nodiscard]] Parsed parse(int argc, char** argv);

} // namespace rpmem::bench
