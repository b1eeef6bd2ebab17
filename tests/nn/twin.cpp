// nn::twin: a port that is right, planted differences of each kind, and files of something else.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using TwinInputs = std::span<const Tensor>;

// Reader of tests/data/make_twin.py, with one difference planted.
enum class Planted { none, transposed, eps, detached, float32_only, momentum };
struct TwinReader {
  Planted planted = Planted::none;
  bool head_bias = false, square_bias = true;
  nn::Linear up{6, 8};
  nn::MultiheadAttention attn{8, 2, {.dropout = 0.1, .batch_first = true}};
  nn::LayerNorm norm{8, planted == Planted::eps ? 1.1e-6 : 1e-6};
  nn::BatchNorm1d channels{8, {.momentum = planted == Planted::momentum ? 0.2 : 0.1}};
  nn::Linear square{8, 8, square_bias};
  nn::Linear head{8, 3, head_bias};

  Tensor operator()(const Tensor& x) const {
    Tensor h = up(x);
    Tensor y = attn(h, h, h);
    if (planted == Planted::detached) y = y.detach();
    h = mean(norm(h + y), 1);
    h = planted == Planted::transposed ? linear(h, square.weight->t(), square.bias) : square(h);
    h = head(gelu(channels(h)));
    return planted == Planted::float32_only && x.dtype() == kFloat32 ? h * 1.001 : h;
  }
};

struct ReaderInAnotherOrder {
  nn::MultiheadAttention attn{8, 2, {.dropout = 0.1, .batch_first = true}};
  nn::Linear up{6, 8};
  nn::LayerNorm norm{8, 1e-6};
  nn::BatchNorm1d channels{8};
  nn::Linear square{8, 8};
  nn::Linear head{8, 3, false};
  Tensor operator()(const Tensor& x) const {
    const Tensor h = up(x);
    return head(gelu(channels(square(mean(norm(h + attn(h, h, h)), 1)))));
  }
};

std::string twin_file(const std::string& name) { return std::string(kTestsDir) + "/data/" + name; }

template <class Model>
nn::TwinOptions<Model> reader_options(const optim::AdamWOptions& adam = {.lr = 1e-2}) {
  return {.outputs = [](Model& m, TwinInputs in) { return m(in[0]); },
          .loss = [](Model& m, TwinInputs in) { return cross_entropy(m(in[0]), in[1]); },
          .optimizer = [adam](Model& m) { return optim::AdamW(nn::parameters(m), adam); }};
}

nn::TwinReport of_reader(TwinReader model = {}, const optim::AdamWOptions& adam = {.lr = 1e-2}) {
  return nn::twin(model, twin_file("twin.safetensors"), reader_options<TwinReader>(adam));
}

TEST(Twin, ARightPortPasses) {
  manual_seed(0);
  const TwinReader model;
  auto options = reader_options<TwinReader>();
  options.initial = true;
  const nn::TwinReport report = nn::twin(model, twin_file("twin.safetensors"), options);
  EXPECT_TRUE(report) << report.text;
  EXPECT_EQ(report.noise, (std::vector<std::string>{"square.bias", "norm.bias"}));  // BatchNorm subtracts both
  EXPECT_TRUE(report.text.starts_with("16 weights, 20 steps equal: float64 within ")) << report.text;
  EXPECT_TRUE(report.text.ends_with("; gradients that are rounding noise: square.bias, norm.bias")) << report.text;
}

// Outputs that are infinite, as masked logits are, must be equal, and hide no other difference.
TEST(Twin, InfiniteOutputsAreCompared) {
  SafeTensors file = load_safetensors(twin_file("twin.safetensors"));
  const auto masked = [](const Tensor& y, int64_t column) { return masked_fill(y, arange(3) == column, -INFINITY); };
  for (NamedTensor& entry : file.tensors)
    if (entry.name.ends_with(".output.0")) entry.tensor = masked(entry.tensor, 1);
  const TemporaryFolder folder;
  save_safetensors(folder / "masked.safetensors", file.tensors, file.metadata);
  const auto compare = [&](const std::function<Tensor(const Tensor&)>& last) {
    auto options = reader_options<TwinReader>();
    options.outputs = [last](TwinReader& m, TwinInputs in) { return last(m(in[0])); };
    return nn::twin(TwinReader(), folder / "masked.safetensors", options);
  };
  const nn::TwinReport right = compare([&](const Tensor& y) { return masked(y, 1); });
  EXPECT_TRUE(right) << right.text;
  EXPECT_EQ(compare([&](const Tensor& y) { return masked(y, 0); }).tensor, "output 0");
  EXPECT_EQ(compare([&](const Tensor& y) { return y; }).tensor, "output 0");
  EXPECT_EQ(compare([&](const Tensor& y) { return masked(y * (1 + 1e-6), 1); }).tensor, "output 0");
}

