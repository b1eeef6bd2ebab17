// BatchNorm, GroupNorm and InstanceNorm against PyTorch over several steps, running statistics, and pooling modules.
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor input(const Shape& shape, int64_t k) { return filled(shape, k).to(kFloat32); }

// Trains and evaluates as tests/data/make_batch_norm.py.
template <class Module>
void expect_steps(Module module, const Shape& shape, const std::string& name) {
  const Room room{1e-5, 2e-5};
  const Json& wanted = stored("batch_norm.json").at("cases").at(name);
  int64_t k = 0;
  for (const auto& [path, parameter] : nn::named_parameters(module))
    parameter.set(input(parameter->shape(), 20 + k++) + 1);
  int64_t step = 0;
  for (const Json& of : wanted.at("steps")) {
    const std::string where = name + " in step " + std::to_string(step);
    const Tensor x = (input(shape, step) * static_cast<double>(step + 1) + static_cast<double>(step)).as_leaf();
    Tape tape;
    const Tensor y = module(x);
    const Gradients grads = tape.backward(y, {.grad_output = input(y.shape(), step + 7)});
    expect_close(y, of.at("y"), room, where);
    expect_close(grads[x], of.at("grads")[0], room, where + ", dx");
    std::size_t i = 0;
    for (const auto& [path, parameter] : nn::named_parameters(module))
      expect_close(grads[parameter], of.at("grads")[++i], room, where + ", " + path);
    i = 0;
    for (const auto& [path, buffer] : nn::named_buffers(module))
      expect_close(buffer, of.at("buffers")[i++], room, where + ", " + path);
    EXPECT_EQ(i, of.at("buffers").size());
    ++step;
  }
  nn::eval(module);
  expect_close(module(input(shape, 9)), wanted.at("evaluation"), room, name + " in evaluation");
}

TEST(ChannelNorms, StepsEqualPyTorchs) {
  expect_steps(nn::BatchNorm1d(3), {5, 3}, "batch_norm1d");
  expect_steps(nn::BatchNorm1d(3, {.eps = 1e-3, .momentum = 0.3}), {2, 3, 4}, "batch_norm1d_long");
  const Shape images{2, 2, 3, 2};
  expect_steps(nn::BatchNorm2d(2), images, "batch_norm2d");
  expect_steps(nn::BatchNorm2d(2, {.momentum = std::nullopt}), images, "batch_norm2d_average");
  expect_steps(nn::BatchNorm2d(2, {.affine = false}), images, "batch_norm2d_plain");
  expect_steps(nn::BatchNorm2d(2, {.track_running_stats = false}), images, "batch_norm2d_untracked");
  expect_steps(nn::GroupNorm(2, 4), {2, 4, 3}, "group_norm");
  expect_steps(nn::InstanceNorm2d(2, {.affine = true}), images, "instance_norm2d");
  expect_steps(nn::InstanceNorm2d(2, {.affine = true, .track_running_stats = true}), images, "instance_norm2d_tracked");
  expect_steps(nn::InstanceNorm1d(3, {.eps = 1e-3, .momentum = 0.3, .track_running_stats = true}), {2, 3, 4},
               "instance_norm1d_tracked");
  expect_steps(nn::InstanceNorm1d(3, {.track_running_stats = true}), {3, 4}, "instance_norm1d_of_one");
}

TEST(BatchNorm, HasPyTorchsNames) {
  const Json& names = stored("batch_norm.json").at("names");
  EXPECT_EQ(Json(names_of(nn::state_dict(nn::BatchNorm2d(2)))), names.at("BatchNorm2d"));
  EXPECT_EQ(Json(names_of(nn::state_dict(nn::GroupNorm(2, 4)))), names.at("GroupNorm"));
  const nn::InstanceNorm2d tracked(2, {.affine = true, .track_running_stats = true});
  EXPECT_EQ(Json(names_of(nn::state_dict(tracked))), names.at("InstanceNorm2d"));
  EXPECT_TRUE(nn::state_dict(nn::InstanceNorm2d(2)).empty());
  EXPECT_EQ(nn::BatchNorm1d(2).num_batches_tracked->dtype(), kInt64);
  EXPECT_EQ(nn::BatchNorm1d(2).num_batches_tracked->shape(), Shape{});
  EXPECT_EQ(nn::count_parameters(nn::BatchNorm1d(2)), 4);
}

struct Block {
  nn::Linear linear{3, 4};
  nn::BatchNorm1d norm{4};
  Tensor operator()(const Tensor& x) const { return relu(norm(linear(x))); }
};

TEST(BatchNorm, RecomputeUpdatesStatisticsOnce) {
  const Tensor x = randn({6, 3}).as_leaf();
  const Block block;
  const auto results = [&](bool again) {
    const Block model = nn::clone(block);
    Tape tape;
    const auto f = [&](const Tensor& v) { return model(v); };
    const Tensor y = again ? nn::recompute(x, f) : f(x);
    const Gradients grads = tape.backward(sum(y * y));
    return std::vector<Tensor>{y.detach(),
                               grads[x],
                               grads[model.norm.weight],
                               model.norm.running_mean.tensor(),
                               model.norm.running_var.tensor(),
                               model.norm.num_batches_tracked.tensor()};
  };
  expect_same_results(results, {false, true});
}

