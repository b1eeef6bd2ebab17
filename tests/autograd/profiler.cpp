// The profiler: counts of arithmetic against counts by hand, times that add up, modules of operations, and a trace that
// is well-formed and nested.
#include <tapegrad/autograd/detail/profile_log.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

ProfilerOptions quick(int64_t max_events = 100'000) { return {.max_events = max_events, .measure_peak = false}; }

const ProfileRow& row_of(const std::vector<ProfileRow>& rows, std::string_view name,
                         ProfilePhase phase = ProfilePhase::forward, std::string_view within = "") {
  for (const ProfileRow& row : rows) {
    if (row.name == name && row.phase == phase && row.within == within) return row;
  }
  static const ProfileRow kNone;
  ADD_FAILURE() << "no row " << name << " within " << within;
  return kNone;
}

// Flops of an operation forward and backward.
std::pair<double, double> flops_of(std::string_view op, auto f) {
  const Profiler profiler(quick());
  Tape().backward(sum(f()));
  const ProfileReport report = profiler.report();
  return {row_of(report.operations, op).flops, row_of(report.operations, op, ProfilePhase::backward).flops};
}

Tensor leaf(const Shape& shape) { return randn(shape).as_leaf(); }

TEST(Profiler, CountsArithmeticAsByHand) {
  const KeepThreads keep;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const auto expect = [](std::string_view op, double forward, double backward, auto f) {
      EXPECT_EQ(flops_of(op, f), std::pair(forward, backward)) << op;
    };
    // y [5, 7, 33] = x [5, 7, 65] W' with W [33, 65]; backward: one product for each operand.
    expect("linear", 2. * 35 * 33 * 65, 2 * 2. * 35 * 33 * 65, [] { return linear(leaf({5, 7, 65}), leaf({33, 65})); });
    const double large = 2. * 512 * 256 * 300;  // in several pieces; x is a constant
    expect("linear", large, large, [] { return linear(randn({512, 300}), leaf({256, 300}), leaf({256})); });
    const double batch = 2. * 12 * 9 * 31 * 17, few = 2. * 4 * 200 * 160 * 180;
    expect("matmul", batch, 2 * batch, [] { return matmul(leaf({3, 4, 9, 17}), leaf({3, 4, 17, 31})); });
    expect("matmul", few, 2 * few, [] { return matmul(leaf({4, 200, 180}), leaf({4, 180, 160})); });
    expect("matmul", 2. * 11, 2 * 2. * 11, [] { return matmul(leaf({11}), leaf({11})); });
    // y [2, 6, 8, 8]: each element has 3 channels and 3 x 3 taps, those on the padding included.
    const double conv = 2. * 2 * 6 * 64 * 27;
    expect("conv2d", conv, 2 * conv, [] { return conv2d(leaf({2, 3, 8, 8}), leaf({6, 3, 3, 3}), {}, {.padding = 1}); });
    expect("conv2d", conv / 27 * 9, 2 * conv / 27 * 9, [] {
      return conv2d(leaf({2, 6, 8, 8}), leaf({6, 1, 3, 3}), {}, {.padding = 1, .groups = 6});
    });
    expect("conv2d", conv / 9, 2 * conv / 9, [] { return conv2d(leaf({2, 3, 8, 8}), leaf({6, 3, 1, 1})); });
    // Scores and sums of values; backward computes the scores again, and has two products for each.
    const double pairs = 2. * 3 * 20 * 30;
    expect("scaled_dot_product_attention", pairs * 2 * (16 + 8), pairs * 2 * (3 * 16 + 2 * 8), [] {
      return scaled_dot_product_attention(leaf({2, 3, 20, 16}), leaf({2, 3, 30, 16}), leaf({2, 3, 30, 8}));
    });
  }
}

struct Block {
  nn::Linear up{4, 8}, down{8, 4};
  nn::LayerNorm norm{4};
  Tensor operator()(const Tensor& x) const { return x + down(tanh(up(norm(x)))); }
};
struct Model {
  nn::Embedding table{10, 4};
  nn::List<Block> layers = nn::repeat<Block>(3);
  Tensor operator()(const Tensor& ids) const {
    Tensor x = table(ids);
    for (const Block& layer : layers) x = layer(x);
    return x;
  }
};

// Steps of a small model, profiled.
struct Profiled {
  explicit Profiled(const ProfilerOptions& options = quick(), int steps = 3) {
    Model model;
    optim::SGD sgd(nn::parameters(model), {.lr = 0.1});
    const Tensor ids = tensor({1, 2, 3, 4, 5, 6});
    const Profiler profiler(options);
    for (int i = 0; i < steps; ++i) sgd.step(Tape().backward(mean(square(model(ids)))));
    {
      const ProfileScope scope(ProfilePhase::evaluation);
      model(ids);
    }
    {
      const ProfileScope scope("my \"part\"");
      model(ids);
    }
    report = profiler.report();
    const TemporaryFolder folder;
    profiler.write_trace(folder / "trace");
    trace = Json::parse(slurp(folder / "trace"));
  }
  ProfileReport report;
  Json trace;
};

