// Gradient checks of random models that are correct: layers, activations and losses of all kinds, inputs of every size
// from 1e-6 to 1e6. A model that is called wrong is a bug of gradcheck.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/batch_norm.h>
#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/feed_forward.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/norm.h>
#include <tapegrad/nn/recurrent.h>
#include <tapegrad/nn/self_attention.h>
#include <tapegrad/nn/sequential.h>
#include <tapegrad/tests/support/long.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad {
namespace {

using Layer = nn::AnyModule;
using Activate = Tensor (*)(const Tensor&);

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
    {"softmax", [](const Tensor& x) { return softmax(x); }},
    {"sin", [](const Tensor& x) { return sin(x); }},
    {"sort", [](const Tensor& x) { return sort(x, -1).values; }},
};

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
    const int64_t kind = below(4);
    scale_ = std::pow(10.0, static_cast<double>(below(13) - 6));
    RandomModel m;
    m.text = fmt::format("inputs of size {:g}", scale_);
    if (kind == 0) {
      images(m);
    } else if (kind == 1) {
      sequences(m);
    } else {
      rows(m);
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
    m.input = randn({1 + below(4), width}) * scale_;
    for (int64_t left = 1 + below(3); left > 0; --left) {
      switch (below(6)) {
        case 0: add(m, "LayerNorm", nn::LayerNorm(width)); break;
        case 1: add(m, "RMSNorm", nn::RMSNorm(width)); break;
        case 2: add(m, "Dropout", nn::Dropout(0.3)); break;
        case 3: add(m, "FeedForward", nn::FeedForward(width, 3, 0.1, nn::Activation::relu)); break;
        case 4: add(m, "PReLU", nn::PReLU()); break;
        default: break;
      }
      const int64_t next = 2 + below(3);
      add(m, fmt::format("Linear({}, {})", width, next), nn::Linear(width, next));
      width = next;
      activation(m);
    }
  }

  void images(RandomModel& m) {
    m.input = randn({2, 1, 4, 4}) * scale_;
    add(m, "Conv2d", nn::Conv2d(1, 2, 3, {.padding = 1}));
    if (below(2) == 0) add(m, "BatchNorm2d", nn::BatchNorm2d(2));
    if (below(2) == 0) add(m, "GroupNorm", nn::GroupNorm(2, 2));
    activation(m);
    if (below(2) == 0) {
      add(m, "max_pool2d", [](const Tensor& x) { return max_pool2d(x, 2); });
    } else {
      add(m, "avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, 2); });
    }
    add(m, "flatten", [](const Tensor& x) { return x.flatten(1); });
    add(m, "Linear", nn::Linear(8, 2));
  }

  void sequences(RandomModel& m) {
    m.input = randn({2, 3, 2}) * scale_;
    switch (below(3)) {
      case 0: add(m, "GRU", Outputs<nn::GRU>{nn::GRU(2, 2, {.batch_first = true})}); break;
      case 1: add(m, "LSTM", Outputs<nn::LSTM>{nn::LSTM(2, 2, {.batch_first = true})}); break;
      default:
        add(m, "MultiHeadSelfAttention",
            Attention{nn::MultiHeadSelfAttention({.d_in = 2, .d_out = 2, .num_heads = 2})});
        break;
    }
    activation(m);
    add(m, "mean over time", [](const Tensor& x) { return mean(x, 1); });
  }

  void loss(RandomModel& m) {
    switch (below(5)) {
      case 0: add(m, "squares", [](const Tensor& x) { return mean(x * x, {}); }); break;
      case 1: add(m, "l1", [](const Tensor& x) { return mean(abs(x - 0.3), {}); }); break;
      case 2:
        add(m, "cross_entropy", [](const Tensor& x) { return cross_entropy(x, zeros({x.size(0)}, kInt64)); });
        break;
      case 3: add(m, "hinge loss", [](const Tensor& x) { return sum(relu(1 - x), {}); }); break;
      default: break;
    }
  }

  template <class R>
  struct Outputs {
    R layer;
    Tensor operator()(const Tensor& x) const { return layer(x).output; }
    void visit(auto&& field) { field("layer", layer); }
  };

  struct Attention {
    nn::MultiHeadSelfAttention layer;
    Tensor operator()(const Tensor& x) const { return layer(x); }
    void visit(auto&& field) { field("layer", layer); }
  };

  Generator generator_;
  double scale_ = 1;
};

TEST(GradcheckSweep, CorrectModelsPass) {
  const int models = tests::long_tests_are_wanted() ? 2000 : 120;
  int64_t undecidable = 0, entries = 0;
  for (int seed = 0; seed < models; ++seed) {
    manual_seed(static_cast<uint64_t>(seed));
    const RandomModel model = Maker(static_cast<uint64_t>(seed)).model();
    const GradcheckReport report =
        nn::gradcheck(model, {model.input}, {.gradcheck = {.order = seed % 4 == 0 ? 2 : 1}, .seed = 7});
    EXPECT_TRUE(report.ok) << "seed " << seed << ": " << model.text << ": " << report.text;
    EXPECT_LT(report.worst[0], 1e-5) << "seed " << seed << ": " << model.text;
    undecidable += report.undecidable;
    entries += report.entries;
  }
  EXPECT_LT(undecidable, entries / 1000);
}

}  // namespace
}  // namespace tapegrad
