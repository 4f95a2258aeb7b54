// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target without libFuzzer, so that every build with AddressSanitizer runs the fuzz
// targets, whichever compiler makes it:
//
//     fuzz_NAME MAX_BYTES CORPUS_DIRECTORY
//
// Each file of the corpus is run unchanged, truncated at several lengths, and with a few bytes
// changed. The changes come from a fixed seed, so a failure can be repeated. It fails like the fuzz
// target. AddressSanitizer needs handle_abort=1 to print the input of a broken promise.
#include "tests/fuzz/property.hpp"

#include <sanitizer/common_interface_defs.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace {

constexpr std::size_t cuts_of_a_file = 32;
constexpr std::size_t changes_of_a_file = 64;
constexpr std::size_t max_changed_bytes = 4;

std::vector<std::uint8_t> current; // the input of the running target

void print_current() {
    static_cast<void>(std::fputs("the input, in hexadecimal: ", stderr));
    for (const std::uint8_t byte : current)
        static_cast<void>(std::fprintf(stderr, "%02x", byte));
    static_cast<void>(std::fputs("\n", stderr));
}

void run(std::vector<std::uint8_t> input) {
    input.shrink_to_fit(); // AddressSanitizer detects a read after the last byte
    current = std::move(input);
    static_cast<void>(LLVMFuzzerTestOneInput(current.data(), current.size()));
}

std::vector<std::uint8_t> contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run_variations(const std::vector<std::uint8_t>& input) {
    for (std::size_t cut = 0; cut < cuts_of_a_file; ++cut) {
        const std::size_t length = input.size() * cut / cuts_of_a_file;
        run({input.data(), input.data() + length});
    }
    std::minstd_rand random(1);
    for (std::size_t i = 0; i < changes_of_a_file && !input.empty(); ++i) {
        auto changed = input;
        for (std::size_t n = random() % max_changed_bytes + 1; n > 0; --n)
            changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
        run(std::move(changed));
    }
}

} // namespace

int main(int count, char** words) {
    if (count != 3)
        return 2;
    __sanitizer_set_death_callback(print_current);
    const std::size_t max_bytes = std::stoul(words[1]);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(words[2])) {
        const auto input = contents(entry.path());
        run(input);
        if (input.size() <= max_bytes)
            run_variations(input);
        ++files;
    }
    fmt::print("{} files\n", files);
    return files > 0 ? 0 : 1; // an empty corpus must not pass
}
