// SPDX-License-Identifier: BSD-3-Clause
// replica TARGET IMAGE LANES
//
// Fills the file IMAGE, creates the pool of pool.set on TARGET as its replica, and makes all of it
// except the header durable there, with each call of the API, by LANES threads. It exits with 1 if
// a call fails or if a read returns other bytes. The caller compares IMAGE with the parts. The pool
// has the incompatible features RPMEM_REPLICA_FEATURES.
#include "tests/vm/program.hpp"

namespace {

using namespace rpmem::vm;

constexpr std::size_t header_size = 4096;
constexpr std::size_t strict_size = 20000; // more than two messages
constexpr std::size_t flush_size = 9001;   // not aligned
constexpr std::size_t flushes = 200;       // more than fit into a work queue
constexpr std::size_t bulk_size = std::size_t{4} << 20;

struct Image {
    std::byte* data;
    std::size_t size;
};

Image map_and_fill(const char* path) {
    const int fd = ::open(path, O_RDWR | O_CLOEXEC);
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0)
        die(path, std::strerror(errno));
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        die(path, std::strerror(errno));
    ::close(fd);
    const Image image{static_cast<std::byte*>(memory), size};
    std::uint64_t value = size;
    for (std::size_t at = 0; at + sizeof(value) <= size; at += sizeof(value)) {
        value = value * 6364136223846793005U + 1442695040888963407U;
        std::memcpy(image.data + at, &value, sizeof(value));
    }
    return image;
}

void check(int status, const char* call) {
    if (status != 0)
        die(call, rpmem_errormsg());
}

// Makes [begin, end) durable with one lane: a strict persist, flushes and one drain, a deep
// persist, and relaxed persists for the rest. A small share does not get to the later ones.
void persist_share(RPMEMpool* pool, std::size_t begin, std::size_t end, unsigned lane) {
    std::size_t at = begin;
    const auto take = [&](std::size_t length) { return std::min(length, end - at); };
    std::size_t length = take(strict_size);
    check(rpmem_persist(pool, at, length, lane, 0), "rpmem_persist");
    at += length;
    for (std::size_t i = 0; i < flushes && at < end; ++i, at += length) {
        length = take(flush_size);
        const unsigned flags = i % 16 == 0 ? 0 : RPMEM_FLUSH_RELAXED;
        check(rpmem_flush(pool, at, length, lane, flags), "rpmem_flush");
    }
    check(rpmem_drain(pool, lane, 0), "rpmem_drain");
    if (length = take(strict_size); length > 0)
        check(rpmem_deep_persist(pool, at, length, lane), "rpmem_deep_persist");
    for (at += length; at < end; at += length) {
        length = take(bulk_size);
        check(rpmem_persist(pool, at, length, lane, RPMEM_PERSIST_RELAXED), "rpmem_persist");
    }
}

void read_back(RPMEMpool* pool, const Image& image, unsigned lane) {
    std::vector<std::byte> back(bulk_size);
    for (std::size_t at = header_size; at < image.size; at += back.size()) {
        const std::size_t length = std::min(back.size(), image.size - at);
        check(rpmem_read(pool, back.data(), at, length, lane), "rpmem_read");
        if (std::memcmp(back.data(), image.data + at, length) != 0)
            die("rpmem_read", "other bytes than were persisted");
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4)
        die("usage", "replica TARGET IMAGE LANES");
    const Image image = map_and_fill(argv[2]);
    const auto wanted = number(argv[3]);
    unsigned lanes = wanted;
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "REPLICA", 7);
    if (const char* features = std::getenv("RPMEM_REPLICA_FEATURES"))
        attributes.incompat_features = number(features);
    RPMEMpool* const pool =
        rpmem_create(argv[1], "pool.set", image.data, image.size, &lanes, &attributes);
    if (!pool)
        die("rpmem_create", rpmem_errormsg());
    if (lanes != wanted)
        die("rpmem_create", "fewer lanes than were asked for");
    const std::size_t share = (image.size - header_size + lanes - 1) / lanes;
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const std::size_t begin = std::min(header_size + lane * share, image.size);
        threads.emplace_back(persist_share, pool, begin, std::min(begin + share, image.size), lane);
    }
    for (std::thread& thread : threads)
        thread.join();
    read_back(pool, image, lanes - 1);
    check(rpmem_close(pool), "rpmem_close");
    return 0;
}
