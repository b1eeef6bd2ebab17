// The blocks of code in the comments of distributed/ and of the libraries in tasks/, compiled and run (blocks.py).
#include <tapegrad/distributed.h>
#include <tapegrad/tests/comments/block_test.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

#include <iostream>

namespace tapegrad::tests {
namespace {

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
