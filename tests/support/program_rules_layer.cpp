// The operations that random programs are made of: layers with several channels, recurrent layers, dropout, hooks,
// attention for long inputs.
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/on_grad.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/recurrent.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/tests/support/program_table.h>

namespace tapegrad::tests {

namespace {

// {t0} as [T, 1, 1], and the first elements of {t1} as the weights of `gates` gates with one hidden unit.
DrawRule sequence_and_weights(int64_t gates) {
  return [gates](const D& d, Call& c) { return sized(1, 6)(d, c) && sized(2 * gates, 24)(d, c); };
}
Tensor sequence(const A& a) { return a.t[0].reshape({-1, 1, 1}); }
RecurrentWeights weights(const A& a, int64_t gates) {
  const Tensor all = a.t[1].reshape({-1});
  return {all.slice(0, 0, gates).reshape({gates, 1}), all.slice(0, gates, 2 * gates).reshape({gates, 1})};
}

}  // namespace

void add_layers(Table& table) {
  const auto recurrent = [&](const std::string& cpp, const std::string& python, int64_t gates, auto run) {
    const std::string g = std::to_string(gates), two_g = std::to_string(2 * gates);
    const std::string part = ".reshape({-1}).slice(0, ", as = ").reshape({" + g + ", 1})";
    const std::string w = "{{t1}" + part + "0, " + g + as + ", {t1}" + part + g + ", " + two_g + as + "}";
    const std::string python_w = "[{t1}.reshape(-1)[:" + g + "].reshape(-1, 1), {t1}.reshape(-1)[" + g + ":" + two_g +
                                 "].reshape(-1, 1)], False, 1, 0.0, False, False, False)";
    table.add(cpp + "({t0}.reshape({-1, 1, 1}), " + w, python + python_w, sequence_and_weights(gates),
              [=](const A& a) { return run(sequence(a), weights(a, gates)); });
    table.rules.back().cpp += ").output";
    table.rules.back().python += "[0]";
  };
  const std::string python_x = "({t0}.reshape(-1, 1, 1), ", zero = "torch.zeros(1, 1, 1, dtype={T})";
  recurrent("rnn_layer", "torch._VF.rnn_tanh" + python_x + zero + ", ", 1,
            [](const Tensor& x, const RecurrentWeights& w) { return rnn_layer(x, w).output; });
  recurrent("lstm_layer", "torch._VF.lstm" + python_x + "(" + zero + ", " + zero + "), ", 4,
            [](const Tensor& x, const RecurrentWeights& w) { return lstm_layer(x, w).output; });
  recurrent("gru_layer", "torch._VF.gru" + python_x + zero + ", ", 3,
            [](const Tensor& x, const RecurrentWeights& w) { return gru_layer(x, w).output; });

  table.add(
      "[&] { Generator seeded({i0}); return dropout({t0}, 0.4, true, &seeded); }()",
      "(torch.manual_seed({i0}), F.dropout({t0}.contiguous(), 0.4))[1]",
      [](const D& d, Call& c) {
        if (!d.operand(c)) return false;
        c.i = {d.below(1000)};
        return true;
      },
      [](const A& a) {
        Generator seeded(static_cast<uint64_t>(a.i(0)));
        return dropout(a.t[0], 0.4, true, &seeded);
      });
  table.add("on_grad({t0}, [](const Tensor& g) { return g * 1; })", "{t0}.clone()", any_value,
            [](const A& a) { return on_grad(a.t[0], [](const Tensor& g) { return g * 1; }); });

  // Two channels.
  const DrawRule image_and_filters = [](const D& d, Call& c) {
    return d.operand(c, [](const Tensor& x) { return x.numel() >= 4 && x.numel() % 4 == 0; }) && sized(4, 4)(d, c);
  };
  table.add(
      "conv2d({t0}.reshape({1, 2, 2, -1}), {t1}.reshape({2, 1, 1, 2}), {}, {.padding = Padding::same, .groups = 2})",
      "F.conv2d({t0}.reshape(1, 2, 2, -1), {t1}.reshape(2, 1, 1, 2), padding='same', groups=2)", image_and_filters,
      [](const A& a) {
        return conv2d(a.t[0].reshape({1, 2, 2, -1}), a.t[1].reshape({2, 1, 1, 2}), {},
                      {.padding = Padding::same, .groups = 2});
      });
  table.add(
      "conv2d({t0}.reshape({1, 2, 2, -1}), {t1}.reshape({1, 2, 2, 1}), {}, {.padding = Padding::same})",
      "F.conv2d({t0}.reshape(1, 2, 2, -1), {t1}.reshape(1, 2, 2, 1), padding='same')", image_and_filters,
      [](const A& a) {
        return conv2d(a.t[0].reshape({1, 2, 2, -1}), a.t[1].reshape({1, 2, 2, 1}), {}, {.padding = Padding::same});
      });
  const DrawRule pairs_and_weight = [](const D& d, Call& c) {
    return d.operand(c, [](const Tensor& x) { return x.numel() >= 4 && x.numel() % 2 == 0; }) && sized(2, 2)(d, c);
  };
  table.add(
      "conv1d({t0}.reshape({2, 1, -1}), {t1}.reshape({1, 1, 2}), {}, {.padding = 1, .padding_mode = "
      "PadMode::circular})",
      "F.conv1d(F.pad({t0}.reshape(2, 1, -1), (1, 1), mode='circular'), {t1}.reshape(1, 1, 2))", pairs_and_weight,
      [](const A& a) {
        return conv1d(a.t[0].reshape({2, 1, -1}), a.t[1].reshape({1, 1, 2}), {},
                      {.padding = 1, .padding_mode = PadMode::circular});
      });
  table.add(
      "batch_norm_training({t0}.reshape({-1, 2}), {t1}.reshape({2}), {t1}.reshape({2})).y",
      "F.batch_norm({t0}.reshape(-1, 2), None, None, {t1}.reshape(2), {t1}.reshape(2), training=True)",
      pairs_and_weight,
      [](const A& a) {
        const Tensor weight = a.t[1].reshape({2});
        return batch_norm_training(a.t[0].reshape({-1, 2}), weight, weight).y;
      },
      kApart);
  table.add(
      "group_norm({t0}.reshape({2, 2, -1}), 1, {t1}.reshape({2}))",
      "F.group_norm({t0}.reshape(2, 2, -1), 1, {t1}.reshape(2))",
      [](const D& d, Call& c) {
        return d.operand(c, [](const Tensor& x) { return x.numel() >= 8 && x.numel() % 4 == 0; }) && sized(2, 2)(d, c);
      },
      [](const A& a) {
        return group_norm(a.t[0].reshape({2, 2, -1}), 1, a.t[1].reshape({2}));
      },
      kApart);

  // Attention for long inputs, over rows of two elements.
  const DrawRule pairs = [](const D& d, Call& c) {
    return d.operand(c, [](const Tensor& x) { return x.numel() >= 6 && x.numel() % 2 == 0; });
  };
  const std::string distance = "(torch.arange({t0}.numel() // 2)[:, None] - torch.arange({t0}.numel() // 2)).abs()";
  const std::string row_pairs = "{t0}.reshape(-1, 2)";
  table.add(
      "sliding_window_attention({t0}.reshape({-1, 2}), {t0}.reshape({-1, 2}), {t0}.reshape({-1, 2}), {.window = 1})",
      "F.scaled_dot_product_attention(*[" + row_pairs + "] * 3, attn_mask=" + distance + " <= 1)", pairs,
      [](const A& a) {
        const Tensor x = a.t[0].reshape({-1, 2});
        return sliding_window_attention(x, x, x, {.window = 1});
      });
  table.add("causal_product({t0}.reshape({-1, 2}), {t0}.reshape({-1, 2}), {t0}.reshape({-1, 2}))",
            "(" + row_pairs + " @ " + row_pairs + ".T).tril() @ " + row_pairs, pairs, [](const A& a) {
              const Tensor x = a.t[0].reshape({-1, 2});
              return causal_product(x, x, x);
            });
}

}  // namespace tapegrad::tests
