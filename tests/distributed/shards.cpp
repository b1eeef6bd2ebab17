// Checkpoints that several processes write together, while they go on: of threads as processes.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/mail.h>
#include <tapegrad/tests/support/special_files.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/internal/shard_writer.h>

#include <cstring>

namespace tapegrad::train {
namespace {

using namespace tests;
using detail::Shard;
using detail::ShardWriter;
using distributed::DataParallel;
using distributed::DividedTensor;
using distributed::World;

namespace fs = std::filesystem;
constexpr int kSize = 3;

// What a process of kSize has of [5] and [2, 7]: i + step.
std::vector<DividedTensor> numbers(int rank, double step) {
  std::vector<DividedTensor> out;
  int64_t first = 0;
  for (const Shape& shape : {Shape{5}, Shape{2, 7}}) {
    const int64_t n = shape.numel();
    DividedTensor& one = out.emplace_back();
    one.name = str(shape), one.shape = shape, one.parts = detail::divided_evenly(first, n, 19, kSize);
    const Tensor whole = arange(0, static_cast<double>(n), 1, kFloat32) + step;
    for (const auto& [of, begin, end] : one.parts)
      if (of == rank) one.own = whole.slice(0, begin, end).clone();
    first += n;
  }
  return out;
}

Checkpoint rest_of(int64_t step) {
  Checkpoint out;
  out.set("steps", step);
  return out;
}

// The step of a whole checkpoint, whose tensors must be of this step, too; a text says why not.
std::string read_at(const std::string& path) {
  const Checkpoint in = Checkpoint::load(path);
  const auto step = in.get<int64_t>("steps");
  for (const auto& [name, tensor] : in.tensors) {
    const Tensor expected = (arange(0, static_cast<double>(tensor.numel()), 1, kFloat32) + static_cast<double>(step));
    if (str(tensor.shape()) != name || tensor.flatten().to_vector<float>() != expected.to_vector<float>())
      return "another " + name;
  }
  return in.tensors.size() == 2 ? std::to_string(step) : "other tensors";
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::set<std::string> shards_of(int step) {
  std::set<std::string> names;
  for (int r = 0; r < kSize; ++r) names.insert(fmt::format("step-{}-rank-{}-of-{}.safetensors", step, r, kSize));
  return names;
}

struct Shards : testing::Test {
  // Runs f(world, writer) in kSize processes; the Errors of each.
  template <class F>
  std::vector<std::string> write(const F& f, ShardWriter::Save save = detail::save_shard) {
    const RunFolder locked(run);
    fs::create_directory(run + "/checkpoint-shards");
    return errors_of_worlds(kSize, [&](const World& world) {
      ShardWriter writer(world, locked, save);
      f(world, writer);
    });
  }
  std::vector<std::string> write_whole(int64_t step, ShardWriter::Save save = detail::save_shard) {
    const auto one = [step](const World& world, ShardWriter& writer) {
      writer.begin(step, numbers(world.rank(), static_cast<double>(step)), rest_of(step), [] {});
      writer.finish();
    };
    return write(one, save);
  }
  std::string file(const std::string& name) const { return run + "/" + name; }
  std::string shard(int step, int rank) const {
    return fmt::format("{}/checkpoint-shards/step-{}-rank-{}-of-{}.safetensors", run, step, rank, kSize);
  }
  std::string error_of_load() const {
    return error_of([&] { Checkpoint::load(file("checkpoint")); });
  }
  TemporaryFolder folder;
  std::string run = folder / "run";
};

// Processes meet while all shards are being written: nothing waits for the disk.
TEST_F(Shards, AreWrittenWhileStepsRun) {
  std::atomic<bool> may_write = false;
  std::atomic<int> met = 0;
  const auto slow = [&](const Destination& to, const std::vector<DividedTensor>& tensors) {
    while (!may_write) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return detail::save_shard(to, tensors);
  };
  expect_no_errors(write(
      [&](const World& world, ShardWriter& writer) {
        writer.begin(7, numbers(world.rank(), 7), rest_of(7), [&] { EXPECT_FALSE(is_there(file("checkpoint"))); });
        for (int step = 0; step < 5; ++step) {
          world.barrier();
          EXPECT_TRUE(writer.is_writing());
          ++met;
        }
        world.barrier();
        EXPECT_EQ(met, 5 * kSize);
        EXPECT_FALSE(is_there(file("checkpoint")));
        may_write = true;
        writer.finish();
        EXPECT_FALSE(writer.is_writing());
        world.barrier();
        EXPECT_EQ(read_at(file("checkpoint")), "7");
      },
      slow));
  EXPECT_EQ(names_in(file("checkpoint-shards")), shards_of(7));
}

// A run that ends before, between or after the parts of a checkpoint leaves the earlier or the later one.
TEST_F(Shards, AreTheEarlierOrTheLaterCheckpointAtEveryMoment) {
  expect_no_errors(write_whole(7));
  EXPECT_EQ(read_at(file("checkpoint")), "7");
  const auto end_after = [&](int parts) {
    return write([&, parts](const World& world, ShardWriter& writer) {
      writer.begin(14, numbers(world.rank(), 14), rest_of(14), [] { fail("disk", "gone"); });
      for (int part = 0; part < parts; ++part) {
        while (writer.is_writing()) std::this_thread::yield();
        world.barrier();
        writer.advance();
      }
    });
  };
  expect_no_errors(end_after(0));
  EXPECT_EQ(read_at(file("checkpoint")), "7");
  expect_no_errors(end_after(1));  // all shards are there
  EXPECT_EQ(read_at(file("checkpoint")), "7");
  for (const std::string& error : end_after(2)) EXPECT_EQ(error, "[disk] gone");
  EXPECT_EQ(read_at(file("checkpoint")), "7");
  expect_no_errors(write_whole(21));
  EXPECT_EQ(read_at(file("checkpoint")), "21");
  EXPECT_EQ(names_in(file("checkpoint-shards")), shards_of(21));  // nothing else has stayed
}

TEST_F(Shards, AFailedWriteIsTheSameErrorEverywhere) {
  expect_no_errors(write_whole(7));
  const auto full = [&](const Destination& to, const std::vector<DividedTensor>& tensors) {
    if (to.name().find("rank-1") != to.name().npos) fail("file", "No space left on device");
    return detail::save_shard(to, tensors);
  };
  for (const std::string& error : write_whole(14, full)) EXPECT_EQ(error, "rank 1: [file] No space left on device");
  EXPECT_EQ(read_at(file("checkpoint")), "7");
}

TEST_F(Shards, OnAFullDiskTheEarlierCheckpointStays) {
  const SmallDisk disk;
  // Only the superuser may mount a disk of a few blocks; CI is one.
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  run = disk.path() + "/run";
  expect_no_errors(write_whole(7));
  const auto full = [&](const Destination& to, const std::vector<DividedTensor>& tensors) {
    disk.fill();
    return detail::save_shard(to, tensors);
  };
  for (const std::string& error : write_whole(14, full)) expect_parts(error, {"No space left on device"});
  EXPECT_EQ(read_at(file("checkpoint")), "7");
  fs::remove(disk.path() + "/filler");
  expect_no_errors(write_whole(14));
  EXPECT_EQ(read_at(file("checkpoint")), "14");
}

TEST_F(Shards, ThatAreMissingOrDamagedAreErrors) {
  const auto written = [&] {
    fs::remove_all(run);
    expect_no_errors(write_whole(8));
    return slurp(shard(8, 1));
  };
  written();
  fs::remove(shard(8, 1));
  EXPECT_TEXT(error_of_load());
  const std::string whole = written();
  spill(shard(8, 1), whole.substr(0, whole.size() - 1));
  EXPECT_TEXT(std::string(error_of_load()));
  std::string bad = whole;
  bad.back() = static_cast<char>(bad.back() + 1);  // of a number
  spill(shard(8, 1), bad);
  expect_parts(error_of_load(), {"[safetensors] ", "run/checkpoint-shards/step-8-rank-1-of-3.safetensors: damaged: "});
  spill(shard(8, 1), replaced(whole, "tapegrad checkpoint shard", "tapegrad checkpoint short"));
  expect_parts(error_of_load(), {"run/checkpoint-shards/step-8-rank-1-of-3.safetensors: damaged"});
  written();
  const std::string ours = slurp(file("checkpoint"));
  expect_no_errors(write_whole(9));
  fs::rename(shard(9, 1), shard(8, 1));  // of another step, of the same size
  spill(file("checkpoint"), ours);
  for (const int rank : {0, 2}) fs::rename(shard(9, rank), shard(8, rank));
  EXPECT_TEXT((error_of_load()));
}

TEST_F(Shards, ListsThatAreNotWholeAreErrors) {
  const std::string path = "RUN/checkpoint", shard = R"("shards":[{"file":"a","bytes":1,"checksum":2}],)";
  const auto error = [&](const std::string& text) { return error_of([&] { detail::Shards read(path, text); }); };
  const auto tensor = [&](const std::string& shape, const std::string& parts) {
    return error("{" + shard + R"("tensors":[{"name":"x","dtype":"float32","shape":)" + shape + R"(,"parts":)" + parts +
                 "}]}");
  };
  EXPECT_EQ(tensor("[2,3]", "[[0,4,6],[0,0,4]]"), "no error");
  EXPECT_EQ(tensor("[0]", "[]"), "no error");
  const std::string missing = R"([checkpoint] RUN/checkpoint: its list of shards does not have all of "x")";
  for (const char* parts : {"[[0,0,5]]", "[[0,0,4],[0,5,6]]", "[[0,0,4],[0,3,6]]", "[[1,0,6]]", "[[-1,0,6]]",
                            "[[0,0,7]]", "[[0,0,9],[0,9,6]]", "[]"})
    EXPECT_EQ(tensor("[2,3]", parts), missing) << parts;
  EXPECT_EQ(tensor("[2,3]", "[[0,0]]"), "[checkpoint] RUN/checkpoint: its list of shards is damaged");
  EXPECT_EQ(tensor("\"2\"", "[]"), "[checkpoint] RUN/checkpoint: its list of shards is damaged");
  EXPECT_TEXT(error("{"));
  EXPECT_EQ(error("[]"), "[checkpoint] RUN/checkpoint: its list of shards is damaged");
  const detail::Shards above(path, R"({"shards":[{"file":"..","bytes":1,"checksum":2}],"tensors":[{"name":"x",)"
                                   R"("dtype":"float32","shape":[],"parts":[[0,0,1]]}]})");
  EXPECT_ERROR(above.read("x", 0, 1));
}

TEST(DividedEvenly, EveryElementOnceAndNobodyTwice) {
  for (const int64_t size : {1, 2, 3, 7, 64}) {
    const std::vector<int64_t> numels{5, 0, 1, 100, 13};
    std::vector<int64_t> held(static_cast<std::size_t>(size));
    int64_t first = 0;
    for (const int64_t numel : numels) {
      int64_t end = 0, last = -1;
      for (const auto& part : detail::divided_evenly(first, numel, 119, size)) {
        EXPECT_EQ(part.begin, end);
        EXPECT_GT(part.rank, last);
        held[static_cast<std::size_t>(part.rank)] += part.end - part.begin;
        end = part.end, last = part.rank;
      }
      EXPECT_EQ(end, numel);
      first += numel;
    }
    EXPECT_LE(std::ranges::max(held) - std::ranges::min(held), 1);
  }
}

// --- the optimiser's state ---

struct ShardsNet {
  nn::Linear in{40, 3000}, out{3000, 3};
};

template <class Optimizer>
class StateOf {
 public:
  explicit StateOf(const World& world)
      : optimizer_(nn::parameters(net_), {}), parallel_(world, optimizer_, {.accumulate = 12}) {}
  void step() {
    parallel_.step([&](int64_t batch) {
      Generator data(static_cast<uint64_t>(batch + 1));
      return mean(square(net_.out(relu(net_.in(randn({4, 40}, kFloat32, &data))))));
    });
  }
  std::vector<DividedTensor> divided() const { return parallel_.divided_state(); }
  NamedTensors whole() const { return parallel_.state(); }
  void load(const Checkpoint& in) {
    NamedTensors shapes = in.shards->shapes("");
    for (const NamedTensor& counts : in.tensors) shapes.push_back(counts);
    parallel_.load_state(shapes, [&](const std::string& name, int64_t begin, int64_t end) {
      read_ += end - begin;
      return in.shards->read(name, begin, end);
    });
  }
  int64_t read() const { return read_; }

 private:
  ShardsNet net_;
  Optimizer optimizer_;
  DataParallel parallel_;
  int64_t read_ = 0;
};

// Three processes write; any number reads, each what it updates.
TEST_F(Shards, AnyNumberOfProcessesReadsTheState) {
  const auto check = [&]<class Optimizer>(Optimizer*) {
    fs::remove_all(run);
    NamedTensors expected;
    expect_no_errors(write([&](const World& world, ShardWriter& writer) {
      StateOf<Optimizer> state(world);
      state.step();
      const NamedTensors whole = state.whole();
      Checkpoint counts;
      if (world.rank() == 0) expected = whole, counts.tensors = {whole[0], whole[1]};
      writer.begin(1, state.divided(), counts, [] {});
      state.step();  // changes nothing of it
      writer.finish();
    }));
    for (const int size : {1, 2, 3, 4, 6}) {
      std::atomic<int64_t> read = 0;
      expect_no_errors(errors_of_worlds(size, [&](const World& world) {
        StateOf<Optimizer> state(size == 1 ? World::alone() : world);
        state.load(Checkpoint::open(file("checkpoint")));
        read += state.read();
        const NamedTensors found = state.whole();
        if (world.rank() == 0) expect_same(found, expected);
      }));
      int64_t all = 0;
      for (std::size_t i = 2; i < expected.size(); ++i) all += expected[i].tensor.numel();
      EXPECT_EQ(read, all) << size;
    }
  };
  check(static_cast<optim::AdamW*>(nullptr));
  check(static_cast<optim::Adafactor*>(nullptr));  // parameters are not cut
}

// A process does not open the shards of which it needs nothing.
TEST_F(Shards, OnlyThoseThatAreNeededAreRead) {
  expect_no_errors(write_whole(8));
  fs::remove(shard(8, 2));
  const Checkpoint in = Checkpoint::open(file("checkpoint"));
  EXPECT_EQ(in.get<int64_t>("steps"), 8);
  EXPECT_EQ(in.shards->read("[5]", 1, 4).to_vector<float>(), (std::vector<float>{9, 10, 11}));
  EXPECT_EQ(in.shards->read("[2, 7]", 0, 7).to_vector<float>(), (std::vector<float>{8, 9, 10, 11, 12, 13, 14}));
  expect_parts(error_of([&] { in.with_prefix("[2"); }), {"is missing"});
}

}  // namespace
}  // namespace tapegrad::train