TEST(Profiler, RowsAddUp) {
  const ProfileReport report = Profiled().report;
  EXPECT_EQ(row_of(report.operations, "linear").calls, 6 * 4);  // three steps, and the named part
  EXPECT_EQ(row_of(report.operations, "linear", ProfilePhase::evaluation).calls, 6);
  EXPECT_EQ(row_of(report.operations, "linear", ProfilePhase::backward).calls, 18);
  EXPECT_EQ(row_of(report.operations, "matmul", ProfilePhase::backward, "linear").calls, 36);
  EXPECT_EQ(row_of(report.operations, "optimizer.step", ProfilePhase::optimizer).calls, 3);
  EXPECT_EQ(row_of(report.scopes, "my \"part\"", ProfilePhase::other).calls, 1);
  EXPECT_EQ(row_of(report.operations, "tanh").bytes, 4 * 3 * 2 * 6 * 8 * 4);  // x and y, float32
  EXPECT_EQ(report.steps, 3);
  EXPECT_GT(report.first_step_ms, 0);
  EXPECT_GT(report.median_step_ms, 0);
  EXPECT_LT(report.median_step_ms, report.wall_ms);
  EXPECT_NEAR(report.forward_ms + report.backward_ms + report.optimizer_ms + report.data_ms + report.evaluation_ms +
                  report.other_ms,
              report.wall_ms, 1e-6);

  std::map<ProfilePhase, double> total, self;
  for (const ProfileRow& row : report.operations) {
    if (row.within.empty()) total[row.phase] += row.total_ms;
    self[row.phase] += row.self_ms;
    EXPECT_GE(row.self_ms, 0) << row.name;
    EXPECT_LE(row.self_ms, row.total_ms + 1e-9) << row.name;
  }
  for (const auto& [phase, ms] : total) EXPECT_NEAR(ms, self[phase], 1e-6) << name(phase);
  EXPECT_NEAR(total[ProfilePhase::forward], report.forward_ms, 1e-6);
  EXPECT_NEAR(total[ProfilePhase::optimizer], report.optimizer_ms, 1e-6);
  EXPECT_LE(total[ProfilePhase::backward], report.backward_ms);
  EXPECT_LE(total[ProfilePhase::evaluation], report.evaluation_ms);
  EXPECT_NEAR(row_of(report.scopes, "backward", ProfilePhase::backward).total_ms, report.backward_ms, 1e-6);
  EXPECT_NEAR(report.modules[0].total_ms, total[ProfilePhase::forward] + total[ProfilePhase::backward], 1e-6);

  const std::string table = str(report);
  expect_parts(table, {"linear backward", "\n  matmul", "optimizer.step", "layers.*.up", "my \"part\""});
  expect_narrow(table);
}

TEST(Profiler, FindsModules) {
  const ProfileReport report = Profiled(quick(), 2).report;
  std::map<std::string, const ProfileRow*> modules;
  for (const ProfileRow& row : report.modules) modules[row.name] = &row;
  std::vector<std::string> names;
  for (const auto& [name, row] : modules) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"", "layers", "layers.0", "layers.0.down", "layers.0.norm", "layers.0.up",
                                             "layers.1", "layers.1.down", "layers.1.norm", "layers.1.up", "layers.2",
                                             "layers.2.down", "layers.2.norm", "layers.2.up", "table"}));
  EXPECT_EQ(modules["layers.1.up"]->calls, 3 + 2);  // forward (the named part, too) and backward
  EXPECT_EQ(modules["layers.1.up"]->flops, (3 + 2 * 2) * 2. * 6 * 4 * 8);
  EXPECT_EQ(modules["layers.1"]->calls, 4 * (3 + 2));  // with tanh, which is between up and down
  EXPECT_EQ(modules["layers"]->flops, 3 * 2 * modules["layers.1.up"]->flops);
  EXPECT_EQ(modules["table"]->calls, 3 + 2);
  EXPECT_NEAR(modules["layers.1"]->forward_ms + modules["layers.1"]->backward_ms, modules["layers.1"]->total_ms, 1e-9);
  EXPECT_EQ(detail::common_module("a.b.c", "a.b.d"), "a.b");
  EXPECT_EQ(detail::common_module("a.b1", "a.b"), "a");
  EXPECT_EQ(detail::common_module("a.b", "a.b.c"), "a.b");
  EXPECT_EQ(detail::common_module("a", "b"), "");
  EXPECT_EQ(detail::common_module("", "b"), "");
}

