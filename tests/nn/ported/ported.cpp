// BERT, a graph attention network, Mamba, a neural spline flow, T5 and a U-Net of examples/ported against transformers,
// pytorch-GAT, mamba-minimal, nflows and denoising-diffusion-pytorch. (T5 of transformers computes its norms in
// float32.)
#include <tapegrad/examples/ported/bert.h>
#include <tapegrad/examples/ported/gat.h>
#include <tapegrad/examples/ported/mamba.h>
#include <tapegrad/examples/ported/nsf.h>
#include <tapegrad/examples/ported/t5.h>
#include <tapegrad/examples/ported/unet.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// The files of one model.
struct Ported {
  Json json;
  SafeTensors file;

  explicit Ported(const std::string& name)
      : json(stored("ported/" + name + ".json")),
        file(load_safetensors(std::string(kTestsDir) + "/data/ported/" + name + ".safetensors")) {}
  // The tensors whose names begin with `prefix`, without it.
  NamedTensors all(const std::string& prefix) const {
    NamedTensors found;
    for (const NamedTensor& t : file.tensors)
      if (t.name.starts_with(prefix)) found.push_back({t.name.substr(prefix.size()), t.tensor});
    return found;
  }
  // An input; floating ones in this type.
  Tensor input(const std::string& name, DType dtype) const {
    const Tensor& t = file["input." + name];
    return t.dtype() == kInt64 ? t : t.to(dtype);
  }
};

// The largest difference, relative to the largest |theirs|.
void expect_equal_to(const Tensor& ours, const Tensor& theirs, double room, const std::string& what) {
  ASSERT_EQ(str(ours.shape()), str(theirs.shape())) << what;
  const Tensor a = ours.to(kFloat64), b = theirs.to(kFloat64);
  EXPECT_LE(max(abs(a - b)).item(), room * max(abs(b)).item()) << what;
}

// Compares some gradients element by element, and the norms of all. (A gradient of zeros, as that of the bias of keys,
// is rounding here and there.)
void expect_pytorchs_gradients(const Ported& golden, const NamedTensors& grads, double room) {
  const Json& norms = golden.json["norms"];
  double largest = 0;
  for (const auto& [name, norm] : norms.items()) largest = std::max(largest, norm.get<double>());
  for (const auto& [name, ours] : grads) {
    if (!norms.contains(name)) continue;
    const double theirs = norms[name];
    EXPECT_NEAR(norm(ours).item(), theirs, room * (2 * theirs + 0.1 * largest)) << name;
    const Tensor* elements = golden.file.find("grad." + name);
    if (elements && theirs > 1e-6 * largest) expect_equal_to(ours, *elements, room, name);
  }
}

// Loads the weights of the public model into model, and compares in this type: the output of forward(model), the
// gradients of loss_of(output), and the losses of the steps of AdamW on this one batch.
template <class Model, class Forward, class LossOf>
void expect_pytorchs_training(const Ported& golden, Model& model, DType dtype, Forward forward, LossOf loss_of) {
  const double room = dtype == kFloat64 && golden.json["dtype"] == "float64" ? 1e-9 : 1e-5;
  nn::to(model, dtype);
  nn::load_state_dict(model, golden.all("model."));
  optim::AdamW adam(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.01});
  const auto theirs = golden.json["losses"].get<std::vector<double>>();
  for (std::size_t step = 0; step < theirs.size(); ++step) {
    Tape tape;
    const Tensor y = forward(model), loss = loss_of(y);
    const Gradients grads = tape.backward(loss);
    EXPECT_NEAR(loss.item(), theirs[step], room * std::abs(theirs[step])) << "step " << step;
    if (step == 0) {
      expect_equal_to(y, golden.file["output"], room, "output");
      NamedTensors ours;
      for (const auto& [name, parameter] : nn::named_parameters(model)) ours.push_back({name, grads[parameter]});
      expect_pytorchs_gradients(golden, ours, room);
    }
    adam.step(grads);
  }
  Model copy = nn::clone(model);
  EXPECT_TRUE(equal(forward(copy), forward(model)));
}

TEST(PortedBert, TrainsAsInPyTorch) {
  const Ported golden("bert");
  const Tensor ids = golden.input("ids", kInt64), types = golden.input("types", kInt64);
  const Tensor labels = golden.input("labels", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::BertForMaskedLM model{{.vocab_size = 31,
                                   .hidden_size = 16,
                                   .num_hidden_layers = 2,
                                   .num_attention_heads = 2,
                                   .intermediate_size = 32,
                                   .max_position_embeddings = 12,
                                   .hidden_dropout_prob = 0,
                                   .attention_probs_dropout_prob = 0}};
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::BertForMaskedLM& m) { return m(ids, types, ids != 0); },
        [&](const Tensor& y) { return cross_entropy(y, labels, {.ignore_index = -100}); });
  }
}

