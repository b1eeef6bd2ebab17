// Losses.
#include "families.h"

namespace {

void add_losses_of_classes(Calls& on) {
  on["cross_entropy"] = [](Case& c) -> TV {
    return {tg::cross_entropy(c.x[0], c.x[1],
                              {.reduction = c.reduction(),
                               .ignore_index = c.i("ignore_index", -100),
                               .label_smoothing = c.d("label_smoothing", 0),
                               .weight = c.at(2),
                               .axis = c.i("axis", -1)})};
  };
  on["nll_loss"] = [](Case& c) -> TV {
    return {tg::nll_loss(c.x[0], c.x[1],
                         {.reduction = c.reduction(),
                          .ignore_index = c.i("ignore_index", -100),
                          .weight = c.at(2),
                          .axis = c.i("axis", -1)})};
  };
  on["multi_margin_loss"] = [](Case& c) -> TV {
    return {tg::multi_margin_loss(c.x[0], c.x[1],
                                  {.reduction = c.reduction(),
                                   .p = static_cast<int>(c.i("p", 1)),
                                   .margin = c.d("margin", 1),
                                   .weight = c.at(2)})};
  };
}

void add_losses_of_more(Calls& on) {
  // x, weight, target, bias, class_weight
  on["linear_cross_entropy"] = [](Case& c) -> TV {
    return {tg::linear_cross_entropy(c.x[0], c.x[1], c.x[2],
                                     {.reduction = c.reduction(),
                                      .bias = c.at(3),
                                      .ignore_index = c.i("ignore_index", -100),
                                      .label_smoothing = c.d("label_smoothing", 0),
                                      .class_weight = c.at(4)})};
  };
  on["ctc_loss"] = [](Case& c) -> TV {
    return {
        tg::ctc_loss(c.x[0], c.x[1], c.x[2], c.x[3],
                     {.reduction = c.reduction(), .blank = c.i("blank", 0), .zero_infinity = c.b("zero_infinity")})};
  };
}

void add_losses_of_numbers(Calls& on) {
  on["mse_loss"] = [](Case& c) -> TV { return {tg::mse_loss(c.x[0], c.x[1], c.reduction())}; };
  on["l1_loss"] = [](Case& c) -> TV { return {tg::l1_loss(c.x[0], c.x[1], c.reduction())}; };
  on["soft_margin_loss"] = [](Case& c) -> TV { return {tg::soft_margin_loss(c.x[0], c.x[1], c.reduction())}; };
  on["huber_loss"] = [](Case& c) -> TV {
    return {tg::huber_loss(c.x[0], c.x[1], {.reduction = c.reduction(), .delta = c.d("delta", 1)})};
  };
  on["smooth_l1_loss"] = [](Case& c) -> TV {
    return {tg::smooth_l1_loss(c.x[0], c.x[1], {.reduction = c.reduction(), .beta = c.d("beta", 1)})};
  };
  on["kl_div"] = [](Case& c) -> TV {
    return {tg::kl_div(c.x[0], c.x[1],
                       {.reduction = c.s("reduction") == "batchmean" ? tg::Reduction::mean : c.reduction(),
                        .log_target = c.b("log_target"),
                        .batchmean = c.s("reduction") == "batchmean"})};
  };
  on["binary_cross_entropy"] = [](Case& c) -> TV {
    return {tg::binary_cross_entropy(c.x[0], c.x[1], {.reduction = c.reduction(), .weight = c.at(2)})};
  };
  on["binary_cross_entropy_with_logits"] = [](Case& c) -> TV {
    return {tg::binary_cross_entropy_with_logits(
        c.x[0], c.x[1], {.reduction = c.reduction(), .weight = c.at(2), .pos_weight = c.at(3)})};
  };
  on["gaussian_nll_loss"] = [](Case& c) -> TV {
    return {tg::gaussian_nll_loss(c.x[0], c.x[1], c.x[2],
                                  {.reduction = c.reduction(), .full = c.b("full"), .eps = c.d("eps", 1e-6)})};
  };
  on["poisson_nll_loss"] = [](Case& c) -> TV {
    return {tg::poisson_nll_loss(c.x[0], c.x[1],
                                 {.reduction = c.reduction(),
                                  .log_input = c.b("log_input", true),
                                  .full = c.b("full"),
                                  .eps = c.d("eps", 1e-8)})};
  };
}

void add_losses_of_vectors(Calls& on) {
  on["hinge_embedding_loss"] = [](Case& c) -> TV {
    return {tg::hinge_embedding_loss(c.x[0], c.x[1], {.reduction = c.reduction(), .margin = c.d("margin", 1)})};
  };
  on["margin_ranking_loss"] = [](Case& c) -> TV {
    return {tg::margin_ranking_loss(c.x[0], c.x[1], c.x[2], {.reduction = c.reduction(), .margin = c.d("margin", 0)})};
  };
  on["cosine_embedding_loss"] = [](Case& c) -> TV {
    return {
        tg::cosine_embedding_loss(c.x[0], c.x[1], c.x[2], {.reduction = c.reduction(), .margin = c.d("margin", 0)})};
  };
  on["triplet_margin_loss"] = [](Case& c) -> TV {
    return {tg::triplet_margin_loss(c.x[0], c.x[1], c.x[2],
                                    {.reduction = c.reduction(),
                                     .margin = c.d("margin", 1),
                                     .p = c.d("p", 2),
                                     .eps = c.d("eps", 1e-6),
                                     .swap = c.b("swap")})};
  };
}

}  // namespace

void add_loss() {
  Calls& on = calls();
  add_losses_of_classes(on);
  add_losses_of_more(on);
  add_losses_of_numbers(on);
  add_losses_of_vectors(on);
}