TEST(Profiler, WritesATraceOfNestedSpans) {
  const Profiled run;
  std::map<int, std::vector<Json>> threads;
  for (const Json& event : run.trace.at("traceEvents")) {
    if (event.at("ph") == "X") threads[event.at("tid")].push_back(event);
  }
  const std::vector<Json>& own = threads.at(1);
  EXPECT_EQ(run.trace.at("displayTimeUnit"), "ms");
  std::size_t events = 0;
  for (const auto& [thread, spans] : threads) events += spans.size();
  EXPECT_EQ(events, run.report.events);
  const auto nanoseconds = [](const Json& event, const char* field) {
    return std::llround(1000 * event.at(field).get<double>());
  };
  for (const auto& [thread, spans] : threads) {
    std::vector<int64_t> ends;
    int64_t last = 0;
    for (const Json& span : spans) {
      const int64_t begin = nanoseconds(span, "ts"), end = begin + nanoseconds(span, "dur");
      EXPECT_GE(begin, last);  // in order
      last = begin;
      while (!ends.empty() && ends.back() <= begin) ends.pop_back();
      if (!ends.empty()) {
        EXPECT_LE(end, ends.back()) << span;
      }
      ends.push_back(end);
    }
  }
  double sum = 0;
  bool module = false;
  for (const Json& span : own) {
    if (span.at("name") != "linear" || span.at("cat") != "forward") continue;
    sum += 1e-3 * span.at("dur").get<double>();
    const Json& arguments = span.at("args");
    EXPECT_EQ(arguments.at("flops"), 2 * 6 * 4 * 8);
    if (arguments.at("module") == "layers.2.down") {
      module = true;
      EXPECT_EQ(arguments.at("shapes"), "[6, 8] [4, 8] [4]");
    }
  }
  EXPECT_TRUE(module);
  EXPECT_NEAR(sum, row_of(run.report.operations, "linear").total_ms, 1e-6);
}

TEST(Profiler, HasABoundForItsTrace) {
  const ProfileReport all = Profiled().report, few = Profiled(quick(10)).report;
  EXPECT_EQ(few.events, 10);
  EXPECT_EQ(few.events + few.events_left_out, all.events);
  EXPECT_EQ(row_of(few.operations, "linear").calls, row_of(all.operations, "linear").calls);
}

TEST(Profiler, TimesAllThreads) {
  const KeepThreads keep;
  set_num_threads(2);
  const Profiler profiler(quick());
  const Tensor x = randn({512, 512});
  for (int i = 0; i < 20; ++i) matmul(x, x);
  std::thread([&] { tanh(x); }).join();
  const ProfileReport report = profiler.report();
  EXPECT_EQ(row_of(report.operations, "tanh").calls, 1);
  EXPECT_EQ(row_of(report.operations, "matmul").flops, 20 * 2. * 512 * 512 * 512);
  EXPECT_GE(row_of(report.operations, "matmul").threads(), 1);
  EXPECT_LE(row_of(report.operations, "matmul").threads(), 2.01);
  EXPECT_LT(report.forward_ms, row_of(report.operations, "matmul").total_ms + 1e-6);  // of this thread
}

TEST(Profiler, TimesOperationsWithoutATimer) {
  static const Op op{"test_without_timer"};
  const Profiler profiler(quick());
  Tape tape;
  const Tensor x = leaf({3}), y = record(op, x.detach() * 2, {x}, [](const Tensor&dy) -> Grads { return dy * 2; });
  tape.backward(sum(y));
  const ProfileReport report = profiler.report();
  EXPECT_EQ(row_of(report.operations, "test_without_timer").calls, 1);
  EXPECT_EQ(row_of(report.operations, "test_without_timer", ProfilePhase::backward).calls, 1);
  EXPECT_EQ(row_of(report.operations, "mul", ProfilePhase::backward, "test_without_timer").calls, 1);
}

TEST(Profiler, HasErrorsThatSayWhatIsWrong) {
  EXPECT_TEXT(error_of([] { const Profiler profiler({.max_events = -1}); }));
  Profiler profiler(quick());
  EXPECT_TEXT(error_of([] { const Profiler second; }));
  const std::string error = error_of([&] { profiler.write_trace("/nowhere/trace.json"); });
  EXPECT_TRUE(error.starts_with("[file] ")) << error;
  EXPECT_NE(error.find("/nowhere"), std::string::npos) << error;
  profiler.stop();
  tanh(ones({2}));
  EXPECT_TRUE(profiler.report().operations.empty());
}

TEST(Profiler, DataInTheCacheHaveNoShareOfThePeakOfMemory) {
  ProfileReport report;
  report.wall_ms = 1;
  for (const auto& [name, flops, bytes, share] :
       {std::tuple("add", 0.0, 1e9, 21.931), {"mul", 0.0, 1e6, 0.022}, {"matmul", 1e9, 0.0, 1.02}}) {
    ProfileRow& row = report.operations.emplace_back();
    row.name = name;
    row.calls = 1;
    row.total_ms = row.share = 1;
    row.flops = flops;
    row.bytes = bytes;
    row.peak_share = share;
  }
  const std::string text = str(report);
  expect_parts(text, {"   cache\n", "    2.2%\n", "  102.0%\n"});
  EXPECT_EQ(text.find("2193"), std::string::npos) << text;
}

}  // namespace
}  // namespace tapegrad::tests