TEST(PortedGat, TrainsAsInPyTorch) {
  const Ported golden("gat");
  const Tensor edges = golden.input("edges", kInt64), labels = golden.input("labels", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::Gat model({.num_heads_per_layer = {3, 2}, .num_features_per_layer = {12, 4, 5}, .dropout = 0});
    const Tensor x = golden.input("x", dtype);
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::Gat& m) { return m(x, edges); },
        [&](const Tensor& y) { return cross_entropy(y, labels); });
  }
}

TEST(PortedMamba, TrainsAsInPyTorch) {
  const Ported golden("mamba");
  const Tensor ids = golden.input("ids", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::Mamba model{{.d_model = 16, .n_layer = 2, .vocab_size = 29, .d_state = 6}};
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::Mamba& m) { return m(ids(all, range(0, -1))); },
        [&](const Tensor& y) { return cross_entropy(y, ids(all, range(1, kAll))); });
  }
}

TEST(PortedNsf, TrainsAsInPyTorch) {
  const Ported golden("nsf");
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::NeuralSplineFlow model{{.features = 5, .hidden_features = 16, .num_flow_steps = 2, .num_bins = 4}};
    const Tensor x = golden.input("x", dtype);
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::NeuralSplineFlow& m) { return m.log_prob(x); },
        [](const Tensor& y) { return -mean(y); });
    const ported::Mapped drawn = model._transform(golden.input("noise", dtype), true);
    const Tensor theirs = golden.file["inverse"];  // after the training: samples, and log |det| in the last column
    const double room = dtype == kFloat64 ? 1e-8 : 2e-4;
    expect_equal_to(drawn.y, theirs(all, range(0, 5)), room, "samples");
    expect_equal_to(drawn.log_det, theirs(all, 5), room, "log_det");
    const ported::Mapped back = model._transform(drawn.y, false);
    expect_equal_to(back.y, golden.input("noise", dtype), dtype == kFloat64 ? 1e-9 : 1e-4, "noise");
    expect_equal_to(back.log_det, -drawn.log_det, dtype == kFloat64 ? 1e-9 : 1e-4, "log_det of the way back");
  }
}

TEST(PortedT5, TrainsAsInPyTorch) {
  const Ported golden("t5");
  const Tensor ids = golden.input("ids", kInt64), labels = golden.input("labels", kInt64);
  for (const DType dtype : {kFloat64, kFloat32}) {
    ported::T5ForConditionalGeneration model{{.vocab_size = 31,
                                              .d_model = 16,
                                              .d_kv = 8,
                                              .d_ff = 32,
                                              .num_layers = 2,
                                              .num_heads = 2,
                                              .relative_attention_num_buckets = 8,
                                              .relative_attention_max_distance = 10,
                                              .dropout_rate = 0}};
    expect_pytorchs_training(
        golden, model, dtype, [&](const ported::T5ForConditionalGeneration& m) { return m(ids, labels, ids != 0); },
        [&](const Tensor& y) { return cross_entropy(y, labels); });
  }
}

void expect_pytorchs_unet(const std::string& name, const ported::UnetOptions& options, DType dtype) {
  const Ported golden(name);
  ported::Unet model{options};
  const Tensor x = golden.input("x", dtype), time = golden.input("time", dtype), target = golden.input("target", dtype);
  const Tensor before = options.self_condition ? golden.input("self_cond", dtype) : Tensor();
  expect_pytorchs_training(
      golden, model, dtype, [&](const ported::Unet& m) { return m(x, time, before); },
      [&](const Tensor& y) { return mse_loss(y, target); });
}

TEST(PortedUnet, TrainsAsInPyTorch) {
  for (const DType dtype : {kFloat64, kFloat32})
    expect_pytorchs_unet(
        "unet",
        {.dim = 8, .dim_mults = {1, 2}, .channels = 1, .self_condition = true, .attn_dim_head = {8}, .attn_heads = {2}},
        dtype);
}

TEST(PortedUnet, OptionsAreThoseOfPyTorch) {
  for (const DType dtype : {kFloat64, kFloat32})
    expect_pytorchs_unet("unet_options",
                         {.dim = 4,
                          .init_dim = 6,
                          .dim_mults = {1, 2},
                          .channels = 2,
                          .learned_variance = true,
                          .learned_sinusoidal_cond = true,
                          .learned_sinusoidal_dim = 6,
                          .attn_dim_head = {8, 4},
                          .attn_heads = {1, 2},
                          .full_attn = {true, false}},
                         dtype);
}

// Without comments, empty lines and includes. Counted in the same way, the Python model has 260 lines.
TEST(PortedUnet, NeedsFewerLinesThanInPython) {
  std::ifstream file(std::string(kSourceDir) + "/examples/ported/unet.h");
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line[begin] != '#' && line.compare(begin, 2, "//") != 0) ++lines;
  }
  EXPECT_GT(lines, 100);
  EXPECT_LE(lines, 0.85 * 260);
}

}  // namespace
}  // namespace tapegrad::tests
