// Compares the ports of examples/ported with the public PyTorch models: tests/data/ported, made by
// tests/data/make_ported.py.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/stored.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tapegrad::tests {

// The files of one model.
struct Ported {
  nlohmann::json json;
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
inline void expect_equal_to(const Tensor& ours, const Tensor& theirs, double room, const std::string& what) {
  ASSERT_EQ(str(ours.shape()), str(theirs.shape())) << what;
  const Tensor a = ours.to(kFloat64), b = theirs.to(kFloat64);
  EXPECT_LE(max(abs(a - b)).item(), room * max(abs(b)).item()) << what;
}

// Compares some gradients element by element, and the norms of all. (A gradient of zeros, as that of the bias of keys,
// is rounding here and there.)
inline void expect_pytorchs_gradients(const Ported& golden, const NamedTensors& grads, double room) {
  const nlohmann::json& norms = golden.json["norms"];
  double largest = 0;
  for (const nlohmann::json& norm : norms) largest = std::max(largest, norm.get<double>());
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

}  // namespace tapegrad::tests
