// The verb `info`: measures this machine, or compares its results with those of others.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/command/tools.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/version.h>

#include <cmath>
#include <string>
#include <vector>

namespace tapegrad::tasks {
namespace {

// Matrix products of GPT-2 at 256 tokens: x [m, k] times the transpose of weight [n, k].
struct Product {
  int64_t m, n, k;
  const char* what;
};
constexpr Product kProducts[] = {{256, 3072, 768, "feed-forward"},
                                 {256, 768, 3072, "gradient of its input"},
                                 {3072, 768, 256, "gradient of its weight"},
                                 {256, 50257, 768, "logits"}};

double rounded(double value) { return std::round(value * 10) / 10; }

Json machine() {
  return {{"version", kVersion},
          {"processor", processor_name()},
          {"kernels", std::string(kernels_in_use())},
          {"kernels_available", kernels_available()},
          {"products", std::string(products_in_use())},
          {"blis", blis_description()},
          {"threads", num_threads()}};
}

void print_machine() {
  print_text(fmt::format(
      "tapegrad   {}\nprocessor  {}\nkernels    {} (available: {})\nproducts   {}\nBLIS       {}\nthreads    {}\n",
      kVersion, processor_name(), kernels_in_use(), kernels_available(), products_in_use(), blis_description(),
      num_threads()));
}

int self_test(bool as_json) {
  if (!as_json) print_machine();
  const std::vector<SelfTestResult> all = self_test_results([as_json](const SelfTestResult& r) {
    if (as_json) return;
    const std::string note = r.published.empty() ? "  not published" : fmt::format("  published: {}", r.published);
    const std::string line = fmt::format("{:<34}{}{}\n", r.name, r.bits, r.ok() ? "" : note);
    r.ok() ? print_text(line) : print_mark(line, false);
  });
  std::vector<std::string> others;
  for (const SelfTestResult& r : all)
    if (!r.ok()) others.push_back(r.name);
  if (as_json) {
    Json out = machine(), bits = Json::object();
    for (const SelfTestResult& r : all) bits[r.name] = r.bits;
    out["bits"] = bits;
    out["differ"] = others;
    print_now(out.dump() + "\n");
  } else if (others.empty()) {
    print_text("Each line ends with a fingerprint: same fingerprint = same numbers, bit for bit.\n");
    print_mark(fmt::format("All {} match the published fingerprints.\n", all.size()), true);
  } else {
    print_mark(fmt::format("{} of {} differ from the published fingerprints, {} first.\n", others.size(), all.size(),
                           others[0]),
               false);
  }
  return others.empty() ? 0 : 1;
}

}  // namespace

void InfoRequest::list(Fields& f) {
  Options add(f);
  add("self-test",
      "compute a fixed list of operations, training runs and generated texts, and compare the hash of each "
      "with the published one, which every machine should reproduce",
      self_test);
  add_json(f, json);
}

int info(const InfoRequest& request) {
  if (request.self_test) return self_test(request.json);
  const double fma = measure_fma_gflops();
  Json rates = Json::object(), engines = rates;
  std::string table;
  for (const Product& p : kProducts) {
    const double reached = measure_matmul_gflops(p.m, p.n, p.k);
    const std::string shape = fmt::format("{}x{}x{}", p.m, p.n, p.k);
    const std::string_view engine = matmul_engine(p.m, p.n, p.k);
    rates[shape] = rounded(reached);
    engines[shape] = engine;
    table += fmt::format("  {:<15} {:>7.1f}  {:>3.0f} % of peak, {:<10} {}\n", shape, reached, 100 * reached / fma,
                         engine, p.what);
  }
  const double read = measure_read_gb_s();
  if (request.json) {
    Json all = machine();
    all["fma_gflops"] = rounded(fma);
    all["matmul_gflops"] = rates;
    all["matmul_by"] = engines;
    all["read_gb_s"] = rounded(read);
    print_now(all.dump() + "\n");
    return 0;
  }
  print_machine();
  print_text(fmt::format(
      "fused multiply-adds, float32 peak: {:.1f} GFLOP/s\nmatmul, GFLOP/s:\n{}reading memory: {:.1f} GB/s\n", fma,
      table, read));
  return 0;
}

}  // namespace tapegrad::tasks
