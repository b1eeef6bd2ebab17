// Features: scaled numbers and one-hot classes of the training split, the same from a model's file, rows and splits of
// tables, and errors.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::data {
namespace {

using namespace tests;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;
using Metadata = std::map<std::string, std::string>;

class TableFeatures : public testing::Test {
 protected:
  Csv csv(const std::string& text, const std::vector<Column>& columns) const {
    spill(folder_ / "table.csv", text);
    return Csv(folder_ / "table.csv", columns);
  }
  const TemporaryFolder folder_;
  const std::vector<Column> columns_{numbers("n"),
                                     numbers("k", {.dtype = kInt64}),
                                     numbers("flat", {.missing = 2}),
                                     classes("soil", {.missing = "clay"}),
                                     classes("kind"),
                                     texts("t")};
  const Csv table_ = csv("n,k,flat,soil,kind,t\n1,10,2,clay,fern,a\n3,20,,sand,moss,b\n5,60,2,,fern,c\n", columns_);
};

TEST_F(TableFeatures, NumbersAreScaledAndClassesAreOneHot) {
  const Features features(table_, {"soil", "n", "flat", "k"}, "kind");
  EXPECT_EQ(features.size(), 5);
  EXPECT_EQ(features.classes(), (Names{"fern", "moss"}));
  const Tensor inputs = features(table_);
  EXPECT_EQ(inputs.dtype(), kFloat32);
  EXPECT_EQ(inputs.slice(1, 0, 2).to_vector<float>(), (Floats{1, 0, 0, 1, 1, 0}));
  expect_near(inputs.slice(1, 2, 3).to(kFloat64) * std::sqrt(8.0 / 3), {-2, 0, 2});
  EXPECT_EQ(inputs.select(1, 3).to_vector<float>(), (Floats{0, 0, 0}));  // all equal
  expect_near(inputs.slice(1, 4, 5).to(kFloat64) * std::sqrt(1400.0 / 3), {-20, -10, 30});
  const TensorDataset rows = table_.dataset(features);
  EXPECT_TRUE(same_bits(rows.inputs(), inputs));
  EXPECT_EQ(rows.targets().to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 0}));
}

TEST_F(TableFeatures, ATargetMayBeANumber) {
  const Features features(table_, {"soil"}, "n");
  EXPECT_EQ(features.classes(), Names());
  EXPECT_EQ(table_.dataset(features).targets().to_vector<float>(), (Floats{1, 3, 5}));
}

// Other rows are scaled by what the training rows have, not by their own numbers.
TEST_F(TableFeatures, AreThoseOfTheTrainingSplit) {
  const Table first = table_.rows(std::vector<int64_t>{2, 0});
  EXPECT_EQ(first.size(), 2);
  EXPECT_EQ(first["n"].to_vector<float>(), (Floats{5, 1}));
  EXPECT_EQ(first.texts("t"), (Names{"c", "a"}));
  EXPECT_EQ(first.names("kind"), (Names{"fern", "moss"}));  // moss has no row
  const Features features(first, {"n"}, "kind");
  EXPECT_EQ(features(table_).to_vector<float>(), (Floats{-1, 0, 1}));
}

TEST_F(TableFeatures, SplitsAreThoseOfRandomSplit) {
  std::string text = "n\n";
  for (int i = 0; i < 11; ++i) text += std::to_string(i) + "\n";
  const Csv table = csv(text, {numbers("n", {.dtype = kInt64})});
  Generator one(3), two(3);
  const auto [training, rest] = table.split(0.7, one);
  const auto parts = random_split(TensorDataset(table["n"], table["n"]), std::vector<int64_t>{8, 3}, two);
  EXPECT_EQ(training["n"].to_vector<int64_t>(), parts[0].indices());
  EXPECT_EQ(rest["n"].to_vector<int64_t>(), parts[1].indices());
  EXPECT_EQ(table.split(1).second.size(), 0);
  EXPECT_EQ(table.split(0).second.size(), 11);
}

