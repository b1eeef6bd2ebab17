// Gradient checks of random models that are correct: layers, activations and losses of all kinds, inputs of every size
// from 1e-6 to 1e6. A model that is called wrong is a bug of gradcheck, or of certify.
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using Layer = nn::AnyModule;
using Activate = Tensor (*)(const Tensor&);

// clang-format off
const std::vector<std::pair<const char*, Activate>> kActivations = {
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }},
    {"relu6", [](const Tensor& x) { return relu6(x); }},
    {"abs", [](const Tensor& x) { return abs(x); }},
    {"clamp", [](const Tensor& x) { return clamp(x, -0.4, 0.6); }},
    {"hinge", [](const Tensor& x) { return relu(1 - x); }},
    {"maximum", [](const Tensor& x) { return maximum(x, 0.3 - x); }},
    {"hardtanh", [](const Tensor& x) { return nn::Hardtanh()(x); }},
    {"hardswish", [](const Tensor& x) { return hardswish(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"mish", [](const Tensor& x) { return mish(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"log_sigmoid", [](const Tensor& x) { return log_sigmoid(x); }},
    {"elu", [](const Tensor& x) { return elu(x); }},
    {"elu of alpha 0.7", [](const Tensor& x) { return nn::ELU{.alpha = 0.7}(x); }},
    {"selu", [](const Tensor& x) { return selu(x); }},
    {"celu", [](const Tensor& x) { return 2 * elu(x / 2); }},
    {"softsign", [](const Tensor& x) { return softsign(x); }},
    {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }},
    {"gelu by tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }},
    {"glu", [](const Tensor& x) { return glu(cat({x, 0.5 - x}, -1)); }},
    {"swiglu", [](const Tensor& x) { return swiglu(cat({x, 0.5 - x}, -1)); }},
    {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
    {"softmax", [](const Tensor& x) { return softmax(x); }},
    {"sin", [](const Tensor& x) { return sin(x); }},
    {"sort", [](const Tensor& x) { return sort(x, -1).values; }},
};
// clang-format on

struct RandomModel {
  std::vector<Layer> layers;
  std::string text;
  Tensor input;
  Tensor operator()(const Tensor& x) const {
    Tensor y = x;
    for (const Layer& layer : layers) y = layer(y);
    return y;
  }
  void visit(auto&& field) { field("layers", layers); }
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : generator_(seed) {}

  RandomModel model() {
    const int64_t kind = below(6);
    scale_ = std::pow(10.0, static_cast<double>(below(13) - 6));
    RandomModel m;
    m.text = fmt::format("inputs of size {:g}", scale_);
    switch (kind) {
      case 0: images(m); break;
      case 1: sequences(m); break;
      case 2: volumes(m); break;
      default: rows(m); break;
    }
    loss(m);
    return m;
  }

 private:
  int64_t below(int64_t n) {
    int64_t drawn = 0;
    generator_.randint(&drawn, 1, 0, n);
    return drawn;
  }

  template <class L>
  void add(RandomModel& m, const std::string& name, L layer) {
    m.layers.emplace_back(std::move(layer));
    m.text += ", " + name;
  }

  void activation(RandomModel& m) {
    const auto& [name, f] = kActivations[static_cast<std::size_t>(below(static_cast<int64_t>(kActivations.size())))];
    add(m, name, [f = f](const Tensor& x) { return f(x); });
  }

  void rows(RandomModel& m) {
    int64_t width = 2 + below(2);
    m.input = randn({2 + below(3), width}) * scale_;
    for (int64_t left = 1 + below(3); left > 0; --left) {
      switch (below(10)) {
        case 0: add(m, "LayerNorm", nn::LayerNorm(width)); break;
        case 1: add(m, "RMSNorm", nn::RMSNorm(width)); break;
        case 2: add(m, "Dropout", nn::Dropout(0.3)); break;
        case 3: add(m, "FeedForward", nn::FeedForward(width, 3, 0.1, nn::Activation::relu)); break;
        case 4: add(m, "PReLU", nn::PReLU()); break;
        case 5: add(m, "LayerNormStd", nn::LayerNormStd(width)); break;
        case 6: add(m, "BatchNorm1d", nn::BatchNorm1d(width)); break;
        case 7: add(m, "GRUCell", nn::GRUCell(width, width)); break;
        default: break;
      }
      const int64_t next = 2 + below(3);
      if (below(4) == 0) {
        add(m, fmt::format("WeightNorm of Linear({}, {})", width, next),
            nn::WeightNorm<nn::Linear>(nn::Linear(width, next)));
      } else {
        add(m, fmt::format("Linear({}, {})", width, next), nn::Linear(width, next));
      }
      width = next;
      activation(m);
    }
  }

  void images(RandomModel& m) {
    m.input = randn({2, 1, 4, 4}) * scale_;
    add(m, "Conv2d", nn::Conv2d(1, 2, 3, {.padding = 1}));
    if (below(2) == 0) add(m, "BatchNorm2d", nn::BatchNorm2d(2));
    if (below(2) == 0) add(m, "GroupNorm", nn::GroupNorm(2, 2));
    if (below(3) == 0) add(m, "InstanceNorm2d", nn::InstanceNorm2d(2, {.affine = true}));
    activation(m);
    switch (below(4)) {
      case 0: add(m, "max_pool2d", [](const Tensor& x) { return max_pool2d(x, 2); }); break;
      case 1: add(m, "avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, 2); }); break;
      case 2: add(m, "AdaptiveMaxPool2d", nn::AdaptiveMaxPool2d(2)); break;
      default:
        add(m, "ConvTranspose2d", nn::ConvTranspose2d(2, 2, 2, {.stride = 2}));
        add(m, "Upsample", nn::Upsample({.scale_factor = 0.5, .mode = Interpolation::bilinear}));
        add(m, "AdaptiveAvgPool2d", nn::AdaptiveAvgPool2d(2));
        break;
    }
    add(m, "flatten", [](const Tensor& x) { return x.flatten(1); });
    add(m, "Linear", nn::Linear(8, 2));
  }

  void volumes(RandomModel& m) {
    m.input = randn({2, 2, 2, 2, 2}) * scale_;
    add(m, "Conv3d", nn::Conv3d(2, 4, 2, {.padding = 1, .groups = 1 + below(2)}));
    activation(m);
    add(m, "max_pool3d", [](const Tensor& x) { return max_pool3d(x, 3); });
    add(m, "flatten", [](const Tensor& x) { return x.flatten(1); });
    add(m, "Linear", nn::Linear(4, 2));
  }

  void sequences(RandomModel& m) {
    m.input = randn({2, 3, 2}) * scale_;
    switch (below(8)) {
      case 0: add(m, "GRU", Outputs<nn::GRU>{nn::GRU(2, 2, {.batch_first = true})}); break;
      case 1: add(m, "LSTM", Outputs<nn::LSTM>{nn::LSTM(2, 2, {.batch_first = true})}); break;
      case 2: add(m, "RNN", Outputs<nn::RNN>{nn::RNN(2, 2, {.batch_first = true})}); break;
      case 3: add(m, "Conv1d over time", OverTime<nn::Conv1d>{nn::Conv1d(2, 2, 2)}); break;
      case 4: add(m, "ConvTranspose1d over time", OverTime<nn::ConvTranspose1d>{nn::ConvTranspose1d(2, 2, 2)}); break;
      case 5: add(m, "MultiheadAttention", Attention{nn::MultiheadAttention(2, 1, {.add_bias_kv = true})}); break;
      case 6:
        add(m, "PerformerSelfAttention",
            nn::PerformerSelfAttention({.d_in = 2, .d_out = 2, .num_heads = 1, .num_features = 4}));
        break;
      default:
        add(m, "MultiHeadSelfAttention", nn::MultiHeadSelfAttention({.d_in = 2, .d_out = 2, .num_heads = 2}));
        break;
    }
    activation(m);
    add(m, "mean over time", [](const Tensor& x) { return mean(x, 1); });
  }

  void loss(RandomModel& m) {
    switch (below(5)) {
      case 0: add(m, "squares", [](const Tensor& x) { return mean(x * x, {}); }); break;
      case 1: add(m, "l1", [](const Tensor& x) { return mean(abs(x - 0.3), {}); }); break;
      case 2: add(m, "cross_entropy", [](auto& x) { return cross_entropy(x, zeros({x.size(0)}, kInt64)); }); break;
      case 3: add(m, "hinge loss", [](const Tensor& x) { return sum(relu(1 - x), {}); }); break;
      default: break;
    }
  }

  template <class R>
  struct Outputs {
    R layer;
    Tensor operator()(const Tensor& x) const { return layer(x).output; }
  };

  template <class L>
  struct OverTime {
    L layer;
    Tensor operator()(const Tensor& x) const { return layer(x.transpose(1, 2)).transpose(1, 2); }
  };

  struct Attention {
    nn::MultiheadAttention layer;
    Tensor operator()(const Tensor& x) const { return layer(x, x, x); }
  };

  Generator generator_;
  double scale_ = 1;
};

// The same model, where the gradients of what comes before its last layer are a thousandth too large.
RandomModel with_wrong_gradients(RandomModel model) {
  static const Op kPlanted{"planted"};
  model.layers.insert(model.layers.end() - 1, [](const Tensor& x) {
    return record(kPlanted, x.detach() * 1, {x}, [](const Tensor& dy) -> Grads { return dy * 1.001; });
  });
  return model;
}

uint64_t first_seed() {
  const char* const first = std::getenv("TAPEGRAD_SWEEP_FIRST");
  return first ? std::stoull(first) : 20'261'129'000;
}

// The model of a seed, with its input.
RandomModel model_of(uint64_t seed) {
  manual_seed(seed);
  return Maker(seed).model();
}

// The seeds of a short run are the first ones of the long run.
TEST(GradcheckSweep, CorrectModelsPassAndWrongOnesDoNot) {
  const int models = tests::long_tests_are_wanted() ? 2400 : 120;
  int64_t undecidable = 0, entries = 0, alarms = 0, wrong = 0, found = 0;
  for (int i = 0; i < models; ++i) {
    const uint64_t seed = first_seed() + static_cast<uint64_t>(i);
    const RandomModel model = model_of(seed);
    const GradcheckReport report =
        nn::gradcheck(model, {model.input}, {.gradcheck = {.order = i % 4 == 0 ? 2 : 1}, .seed = 7});
    EXPECT_TRUE(report.ok) << "seed " << seed << ": " << model.text << ": " << report.text;
    if (report.note.find("depends on the steps") != std::string::npos)
      fmt::print("seed {}: {}: {}\n", seed, model.text, report.note);
    alarms += report.ok ? 0 : 1;
    undecidable += report.undecidable;
    entries += report.entries;
    if (i % 4 != 1) continue;
    ++wrong;
    const RandomModel planted = with_wrong_gradients(model_of(seed));
    found += !nn::gradcheck(planted, {model.input}, {.gradcheck = {.order = 1}, .seed = 7}).ok;
  }
  fmt::print("{} models, {} derivatives: {} false alarms, {} undecidable; {} of {} wrong models found\n", models,
             entries, alarms, undecidable, found, wrong);
  EXPECT_LT(undecidable, entries / 1000);
  EXPECT_GE(found, wrong * 9 / 10);  // in the others, what comes before the last layer has no gradient
}

// Seeds of models that were called wrong: pieces that only tiny steps meet; gelu where 1 + erf has no digits.
TEST(GradcheckSweep, FormerFalseAlarms) {
  for (const auto& [seed, order] : {std::pair{500'556'084, 2}, std::pair{500'556'985, 2}}) {
    const RandomModel model = model_of(static_cast<uint64_t>(seed));
    const GradcheckReport report = nn::gradcheck(model, {model.input}, {.gradcheck = {.order = order}, .seed = 7});
    EXPECT_TRUE(report.ok) << "seed " << seed << ": " << model.text << ": " << report.text;
  }
}

TEST(GradcheckSweep, CertificatesOfCorrectModelsAndOfWrongOnes) {
  const int models = tests::long_tests_are_wanted() ? 1000 : 24;
  int64_t alarms = 0, checks = 0, unknown = 0, wrong = 0, found = 0;
  const auto loss = [](RandomModel& m, std::span<const Tensor> batch) {
    const Tensor y = m(batch[0]);
    return sum(y * (arange(y.numel(), y.dtype()).reshape(y.shape()) * 0.3 + 0.7), {});
  };
  for (int i = 0; i < models; ++i) {
    const uint64_t seed = first_seed() + static_cast<uint64_t>(i);
    const RandomModel model = model_of(seed);
    const nn::Certificate page = nn::certify(model, loss, {model.input});
    EXPECT_TRUE(page.ok()) << "seed " << seed << ": " << model.text << "\n" << page.text();
    alarms += page.ok() ? 0 : 1;
    checks += page.count(nn::Verdict::right);
    unknown += page.count(nn::Verdict::unknown);
    if (i % 4 != 1) continue;
    ++wrong;
    found += nn::certify(with_wrong_gradients(model_of(seed)), loss, {model.input}).ok() ? 0 : 1;
  }
  fmt::print("{} models, {} right checks, {} unknown: {} false alarms; {} of {} wrong models found\n", models, checks,
             unknown, alarms, found, wrong);
  EXPECT_GE(found, wrong * 9 / 10);
}

}  // namespace
}  // namespace tapegrad
