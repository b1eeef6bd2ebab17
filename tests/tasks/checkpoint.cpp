// Checkpoints of any program, and the files of older versions.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace tapegrad::train {
namespace {

using tests::error_of;
using tests::expect_error;
using tests::Ran;
using tests::run_command;
using tests::slurp;
using tests::spill;
using tests::TemporaryFolder;

struct Own {
  nn::Linear first{3, 5}, second{5, 2};
  void visit(auto&& field) { field("first", first), field("second", second); }
};

TEST(Checkpoint, StoresModelOptimiserGeneratorAndFields) {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  Own model;
  optim::Adam adam(nn::parameters(model), {.lr = 0.1});
  const auto step = [&](Own& m, optim::Adam& a, Generator& g) {
    Tape tape;
    const Tensor loss = sum(m.second(relu(m.first(randn({4, 3}, kFloat32, &g)))));
    a.step(tape.backward(loss));
    return loss.item();
  };
  Generator draws(5);
  step(model, adam, draws);

  Checkpoint out;
  out.add("model.", nn::state_dict(model));
  out.add("adam.", adam.state());
  out.add("draws", draws);
  out.set("step", 1);
  out.set("third", 1.0 / 3);
  out.set("largest", std::numeric_limits<uint64_t>::max());
  out.set("infinite", -std::numeric_limits<double>::infinity());
  out.set("name", "caf\xc3\xa9 \"\n");
  out.save(path);
  const double expected = step(model, adam, draws);

  Own other;
  optim::Adam other_adam(nn::parameters(other), {.lr = 0.1});
  Generator other_draws(9);
  const Checkpoint in = Checkpoint::load(path);
  nn::load_state_dict(other, in.with_prefix("model."));
  other_adam.load_state(in.with_prefix("adam."));
  in.restore("draws", other_draws);
  EXPECT_EQ(step(other, other_adam, other_draws), expected);
  EXPECT_EQ(in.get<int64_t>("step"), 1);
  EXPECT_EQ(in.get<double>("third"), 1.0 / 3);
  EXPECT_EQ(in.get<uint64_t>("largest"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(in.get<double>("infinite"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(in.get<std::string>("name"), "caf\xc3\xa9 \"\n");
  EXPECT_TRUE(in.has("step") && !in.has("steps"));
  EXPECT_EQ(in.fields, out.fields);
  EXPECT_EQ(error_of([&] { in.get<int64_t>("steps"); }), "[checkpoint] it has no field \"steps\"");
  EXPECT_EQ(error_of([&] { in.get<int64_t>("third"); }),
            "[checkpoint] expected a whole number as field \"third\", got \"" + in.fields.at("third") + "\"");
  EXPECT_EQ(error_of([&] { in.get<int64_t>("largest"); }),
            "[checkpoint] expected a whole number as field \"largest\", got \"18446744073709551615\"");
  EXPECT_EQ(error_of([&] { in.bytes_named("other"); }), "[checkpoint] it has no bytes named \"other\"");
}

// The bytes of the format, as any reader of safetensors sees them.
TEST(Checkpoint, IsASafetensorsFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  Checkpoint out;
  out.add("w.", {{"a", tensor({1.0, 2.0})}});
  out.bytes["draws"] = {std::byte{1}, std::byte{200}};
  out.set("step", 7);
  out.save(path);
  const std::string file = slurp(path);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  EXPECT_EQ(header["__metadata__"]["kind"], "tapegrad checkpoint");
  EXPECT_EQ(header["__metadata__"]["step"], "7");
  EXPECT_EQ(header["draws"].dump(), R"({"data_offsets":[8,10],"dtype":"U8","shape":[2]})");
  EXPECT_EQ(header["w.a"].dump(), R"({"data_offsets":[0,8],"dtype":"F32","shape":[2]})");
  EXPECT_EQ(file.substr(8 + length), std::string("\0\0\x80\x3f\0\0\0\x40\x01\xc8", 10));
}

TEST(Checkpoint, OtherFilesAreNotCheckpoints) {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  const std::string not_one = "[checkpoint] " + path + ": not a checkpoint of tapegrad, or damaged in its header";
  save_safetensors(path, {{"x", ones({1})}}, {{"kind", "tapegrad checkpoint"}});
  EXPECT_EQ(error_of([&] { Checkpoint::load(path); }), not_one) << "without checksums";
  save_safetensors(path, {{"x", ones({1})}}, {}, {.checksums = true});
  EXPECT_EQ(error_of([&] { Checkpoint::load(path); }), not_one) << "a model";
  Checkpoint out;
  out.set("kind", "mine");
  EXPECT_EQ(error_of([&] { out.save(path); }), "[checkpoint] a field must not be named \"kind\"");
}

// ---- Files of tapegrad 0.1.0, as its release build wrote them ----

const std::string kOld = std::string(tests::kTestsDir) + "/data/version_0_1/";

TEST(Version01, ItsModelsAreRead) {
  const TemporaryFolder folder;
  struct Found {
    const char* task;
    double token_accuracy;
  };
  // The figures that version 0.1.0 printed for them.
  for (const auto& [task, token_accuracy] : {Found{"copy", 0.04}, {"addition", 0.09}, {"parser", 0.012}}) {
    const Ran ran = run_command({"test", task, "--model", kOld + task + ".safetensors", "--count", "50", "--json"},
                                {.folder = folder.path()});
    ASSERT_EQ(ran.code, 1) << ran.err;
    const auto json = nlohmann::json::parse(ran.out);
    EXPECT_NEAR(json["token_accuracy"].get<double>(), token_accuracy, 0.0005) << task;
  }
  const Ran text = run_command(
      {"generate", "gpt", "--model", kOld + "gpt.safetensors", "--prompt", "two plus", "--max-new-tokens", "10"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "two plus w wew..zp\n");
}

TEST(Version01, ItsCheckpointsAreRejectedByName) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "run");
  spill(folder / "run/checkpoint", slurp(kOld + "gpt.checkpoint"));
  expect_error(run_command({"train", "gpt", "--resume", "--out", folder / "run"}, {.folder = folder.path()}), 1,
               {"[checkpoint]", "run/checkpoint", "written by tapegrad 0.1.0", "or start a new one"});
}

TEST(Checkpoints, FieldsAreUtf8) {
  Checkpoint out;
  EXPECT_EQ(error_of([&] { out.set("text", std::string("a\xff")); }),
            "[checkpoint] expected the field \"text\" in UTF-8 (other bytes belong into `bytes`)");
  out.set("text", std::string("가"));
  EXPECT_EQ(out.get<std::string>("text"), "가");
}

}  // namespace
}  // namespace tapegrad::train
