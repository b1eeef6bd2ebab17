// Normalisation, attention, recurrent layers.
#include "families.h"

void add_nn() {
  Calls& on = calls();
  on["batch_norm_training"] = [](Case& c) -> TV {
    return {tg::batch_norm_training(c.x[0], c.at(1), c.at(2), c.d("eps", 1e-5)).y};
  };
  on["attention"] = [](Case& c) -> TV {
    tg::AttentionOptions o;
    o.mask = c.at(3);
    o.causal = c.b("is_causal");
    const int64_t queries = c.x[0].size(-2), keys = c.x[1].size(-2);
    if (o.causal && keys > queries) {  // PyTorch's queries are the first positions
      o.causal = false;
      o.mask = tg::tril(tg::ones({queries, keys}, tg::kBool));
    }
    o.scale = c.od("scale");
    o.dropout = c.d("dropout_p", 0);
    o.enable_gqa = c.b("enable_gqa");
    return {tg::scaled_dot_product_attention(c.x[0], c.x[1], c.x[2], o)};
  };
  // x, weight_ih, weight_hh, bias_ih, bias_hh, states
  on["rnn_layer"] = [](Case& c) -> TV {
    auto r = tg::rnn_layer(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.at(5), {.reverse = c.b("reverse")},
                           c.b("relu") ? tg::Nonlinearity::relu : tg::Nonlinearity::tanh);
    return {r.output, r.hidden};
  };
  on["gru_layer"] = [](Case& c) -> TV {
    auto r = tg::gru_layer(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.at(5), {.reverse = c.b("reverse")});
    return {r.output, r.hidden};
  };
  on["lstm_layer"] = [](Case& c) -> TV {
    auto r = tg::lstm_layer(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.at(5), c.at(6), {.reverse = c.b("reverse")});
    return {r.output, r.hidden, r.cell};
  };
}
