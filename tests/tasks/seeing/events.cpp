// TensorBoard event files: their bytes, what a resumed run keeps, and those of runs.
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::train {
namespace {

using namespace tests;

std::string hexadecimal(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// The contents of the records.
std::vector<std::string> records(const std::string& file) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < file.size();) {
    uint64_t length = 0;
    std::memcpy(&length, file.data() + at, 8);
    out.push_back(file.substr(at + 12, length));
    at += length + 16;
  }
  return out;
}

std::size_t count(const std::vector<std::string>& records, const std::string& tag) {
  return static_cast<std::size_t>(std::count_if(records.begin(), records.end(), [&](const std::string& record) {
    return record.find(tag) != std::string::npos;
  }));
}

// The file of make_events.py.
void write_events(EventWriter& events) {
  events.add_text("settings", "| 가 | b |", 0);
  events.add_scalar("loss", 0.5, 1);
  const Figure two[] = {{"a", -1e30}, {"b", kInf}};
  events.add_scalars(two, 300);
  events.add_scalars({}, 300);  // nothing
  const Tensor i = arange(40).to(kFloat64);
  events.add_histogram("weight", (0.25 * i * i - 3).reshape({2, 20}).transpose(0, 1).transpose(0, 1), 300);
  events.add_histogram("same", tensor({2.0, kInf, 2.0, NAN, 2.0}), 300);
  events.add_histogram("none", zeros({3, 0}), int64_t{1} << 40);
}

using EventFiles = InAFolder;

TEST_F(EventFiles, HaveTheBytesOfTensorBoard) {
  const std::string path = folder / "events.tfevents";
  double time = 999;
  EventWriter events(path, 0, [&] { return time += 1; });
  write_events(events);
  events.sync();
  EXPECT_EQ(stored("events.json")["file"], hexadecimal(slurp(path)));
  EXPECT_EQ(error_of([&] { events.add_scalar("loss", 1, -1); }), "[events] expected a step of at least 0, got -1");
}

TEST_F(EventFiles, HistogramsOfEveryTypeAndShape) {
  const auto written = [&](const Tensor& x) {
    const std::string path = folder / "a.tfevents";
    EventWriter(path, -1, [] { return 1.0; }).add_histogram("x", x, 1);
    return slurp(path);
  };
  const Tensor x = tensor({-2.0, 0.0, 1.0, 3.0, 3.0, 120.0});
  for (const DType type : {kFloat32, kFloat16, kBFloat16, kInt64, kInt32})
    EXPECT_EQ(written(x.to(type)), written(x.to(kFloat64)));
  const Tensor strided = arange(12).to(kFloat32).reshape({3, 4}).transpose(0, 1);
  EXPECT_EQ(written(strided), written(strided.contiguous().reshape({-1})));
  EXPECT_EQ(written(tensor({true, false, true})), written(tensor({1.0, 0.0, 1.0})));
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(written(tensor(std::vector<double>{-most, most}, {2})).size(), written(tensor({0.0, 1.0})).size());
  EXPECT_LT(written(tensor(std::vector<double>{0, least}, {2})).size(), written(tensor({0.0, 1.0})).size());  // one bin
}

TEST_F(EventFiles, BytesThatAreNotUtf8AreReplaced) {
  EventWriter events(folder / "a.tfevents");
  events.add_text("a\xff", "b\xfe", 1);
  expect_parts(slurp(folder / "a.tfevents"), {"a\xef\xbf\xbd", "b\xef\xbf\xbd"});
}

TEST_F(EventFiles, AResumedRunKeepsTheStepsOfItsCheckpoint) {
  const std::string path = folder / "a.tfevents";
  const auto now = [] { return 1.0; };
  const auto write = [&](int64_t kept, int64_t first, int64_t last) {
    EventWriter events(path, kept, now);
    for (int64_t step = first; step <= last; ++step) events.add_scalar("loss", static_cast<double>(step), step);
  };
  write(0, 1, 20);
  const std::string whole = slurp(path);
  write(12, 13, 20);
  EXPECT_EQ(slurp(path), whole);
  spill(path, whole.substr(0, whole.size() - 3));  // killed while it wrote
  write(20, 20, 20);
  EXPECT_EQ(slurp(path), whole);
  write(0, 1, 20);
  EXPECT_EQ(slurp(path), whole);
  write(-1, 1, 20);  // nothing is kept
  EXPECT_EQ(slurp(path), whole);

  const std::string hint = " (without this file, the run continues and begins a new one)";
  std::string damaged = whole;
  damaged[20] ^= 1;
  spill(path, damaged);
  EXPECT_EQ(error_of([&] { write(20, 21, 21); }), "[events] " + path + ", record 1: its checksum is wrong" + hint);
  damaged = whole;
  damaged[2] ^= 1;
  spill(path, damaged);
  EXPECT_ERROR(write(20, 21, 21));
  EXPECT_EQ(slurp(path), damaged);
}

TEST_F(EventFiles, OfALoop) {
  const auto trained = [](int64_t steps) {
    return Trained({.epochs = 2,
                    .max_steps = steps,
                    .evaluate = [] { return Evaluation{.validation = 1, .training = 2}; },
                    .evaluate_every = 4});
  };
  RunFiles files{.folder = folder / "run",
                 .resume = true,
                 .checkpoint_every = 5,
                 .progress = false,
                 .tensorboard = true,
                 .report = {.settings = {{"width", "2 | 3", "of the model"}}},
                 .ended_epoch = [](EpochMetrics& epoch, const StepMetrics&, Progress&) { epoch.sample = "a text"; }};
  trained(7).loop.run(files);
  files.tensorboard = false;  // the file is there: it is continued
  trained(16).loop.run(files);
  const auto found = records(slurp(folder / ("run/" + std::string(kEventFile))));
  EXPECT_EQ(count(found, "train/loss"), 16U);
  EXPECT_EQ(count(found, "train/lr"), 16U);
  EXPECT_EQ(count(found, "train/accuracy"), 0U);
  EXPECT_EQ(count(found, "evaluation/validation_loss"), 6U);  // after the steps 1, 5, 7, 9, 13 and 16
  EXPECT_EQ(count(found, "evaluation/train_loss"), 6U);
  EXPECT_EQ(count(found, "model/weight"), 6U);
  EXPECT_EQ(count(found, "model/bias"), 6U);
  EXPECT_EQ(count(found, "epoch/loss"), 2U);
  EXPECT_EQ(count(found, "a text"), 2U);
  EXPECT_EQ(count(found, "| width | 2 \\| 3 | of the model |"), 1U);

  trained(7).loop.run({.folder = folder / "without", .progress = false});
  EXPECT_FALSE(fs::exists(folder / ("without/" + std::string(kEventFile))));
  trained(7).loop.run({.folder = folder / "run", .progress = false});
  EXPECT_FALSE(fs::exists(folder / ("run/" + std::string(kEventFile))));
  EXPECT_TRUE(fs::exists(folder / ("run/previous-1/" + std::string(kEventFile))));
}

}  // namespace
}  // namespace tapegrad::train