TEST(Twin, DefaultsAreThoseOfPython) {
  manual_seed(0);
  const nn::Sequential model{nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 2)};
  const nn::TwinReport report = nn::twin(model, twin_file("twin_plain.safetensors"), {.initial = true});
  EXPECT_TRUE(report) << report.text;
  const nn::Sequential relu{nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2)};
  EXPECT_EQ(nn::twin(relu, twin_file("twin_plain.safetensors")).tensor, "output 0");
}

TEST(Twin, NeitherTheModelNorTheGeneratorChanges) {
  manual_seed(5);
  const TwinReader model;
  const std::vector<std::byte> generator = default_generator().state();
  const Tensor weight = model.up.weight->clone();
  EXPECT_TRUE(nn::twin(model, twin_file("twin.safetensors"), reader_options<TwinReader>()));
  EXPECT_EQ(default_generator().state(), generator);
  EXPECT_TRUE(equal(model.up.weight, weight));
  EXPECT_EQ(model.up.weight->dtype(), kFloat32);
}

TEST(Twin, NamesTheFirstTensorThatDiffers) {
  const auto tensor_of = [](const nn::TwinReport& report) { return report ? "nothing" : report.tensor; };
  EXPECT_EQ(tensor_of(of_reader({Planted::transposed})), "output 0");
  EXPECT_EQ(tensor_of(of_reader({Planted::eps})), "output 0");
  EXPECT_EQ(tensor_of(of_reader({Planted::detached})), "gradient of attn.out_proj.bias");
  EXPECT_EQ(tensor_of(of_reader({Planted::momentum})), "channels.running_mean after step 1");
  EXPECT_EQ(tensor_of(of_reader({}, {.lr = 1.001e-2})), "up.weight after step 1");
  EXPECT_EQ(tensor_of(of_reader({}, {.lr = 1e-2, .weight_decay = 0})), "up.weight after step 1");
  EXPECT_EQ(tensor_of(of_reader({}, {.lr = 1e-2, .beta2 = 0.99})), "up.weight after step 2");
  auto options = reader_options<TwinReader>();
  options.loss = [](TwinReader& m, TwinInputs in) { return cross_entropy(m(in[0]), in[1], {.label_smoothing = 0.1}); };
  EXPECT_EQ(tensor_of(nn::twin(TwinReader(), twin_file("twin.safetensors"), options)), "loss of step 1");
  TwinReader without_dropout;
  nn::eval(without_dropout.attn);
  EXPECT_EQ(tensor_of(of_reader(std::move(without_dropout))), "output 0");
}

TEST(Twin, AFloat32DifferenceIsNamedAsOne) {
  const nn::TwinReport report = of_reader({Planted::float32_only});
  EXPECT_EQ(report.tensor, "output 0");
  EXPECT_TRUE(report.text.starts_with("output 0 differs, in float32 only: by ")) << report.text;
}

TEST(Twin, OtherWeightsAndAnotherOrder) {
  EXPECT_NE(of_reader({.head_bias = true}).text.find("head.bias"), std::string::npos);
  EXPECT_NE(of_reader({.square_bias = false}).text.find("square.bias"), std::string::npos);
  manual_seed(0);
  const ReaderInAnotherOrder model;
  auto options = reader_options<ReaderInAnotherOrder>();
  EXPECT_TRUE(nn::twin(model, twin_file("twin.safetensors"), options));
  options.initial = true;
  const nn::TwinReport report = nn::twin(model, twin_file("twin.safetensors"), options);
  EXPECT_EQ(report.tensor, "initial attn.in_proj_weight");
  EXPECT_TRUE(report.text.ends_with("(are the layers made in PyTorch's order, after the same seed?)")) << report.text;
}

TEST(Twin, ErrorsNameTheCause) {
  EXPECT_ERROR(nn::twin(nn::Linear(3, 4), twin_file("llama2_tiny/model.safetensors")));
  EXPECT_TEXT(nn::twin(TwinReader(), twin_file("twin.safetensors")).text);
}

}  // namespace
}  // namespace tapegrad::tests
