// The main function of all benchmarks: that of Google Benchmark, with --threads=N for the number of threads.
#include <benchmark/benchmark.h>
#include <tapegrad/autograd/parallel.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  constexpr std::string_view kThreads = "--threads=";
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    if (const std::string_view argument = argv[i]; argument.starts_with(kThreads)) {
      const int threads = std::atoi(argv[i] + kThreads.size());
      if (threads < 1) {
        std::fprintf(stderr, "--threads: expected a number of at least 1, got \"%s\"\n", argv[i] + kThreads.size());
        return 2;
      }
      tapegrad::set_num_threads(threads);
    } else {
      argv[kept++] = argv[i];
    }
  }
  benchmark::Initialize(&kept, argv);
  if (benchmark::ReportUnrecognizedArguments(kept, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
