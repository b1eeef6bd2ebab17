// Losses with weights of classes or of elements.
#include "families.h"

void add_loss() {
  Calls& on = calls();
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
  // x, weight, target, bias, class_weight
  on["linear_cross_entropy"] = [](Case& c) -> TV {
    return {tg::linear_cross_entropy(c.x[0], c.x[1], c.x[2],
                                     {.reduction = c.reduction(),
                                      .bias = c.at(3),
                                      .ignore_index = c.i("ignore_index", -100),
                                      .label_smoothing = c.d("label_smoothing", 0),
                                      .class_weight = c.at(4)})};
  };
  on["binary_cross_entropy_with_logits"] = [](Case& c) -> TV {
    return {tg::binary_cross_entropy_with_logits(
        c.x[0], c.x[1], {.reduction = c.reduction(), .weight = c.at(2), .pos_weight = c.at(3)})};
  };
  on["gaussian_nll_loss"] = [](Case& c) -> TV {
    return {tg::gaussian_nll_loss(c.x[0], c.x[1], c.x[2],
                                  {.reduction = c.reduction(), .full = c.b("full"), .eps = c.d("eps", 1e-6)})};
  };
}
