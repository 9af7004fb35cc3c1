#include <benchmark/benchmark.h>

#include <vector>

#include "wire/crc.h"

namespace tulle::wire {
namespace {

template <uint32_t (*Update)(uint32_t, Bytes)>
void crc32_of(benchmark::State& state) {
    const std::vector<std::byte> bytes(static_cast<size_t>(state.range(0)), std::byte{0x5a});
    for (auto _ : state) {
        benchmark::DoNotOptimize(Update(kCrc32Start, bytes));
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
    state.SetLabel(crc32_is_accelerated() ? "CPU multiplies without carry" : "tables only");
}

BENCHMARK(crc32_of<crc32_update>)->Name("crc32")->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK(crc32_of<crc32_update_portable>)->Name("crc32_portable")->Arg(64)->Arg(4096);

}  // namespace
}  // namespace tulle::wire