TEST(BatchNorm, OnlyTrainingUpdatesStatistics) {
  const Tensor x = randn({6, 3}) + 2;
  Block model;
  const NamedTensors before = nn::state_dict(model);
  const Block copy = nn::clone(model);
  nn::eval(model);
  model(x);
  EXPECT_EQ(model.norm.num_batches_tracked->item<int64_t>(), 0);
  nn::train(model);
  model(x);
  EXPECT_EQ(model.norm.num_batches_tracked->item<int64_t>(), 1);
  EXPECT_FALSE(all(model.norm.running_mean.tensor() == 0));
  for (const NamedTensor& entry : before) {  // a snapshot, and a clone, keep their values
    EXPECT_TRUE(entry.name != "norm.running_mean" || all(entry.tensor == 0));
  }
  EXPECT_TRUE(all(copy.norm.running_mean.tensor() == 0));
  const Values mean = model.norm.running_mean->to_vector<float>();
  model(zeros({0, 3}));
  EXPECT_EQ(model.norm.running_mean->to_vector<float>(), mean);
  EXPECT_EQ(model.norm.num_batches_tracked->item<int64_t>(), 2);
  nn::to(model, kFloat64);
  EXPECT_EQ(model.norm.running_mean->dtype(), kFloat64);
  EXPECT_EQ(model.norm.num_batches_tracked->dtype(), kInt64);
}

// Their biases begin with zeros.
TEST(ChannelNorms, WithoutBias) {
  const Tensor x = sin(arange(24).to(kFloat32)).reshape({2, 4, 3});
  const auto expect_no_bias = [&](const auto& module, const auto& with_bias) {
    EXPECT_EQ(nn::count_parameters(module), 4);
    EXPECT_FALSE(module.bias.defined());
    EXPECT_TRUE(equal(module(x), with_bias(x)));
  };
  expect_no_bias(nn::BatchNorm1d(4, {.bias = false}), nn::BatchNorm1d(4));
  expect_no_bias(nn::GroupNorm(2, 4, 1e-5, true, false), nn::GroupNorm(2, 4));
  expect_no_bias(nn::InstanceNorm1d(4, {.affine = true, .bias = false}), nn::InstanceNorm1d(4, {.affine = true}));
}

TEST(ChannelNorms, ErrorTexts) {
  const auto text = [](auto module, const Shape& shape) { return error_of([&] { module(zeros(shape)); }); };
  EXPECT_EQ(text(nn::BatchNorm(3), {2, 4}), "[batch_norm] expected x [N, 3, ...], got shape [2, 4]");
  EXPECT_TEXT(text(nn::BatchNorm1d(3), {2, 3, 4, 5}));
  EXPECT_EQ(text(nn::BatchNorm2d(3), {2, 3}), "[batch_norm2d] expected x [N, C, H, W], got shape [2, 3]");
  EXPECT_EQ(text(nn::InstanceNorm1d(3), {3}), "[instance_norm1d] expected x [N, C, L] or [C, L], got shape [3]");
  EXPECT_TEXT(text(nn::InstanceNorm2d(3), {3, 4}));
  EXPECT_TEXT(text(nn::InstanceNorm1d(3, {.track_running_stats = true}), {2, 4, 5}));
  EXPECT_EQ(text(nn::InstanceNorm(3), {2, 4, 5}), "[instance_norm] expected x [N, 3, ...], got shape [2, 4, 5]");
  EXPECT_TEXT(text(nn::InstanceNorm(3, {.affine = true}), {2, 4, 5}));
  EXPECT_TEXT(text(nn::GroupNorm(2, 4, 1e-5, false), {2, 6, 5}));
  EXPECT_EQ(error_of([] { nn::InstanceNorm1d(0); }), "[instance_norm] expected the number of channels > 0, got 0");
  EXPECT_EQ(error_of([] { nn::BatchNorm2d(0); }), "[batch_norm] expected the number of channels > 0, got 0");
  EXPECT_EQ(error_of([] { nn::GroupNorm(3, 4); }), "[group_norm] expected groups that divide the 4 channels, got 3");
  EXPECT_EQ(error_of([] { nn::GroupNorm(0, 4); }), "[group_norm] expected groups that divide the 4 channels, got 0");
}

TEST(PoolingModules, CallTheirOperations) {
  const Tensor x = randn({2, 3, 8, 9}), signal = randn({2, 3, 9});
  const auto same = [](const Tensor& a, const Tensor& b) { EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>()); };
  same(nn::MaxPool1d(3, {.stride = 2})(signal), max_pool1d(signal, 3, {.stride = 2}));
  same(nn::MaxPool2d({3, 2}, {.padding = 1})(x), max_pool2d(x, {3, 2}, {.padding = 1}));
  same(nn::AvgPool1d(3)(signal), avg_pool1d(signal, 3));
  same(nn::AvgPool2d(3, {.count_include_pad = false})(x), avg_pool2d(x, 3, {.count_include_pad = false}));
  same(nn::AdaptiveAvgPool1d(4)(signal), adaptive_avg_pool1d(signal, 4));
  same(nn::AdaptiveAvgPool2d({2, 3})(x), adaptive_avg_pool2d(x, {2, 3}));
  same(nn::AdaptiveMaxPool1d(4)(signal), adaptive_max_pool1d(signal, 4));
  same(nn::AdaptiveMaxPool2d({2, 3})(x), adaptive_max_pool2d(x, {2, 3}));
  same(nn::Upsample({.scale_factor = 2})(x), interpolate(x, {.scale_factor = 2}));
}

}  // namespace
}  // namespace tapegrad::tests
