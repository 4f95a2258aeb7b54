// SPDX-License-Identifier: BSD-3-Clause
// Replicates a pool of 32 MiB to another node, by two threads.
//
//     replicate_cxx TARGET POOL_SET
//
// POOL_SET is a pool set file on the target, in the home directory of the user who logs in there
// (or wherever rpmemd's poolset-dir points), for example:
//
//     PMEMPOOLSET
//     32M /mnt/pmem0/example.part0
#include <librpmem.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr std::size_t pool_size = std::size_t{32} * 1024 * 1024;
constexpr std::size_t header_size = 4096; // belongs to the pool's header, not to us
constexpr std::align_val_t page{4096};
constexpr std::string_view text("kept on two machines\0", 21);

struct Unmap {
    void operator()(std::byte* memory) const { ::operator delete(memory, page); }
};
using Memory = std::unique_ptr<std::byte, Unmap>;

// Each thread has a lane of its own, and looks at what its calls return.
std::string fill(librpmem::Pool& pool, std::span<std::byte> range) {
    librpmem::Expected<librpmem::Lane> lane = pool.lane();
    if (!lane)
        return lane.error().text;
    std::ranges::fill(range, std::byte{0x2a});
    // Nobody reads it before it is complete: relaxed is enough.
    const auto done = lane->persist(range, librpmem::Words::relaxed);
    return done ? "" : done.error().text;
}

// Or a program throws what went wrong: value() does it.
void replicate(const std::string& target, const std::string& pool_set) {
    librpmem::check_version().value();
    const Memory memory(static_cast<std::byte*>(::operator new(pool_size, page)));
    const std::span<std::byte> bytes(memory.get(), pool_size);
    std::ranges::fill(bytes, std::byte{0});

    const rpmem_pool_attr attributes = librpmem::attributes("EXAMPLE", 1);
    librpmem::Pool pool = librpmem::Pool::create(target, pool_set, bytes, 2, &attributes).value();
    std::cout << pool_set << " on " << target << ": created, " << pool.lanes() << " lanes\n";

    const std::span<std::byte> ours = bytes.subspan(header_size);
    std::string fault;
    std::thread other([&] { fault = fill(pool, ours.first(ours.size() / 2)); });
    const std::string own_fault = fill(pool, ours.subspan(ours.size() / 2));
    other.join();
    if (!fault.empty() || !own_fault.empty())
        throw std::runtime_error(fault + own_fault);

    {
        librpmem::Lane lane = pool.lane().value();
        // A small change in place: aligned words are old or new after a crash, never half of each.
        const std::span<std::byte> start = ours.first<text.size()>();
        std::ranges::copy(std::as_bytes(std::span(text)), start.begin());
        lane.persist(start).value();

        std::array<char, text.size()> seen{};
        lane.read(std::span(seen), header_size).value();
        if (!std::ranges::equal(seen, text))
            throw std::runtime_error("the target has other bytes than we persisted");
    }
    pool.close().value();
    std::cout << ours.size() << " bytes are durable on " << target << '\n';
}

} // namespace

int main(int argc, char* argv[]) try {
    if (argc != 3) {
        std::cerr << "usage: " << argv[0] << " TARGET POOL_SET\n";
        return EXIT_FAILURE;
    }
    replicate(argv[1], argv[2]);
    return EXIT_SUCCESS;
} catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return EXIT_FAILURE;
}
