// Calls of the golden files: losses.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/golden/arguments.h>

namespace tapegrad::tests {
namespace {

Reduction reduction(const json& args) {
  const std::string wanted = args.value("reduction", "mean");
  return wanted == "none" ? Reduction::none : wanted == "sum" ? Reduction::sum : Reduction::mean;
}

int64_t ignored(const json& args) { return args.value("ignore_index", int64_t{-100}); }

// A constant.
Tensor class_weight(const Inputs& x) {
  const Tensor weight = input(x, 2);
  return weight.defined() ? weight.detach() : weight;
}

Tensor binary_of_logits(const Inputs& x, const json& args) {
  const std::string given = args.value("given", "");
  if (given.empty()) return binary_cross_entropy_with_logits(x[0], x[1], {.reduction = reduction(args)});
  if (given == "ones") {
    return binary_cross_entropy_with_logits(x[0], ones_like(x[0]),
                                            {.reduction = reduction(args), .pos_weight = x[1].detach()});
  }
  const Tensor pos_weight = given == "both" ? x[3] : given == "pos_weight" ? x[2] : Tensor();
  return binary_cross_entropy_with_logits(
      x[0], x[1],
      {.reduction = reduction(args), .weight = given == "pos_weight" ? Tensor() : x[2], .pos_weight = pos_weight});
}

}  // namespace

void add_loss_calls(GoldenCalls& calls) {
  calls["cross_entropy"] = [](const Inputs& x, const json& args) -> Outputs {
    return {cross_entropy(x[0], x[1],
                          {.reduction = reduction(args),
                           .ignore_index = ignored(args),
                           .label_smoothing = args.value("label_smoothing", 0.0),
                           .weight = class_weight(x),
                           .axis = args.value("axis", int64_t{-1})})};
  };
  calls["nll_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {nll_loss(x[0], x[1],
                     {.reduction = reduction(args),
                      .ignore_index = ignored(args),
                      .weight = class_weight(x),
                      .axis = args.value("axis", int64_t{-1})})};
  };
  const auto pair = [&](const char* name, Tensor (*f)(const Tensor&, const Tensor&, Reduction)) {
    calls[name] = [f](const Inputs& x, const json& args) -> Outputs { return {f(x[0], x[1], reduction(args))}; };
  };
  pair("mse_loss", mse_loss);
  pair("l1_loss", l1_loss);
  calls["kl_div"] = [](const Inputs& x, const json& args) -> Outputs {
    return {kl_div(x[0], x[1],
                   {.reduction = reduction(args),
                    .log_target = args.value("log_target", false),
                    .batchmean = args.value("reduction", "") == "batchmean"})};
  };
  calls["huber_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {huber_loss(x[0], x[1], {.reduction = reduction(args), .delta = args["delta"].get<double>()})};
  };
  calls["smooth_l1_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {smooth_l1_loss(x[0], x[1], {.reduction = reduction(args), .beta = args["beta"].get<double>()})};
  };
  calls["binary_cross_entropy"] = [](const Inputs& x, const json& args) -> Outputs {
    return {binary_cross_entropy(x[0], args.contains("given") ? ones_like(x[0]) : x[1],
                                 {.reduction = reduction(args), .weight = input(x, 2)})};
  };
  calls["binary_cross_entropy_with_logits"] = [](const Inputs& x, const json& args) -> Outputs {
    return {binary_of_logits(x, args)};
  };
  calls["gaussian_nll_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {gaussian_nll_loss(x[0], x[1], x[2], {.reduction = reduction(args), .full = args["full"].get<bool>()})};
  };
  calls["triplet_margin_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {triplet_margin_loss(x[0], x[1], x[2],
                                {.reduction = reduction(args),
                                 .margin = args["margin"].get<double>(),
                                 .p = args["p"].get<double>(),
                                 .eps = args["eps"].get<double>(),
                                 .swap = args["swap"].get<bool>()})};
  };
  calls["cosine_embedding_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {cosine_embedding_loss(x[0], x[1], x[2],
                                  {.reduction = reduction(args), .margin = args["margin"].get<double>()})};
  };
  calls["margin_ranking_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {
        margin_ranking_loss(x[0], x[1], x[2], {.reduction = reduction(args), .margin = args["margin"].get<double>()})};
  };
  calls["hinge_embedding_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {hinge_embedding_loss(x[0], x[1], {.reduction = reduction(args), .margin = args["margin"].get<double>()})};
  };
  pair("soft_margin_loss", soft_margin_loss);
  calls["poisson_nll_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {poisson_nll_loss(x[0], x[1],
                             {.reduction = reduction(args),
                              .log_input = args["log_input"].get<bool>(),
                              .full = args["full"].get<bool>(),
                              .eps = args["eps"].get<double>()})};
  };
  calls["multi_margin_loss"] = [](const Inputs& x, const json& args) -> Outputs {
    return {multi_margin_loss(x[0], x[1],
                              {.reduction = reduction(args),
                               .p = args["p"].get<int>(),
                               .margin = args["margin"].get<double>(),
                               .weight = class_weight(x)})};
  };
}

}  // namespace tapegrad::tests
