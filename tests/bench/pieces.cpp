// SPDX-License-Identifier: BSD-3-Clause
// Benchmarks of functions that run for every request, pool or message. They need no daemon and have
// no limits. A benchmark fails only if its function returns an error.
#include "common/pools/checksum.hpp"
#include "common/pools/pool_set_file.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "rpmemd/durability/streamed_copy.hpp"
#include "rpmemd/durability/word_copy.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace rpmem;

wire::CreateRequest sample_request() {
    wire::CreateRequest request;
    request.pool_size = std::uint64_t{1} << 30;
    request.lanes = 1024;
    request.attributes.major = 1;
    request.pool_set = "directory/pool.set";
    return request;
}

void encode_create(benchmark::State& state) {
    const wire::CreateRequest request = sample_request();
    for (auto _ : state)
        benchmark::DoNotOptimize(wire::encode(request));
}
BENCHMARK(encode_create);

void decode_create(benchmark::State& state) {
    const wire::Bytes bytes = wire::encode(sample_request());
    const std::span<const std::byte> all(bytes);
    for (auto _ : state) {
        const auto header = wire::decode_request_header(all.first(wire::request_header_size));
        auto request = wire::decode_request(*header, all.subspan(wire::request_header_size));
        if (!request)
            state.SkipWithError("the request was not decoded");
        benchmark::DoNotOptimize(request);
    }
}
BENCHMARK(decode_create);

void code_hello(benchmark::State& state) {
    wire::Hello offer;
    offer.lanes = 1024;
    for (auto _ : state) {
        const std::vector<std::byte> bytes = wire::encode(offer);
        auto hello = wire::decode_hello(bytes);
        if (!hello)
            state.SkipWithError("the hello was not decoded");
        benchmark::DoNotOptimize(hello);
    }
}
BENCHMARK(code_hello);

void parse_pool_set_file(benchmark::State& state) {
    std::string text = "PMEMPOOLSET\n# parts\n";
    for (std::int64_t part = 0; part < state.range(0); ++part)
        text += "64M /mnt/pmem" + std::to_string(part) + "/pool.part\n";
    for (auto _ : state) {
        auto parsed = parse_pool_set(text, "pool.set");
        if (!parsed)
            state.SkipWithError("the pool set was not parsed");
        benchmark::DoNotOptimize(parsed);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_pool_set_file)->Arg(1)->Arg(16)->Arg(1024);

void header_checksum(benchmark::State& state) {
    const target::PoolHeader header{};
    for (auto _ : state)
        benchmark::DoNotOptimize(target::header_checksum(header));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(sizeof(header)));
}
BENCHMARK(header_checksum);

void build_and_verify_headers(benchmark::State& state) {
    const auto parts = static_cast<std::size_t>(state.range(0));
    std::vector<target::Uuid> uuids(parts);
    for (target::Uuid& uuid : uuids)
        uuid = target::random_uuid();
    rpmem_pool_attr attributes{};
    attributes.major = 1;
    std::copy(uuids[0].begin(), uuids[0].end(), attributes.uuid);
    const std::vector<std::string> names(parts, "part");
    for (auto _ : state) {
        const auto headers = target::build_headers(attributes, uuids, 1);
        const auto verified = target::verify_headers(headers, names, HeaderLayout::every_part);
        if (!verified)
            state.SkipWithError(verified.error().text.c_str());
    }
}
BENCHMARK(build_and_verify_headers)->Arg(1)->Arg(16);

template <typename Copy>
void measure_copy(benchmark::State& state, Copy copy) {
    const auto size = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> source(size);
    std::vector<std::byte> destination(size);
    for (auto _ : state) {
        copy(destination.data(), source);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void copy_of_words(benchmark::State& state) { measure_copy(state, target::copy_words); }
BENCHMARK(copy_of_words)->Arg(8)->Arg(64)->Arg(4096)->Arg(1 << 20);

// The time includes end_streams(). The daemon streams from 1 KiB on.
void streamed_copy(benchmark::State& state) {
    measure_copy(state, [](std::byte* destination, std::span<const std::byte> source) {
        target::stream_words(destination, source);
        target::end_streams();
    });
}
BENCHMARK(streamed_copy)->Arg(64)->Arg(1024)->Arg(4096)->Arg(1 << 20);

} // namespace
