// The blocks of code in the comments of autograd/, optim/, distributed/ and train/, compiled and run (blocks.py).
#include <tapegrad/distributed.h>
#include <tapegrad/tests/comments/block_test.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

#include <iostream>

namespace tapegrad::tests {
namespace {

TEST_F(Comments, Autocast) {
  optim::Adam adam(nn::parameters(model), {.lr = 0.01});
#include "comments/autograd/autocast_1.inc"
  EXPECT_EQ(adam.steps(), 1);
}

TEST_F(Comments, Derivatives) {
  const Tensor x = tensor({1.0, 2.0}), v = ones({2});
#include "comments/autograd/derivatives/derivatives_1.inc"
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{3, 12}));
  EXPECT_EQ(h.to_vector<float>(), (std::vector<float>{6, 12}));
  EXPECT_EQ(y.item(), 9);
  EXPECT_EQ(hv.to_vector<float>(), (std::vector<float>{6, 12}));
}

TEST_F(Comments, PerExample) {
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
  const double max_norm = 1, noise_multiplier = 0.5, batch_size = 4;
  Generator generator(1);
#include "comments/autograd/derivatives/per_example_1.inc"
  EXPECT_EQ(grads[model.weight].shape(), (Shape{4, 3, 2}));
#include "comments/autograd/derivatives/per_example_2.inc"
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST_F(Comments, Distributions) {
  const Tensor mean = zeros({2}), std = ones({2});
#include "comments/autograd/distributions/dist_1.inc"
  EXPECT_EQ(z.shape(), Shape{2});
  EXPECT_EQ(kl.to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST_F(Comments, Index) {
  const Tensor x = arange(12).reshape({3, 4}), ids = tensor({2, 0}), mask = x > 5;
#include "comments/autograd/index_1.inc"
  EXPECT_EQ(x(range(kAll, kAll, -1))(0).to_vector<int64_t>(), (std::vector<int64_t>{8, 9, 10, 11}));
}

TEST_F(Comments, Assignment) {
  Tensor x = arange(12).reshape({3, 4}).to(kFloat32);
  const Tensor y = full({}, 2.0), mask = x > 5, ids = tensor({2, 0});
#include "comments/autograd/tensor_1.inc"
  EXPECT_EQ(x(0).to_vector<float>(), (std::vector<float>{2, 5, 0, 0}));
  EXPECT_EQ(x(2).to_vector<float>(), (std::vector<float>{2, 2, 2, 2}));
}

namespace own_operation {
#include "comments/autograd/op_1.inc"
}

TEST_F(Comments, OwnOperation) { EXPECT_TRUE(gradcheck(own_operation::cube, {randn({3}, kFloat64)})); }

TEST_F(Comments, FlexAttention) {
  const int64_t T = 6;
  const Tensor query = randn({1, 2, T, 8}), key = randn({1, 2, T, 8}), value = randn({1, 2, T, 8});
#include "comments/autograd/ops/attention/flex/flex_attention_1.inc"
  EXPECT_EQ(y.shape(), query.shape());
}

TEST_F(Comments, FlexScore) {
  const Tensor query = randn({1, 2, 6, 8});
  const flex::Table<float> slopes(tensor({0.5, 0.25}).to(kFloat32));
#include "comments/autograd/ops/attention/flex/flex_score_1.inc"
  EXPECT_EQ(flex_attention(query, query, query, {.score_mod = soft_cap}).shape(), query.shape());
  EXPECT_EQ(flex_attention(query, query, query, {.score_mod = slope}).shape(), query.shape());
}

TEST_F(Comments, Fuse) {
  const Tensor u = ones({3}), u_x = full({3}, 2.0);
#include "comments/autograd/ops/fuse/fuse_1.inc"
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST_F(Comments, FuseWithANumber) {
  const double nu = 0.5;
  const Tensor u = ones({2}), u_t = ones({2}), u_x = ones({2}), u_xx = full({2}, 2.0);
#include "comments/autograd/ops/fuse/fuse_2.inc"
  EXPECT_EQ(residual.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_F(Comments, Losses) {
  const Tensor y = randn({4}), target = randn({4}), logits = randn({4, 3}), classes = tensor({0, 1, 2, 0});
#include "comments/autograd/ops/loss/losses_1.inc"
}

TEST_F(Comments, LinearCrossEntropy) {
  const nn::GPTModel gpt = small_gpt();
  const Tensor hidden = randn({2, 4, 8}), y = randint(0, 7, {2, 4});
#include "comments/autograd/ops/loss/losses_2.inc"
  EXPECT_NEAR(loss.item(), cross_entropy(linear(hidden, gpt.out_head.weight).reshape({8, 7}), y.reshape({8})).item(),
              1e-6);
}

TEST_F(Comments, Graph) {
#include "comments/autograd/profiler/graph_1.inc"
  EXPECT_GT(std::filesystem::file_size("step.dot"), 100u);
}

TEST_F(Comments, Profiler) {
  optim::Adam adam(nn::parameters(model), {.lr = 0.01});
  testing::internal::CaptureStdout();
#include "comments/autograd/profiler/profiler_1.inc"
  EXPECT_NE(testing::internal::GetCapturedStdout().find("cross_entropy"), std::string::npos);
  EXPECT_GT(std::filesystem::file_size("trace.json"), 100u);
}

TEST_F(Comments, Average) {
  optim::SGD adam(nn::parameters(model), {.lr = 0.01});
  const auto evaluate = [&](const nn::Linear& tested) { EXPECT_TRUE(tested.weight->defined()); };
  const Gradients grads = gradients();
#include "comments/optim/average_1.inc"
  EXPECT_EQ(adam.steps(), 1);
}

namespace own_optimiser {
#include "comments/optim/optimizer_1.inc"
}

TEST_F(Comments, OwnOptimiser) {
  own_optimiser::Sign sign(nn::parameters(model), 0.5);
  const std::vector<float> before = model.bias->to_vector<float>();
  sign.step(gradients());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::abs(model.bias->to_vector<float>()[i] - before[i]), 0.5, 1e-6);
}

TEST_F(Comments, Lbfgs) {
  const Tensor y = x(all, range(0, 1)) + zeros({4, 3});
#include "comments/optim/rules/lbfgs_1.inc"
  EXPECT_LT(mse_loss(model(x), y).item(), 1e-6);
}

TEST_F(Comments, Schedules) {
  using namespace optim;
#include "comments/optim/schedule_1.inc"
  EXPECT_NEAR(chain(100), 1e-3, 1e-12);
}

struct Examples {
  int64_t size() const { return 8; }
  std::pair<Tensor, int64_t> operator[](int64_t i) const { return {full({2}, static_cast<double>(i)), i % 3}; }
};
using Batch = std::pair<Tensor, Tensor>;

TEST_F(Comments, DataParallel) {
  optim::Adam adam(nn::parameters(model), {.lr = 0.1});
  const auto x = [&](int64_t) { return this->x; };
  const auto y = [&](int64_t) { return this->y; };
  testing::internal::CaptureStdout();
#include "comments/distributed/data_parallel_1.inc"
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1000);
}

TEST_F(Comments, TwoModels) {
  const nn::Linear generator(2, 2), critic(2, 1);
  optim::Adam of_generator(nn::parameters(generator), {.lr = 0.1});
#include "comments/optim/optimizer_2.inc"
  Tape tape;
  of_generator.step(tape.backward(mean(critic(generator(ones({1, 2}))))));
  EXPECT_EQ(of_generator.steps(), 1);
}

TEST_F(Comments, TransformOfGradients) {
#include "comments/optim/gradient_transform_1.inc"
  Gradients grads = gradients();
  optim::StepGradients step(grads);
  sign(step);
  EXPECT_EQ(amin(abs(grads[model.bias])).item(), 1);
  EXPECT_EQ(amax(abs(grads[model.bias])).item(), 1);
}

TEST_F(Comments, Loader) {
  const Examples dataset;
  int64_t seen = 0;
  const auto step = [&](const Batch& batch) { seen += batch.second.size(0); };
#include "comments/train/data/data_loader_1.inc"
  EXPECT_EQ(seen, 80);
}

TEST_F(Comments, Csv) {
  std::ofstream("flowers.csv") << "length,species\n1.5,iris\n2.5,rose\n";
#include "comments/train/data/tables/csv_1.inc"
  EXPECT_EQ(loader.begin().next()->first.shape(), (Shape{2, 1}));
}

TEST_F(Comments, Features) {
  std::ofstream("leaves.csv") << "length,soil,kind\n1,clay,fern\n2,sand,moss\n3,clay,fern\n4,sand,moss\n5,clay,moss\n";
  std::ofstream("new.csv") << "soil,length\nsand,3\nclay,4\n";
  const nn::Linear net(3, 2);
#include "comments/train/data/tables/features_1.inc"
#include "comments/train/data/tables/features_2.inc"
  EXPECT_EQ(loader.begin().next()->first.shape(), (Shape{4, 3}));
  EXPECT_EQ(rows.slice(1, 1, 3).to_vector<float>(), (std::vector<float>{0, 1, 1, 0}));
}

TEST_F(Comments, ImageFolder) {
  // libpng is optional: without it there is no PNG to write.
  if (data::image_formats().size() < 2) GTEST_SKIP() << "built without libpng or libjpeg";
  std::filesystem::create_directories("flowers/rose");
  data::save_image("flowers/rose/1.png", ones({3, 8, 8}));
#include "comments/train/data/images/image_folder_1.inc"
  EXPECT_EQ(loader.begin().next()->first.shape(), (Shape{1, 1, 32, 32}));
}

TEST_F(Comments, JsonLines) {
  std::ofstream("reviews.jsonl") << R"({"text": "good", "label": "yes"})"
                                 << "\n"
                                 << R"({"text": "no", "label": "no"})";
  const auto tokenizer = data::train_byte_pairs("good and no good", 260);
#include "comments/train/data/tables/json_lines_1.inc"
  EXPECT_EQ(loader.begin().next()->first.values.size(0), 2);
}

TEST_F(Comments, Tokenizers) {
  std::filesystem::create_directory_symlink(std::filesystem::path(kSourceDir) / "tests/data/gpt2_cut", "gpt2");
#include "comments/train/data/tokenizers/tokenizer_1.inc"
  EXPECT_EQ(text, "Hello, I am");
  EXPECT_EQ(data::load_tokenizer("my-tokenizer")->decode(trained->encode(text)), text);
}

TEST_F(Comments, Checkpoint) {
  optim::Adam adam(nn::parameters(model), {.lr = 0.1});
  int64_t step = 7;
  std::filesystem::create_directory("out");
  adam.step(gradients());
  const std::string bits = bits_of(nn::state_dict(model));
#include "comments/train/files/checkpoint_1.inc"
  EXPECT_EQ(bits_of(nn::state_dict(model)), bits);
  EXPECT_EQ(step, 7);
}

TEST_F(Comments, Events) {
  std::filesystem::create_directories("out/mine/own");
#include "comments/train/files/events_1.inc"
  EXPECT_GT(std::filesystem::file_size("out/mine/own/events.out.tfevents"), 100u);
}

TEST_F(Comments, Loop) {
  data::DataLoader loader(Examples(), {.batch_size = 4});
  optim::Adam adam(nn::parameters(model), {.lr = 0.1});
  const auto loss_of = [](const nn::Linear& model, const Batch& batch) {
    return cross_entropy(model(batch.first), batch.second);
  };
  testing::internal::CaptureStdout();
#include "comments/train/loop_1.inc"
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(adam.steps(), 20);
  EXPECT_TRUE(std::filesystem::exists("out/mine/model.safetensors"));
}

TEST_F(Comments, LoopOfParts) {
  data::DataLoader loader(Examples(), {.batch_size = 4});
  nn::Linear generator(2, 2);
  optim::Adam adam(nn::parameters(generator), {.lr = 0.1});
  const optim::Constant schedule{0.1};
  const auto train_critic = [](const Batch&) { return 2.0; };
  const auto train_generator = [](const Batch&) { return 1.0; };
  nn::Linear& critic = model;
#include "comments/train/parts_1.inc"
  EXPECT_EQ(critic.bias->size(0), 3);
#include "comments/train/loop_2.inc"
  EXPECT_EQ(loop.step().loss, 1);
}

}  // namespace
}  // namespace tapegrad::tests