TEST_F(TableFeatures, AreInTheFileOfTheModel) {
  const Features features(table_, {"n", "soil", "flat", "k"}, "kind");
  save_safetensors(folder_ / "model", {{"w", ones({1})}}, features.metadata(), {.checksums = true});
  const Features same(load_safetensors(folder_ / "model").metadata);
  EXPECT_EQ(same.metadata(), features.metadata());
  EXPECT_EQ(same.classes(), features.classes());
  EXPECT_TRUE(same_bits(same(table_), features(table_)));
  // A file without the target, whose classes alone would have other numbers, and with missing values.
  const Csv rows = csv("k,soil,n,flat\n20,sand,3,2\n10,,1,\n", same.inputs());
  EXPECT_TRUE(same_bits(same(rows), features(table_.rows(std::vector<int64_t>{1, 0}))));
  EXPECT_EQ(Features(Features(table_, {"soil"}, "k").metadata()).target_of(table_).dtype(), kInt64);
}

TEST_F(TableFeatures, ANewFileHasTheClassesOfTheFirst) {
  const Features features(table_, {"soil"}, "kind");
  EXPECT_ERROR(features(csv("soil\nsand\n", {classes("soil")})));
  EXPECT_ERROR(features(csv("soil\n1\n", {numbers("soil")})));
  EXPECT_ERROR(features(csv("n\n1\n", {numbers("n")})));
  EXPECT_ERROR(features.target_of(csv("kind\nmoss\n", {classes("kind")})));
}

TEST_F(TableFeatures, WhatCannotBeFeatures) {
  EXPECT_ERROR(Features(table_, {}, "kind"));
  EXPECT_ERROR(Features(table_, {"n", "n"}, "kind"));
  EXPECT_ERROR(Features(table_, {"n", "kind"}, "kind"));
  EXPECT_ERROR(Features(table_, {"t"}, "kind"));
  EXPECT_ERROR(Features(table_, {"n"}, "t"));
  EXPECT_ERROR(Features(table_, {"x"}, "kind"));
  EXPECT_ERROR(Features(table_.rows({}), {"n"}, "kind"));
  EXPECT_ERROR(Features(csv("x,y\n1,1\ninf,2\n", {numbers("x"), numbers("y")}), {"x"}, "y"));
  EXPECT_ERROR(Features(csv("x,y\n1,\xff\n", {numbers("x"), classes("y")}), {"x"}, "y").metadata());
  EXPECT_ERROR(Features(Metadata{}));
  EXPECT_ERROR(Features(Metadata{{"features", "{}"}}));
  EXPECT_ERROR(Features(Metadata{{"features", "{"}}));
  EXPECT_ERROR(table_.split(1.5));
  EXPECT_ERROR(table_.rows(std::vector<int64_t>{3}));
}

TEST_F(TableFeatures, TrainAModel) {
  std::string text = "amount,kind,price\n";
  for (int i = 0; i < 60; ++i) {
    const int amount = 1000 + 37 * i % 400;
    text += fmt::format("{},{},{}\n", amount, i % 3 == 0 ? "big" : "small", amount * 0.01 + (i % 3 == 0 ? 5 : 0));
  }
  const Csv table = csv(text, {numbers("amount"), classes("kind"), numbers("price")});
  manual_seed(1);
  const auto [training, rest] = table.split(0.8);
  const Features features(training, {"amount", "kind"}, "price");
  nn::Linear model(features.size(), 1);
  optim::Adam adam(nn::parameters(model), {.lr = 0.3});
  const DataLoader loader(training.dataset(features), {.batch_size = 16, .shuffle = true});
  for (int epoch = 0; epoch < 100; ++epoch) {
    for (const auto& [x, y] : loader.epoch()) {
      Tape tape;
      adam.step(tape.backward(mse_loss(model(x).squeeze(1), y)));
    }
  }
  EXPECT_LT(mse_loss(model(features(rest)).squeeze(1), features.target_of(rest)).item(), 0.01);
}

}  // namespace
}  // namespace tapegrad::data
