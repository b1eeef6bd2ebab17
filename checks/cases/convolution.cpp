// Cases of convolutions and their transposes.
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/checks/cases/case.h>

namespace tapegrad::tasks {
namespace {

ConvOptions conv_options(const json& args) {
  const bool named = args.contains("padding") && args["padding"].is_string();
  return {.stride = per_axis(args, "stride", 1),
          .padding = named ? ConvPadding(args["padding"] == "same" ? Padding::same : Padding::valid)
                           : ConvPadding(per_axis(args, "padding", 0)),
          .dilation = per_axis(args, "dilation", 1),
          .groups = integer(args, "groups", 1),
          .padding_mode = pad_mode(args, "padding_mode")};
}

ConvTransposeOptions transpose_options(const json& args) {
  return {.stride = per_axis(args, "stride", 1),
          .padding = per_axis(args, "padding", 0),
          .output_padding = per_axis(args, "output_padding", 0),
          .dilation = per_axis(args, "dilation", 1),
          .groups = integer(args, "groups", 1)};
}

void add_conv_calls(CaseTable& t) {
  const auto convolution = [&](const char* name, auto f, auto options) {
    t.call(name,
           [=](const Inputs& x, const json& args) -> Outputs { return {f(x[0], x[1], input(x, 2), options(args))}; });
  };
  convolution("conv1d", conv1d, conv_options);
  convolution("conv2d", conv2d, conv_options);
  convolution("conv_transpose1d", conv_transpose1d, transpose_options);
  convolution("conv_transpose2d", conv_transpose2d, transpose_options);
  convolution("conv3d", conv3d, conv_options);
  convolution("conv_transpose3d", conv_transpose3d, transpose_options);
}

void add_convolutions(CaseTable& t) {
  const auto one = [&](const std::string& label, std::vector<Tensor> inputs, const json& options = kNone) {
    t.add("conv1d", label, std::move(inputs), options);
  };
  one("[2, 3, 7]", {spread({2, 3, 7}), spread({4, 3, 3}, -1, 1), spread({4})});
  one("without bias", {spread({1, 2, 6}), spread({3, 2, 2}, -1, 1)}, {{"stride", 2}, {"padding", 1}});
  one("one signal", {spread({2, 6}), spread({3, 2, 3}, -1, 1), spread({3})}, {{"padding", 2}, {"dilation", 2}});
  one("groups", {spread({2, 4, 5}), spread({6, 2, 2}, -1, 1), spread({6})}, {{"stride", 2}, {"groups", 2}});
  one("depthwise", {spread({2, 3, 6}), spread({3, 1, 3}, -1, 1), spread({3})}, {{"padding", 1}, {"groups", 3}});
  one("the same size", {spread({2, 2, 5}), spread({3, 2, 4}, -1, 1), spread({3})}, {{"padding", "same"}});
  one("circular", {spread({2, 5}), spread({3, 2, 3}, -1, 1)}, {{"padding", 2}, {"padding_mode", "circular"}});
  one("no signal", {spread({0, 2, 6}), spread({3, 2, 3}, -1, 1), spread({3})});
  one("no channels", {spread({2, 0, 6}), spread({3, 0, 3}), spread({3})});
  for (const LaidOut& x : layouts(3, 6)) {
    for (const LaidOut& w : layouts(2, 3)) {
      one(x.label + ", weight " + w.label, {x.x.unsqueeze(1), w.x.unsqueeze(1), spread({4}).slice(0, 0, kAll, 2)},
          {{"padding", 1}});
    }
  }

  const auto two = [&](const std::string& label, std::vector<Tensor> inputs, const json& options = kNone) {
    t.add("conv2d", label, std::move(inputs), options);
  };
  const Tensor image = spread({2, 2, 4, 5}), filters = spread({3, 2, 2, 3}, -1, 1), bias = spread({3});
  two("[2, 2, 4, 5]", {image, filters, bias});
  two("padded", {image, filters, bias}, {{"padding", {1, 2}}});
  two("stride", {image, filters}, {{"stride", {2, 3}}, {"padding", 1}});
  two("dilation", {image, filters}, {{"stride", {1, 2}}, {"padding", {1, 2}}, {"dilation", {3, 2}}});
  two("the same size", {image, filters, bias}, {{"padding", "same"}, {"dilation", {1, 2}}});
  two("depthwise, of the same size", {image, spread({4, 1, 2, 4}, -1, 1)}, {{"padding", "same"}, {"groups", 2}});
  two("reflected", {image, filters}, {{"stride", {1, 2}}, {"padding", {0, 2}}, {"padding_mode", "reflect"}});
  two("one image", {spread({2, 3, 4}), filters, bias}, {{"padding", 1}});
  two("a kernel of one element", {image, spread({3, 2, 1, 1}, -1, 1), bias});
  two("one element, stride", {image, spread({3, 2, 1, 1}, -1, 1), bias}, {{"stride", 2}});
  two("one element, groups", {spread({1, 4, 2, 2}), spread({2, 2, 1, 1}, -1, 1)}, {{"groups", 2}});
  two("groups", {spread({1, 4, 3, 3}), spread({4, 2, 2, 2}, -1, 1), spread({4})}, {{"padding", 1}, {"groups", 2}});
  two("depthwise", {image, spread({2, 1, 2, 2}, -1, 1), spread({2})},
      {{"stride", {1, 2}}, {"padding", 1}, {"groups", 2}});
  two("depthwise, two filters per channel", {image, spread({4, 1, 2, 2}, -1, 1)},
      {{"stride", 2}, {"dilation", {1, 2}}, {"groups", 2}});
  t.add_per_example("conv2d", "per example", {image, filters, bias}, [](auto x) {
    return conv2d(x[0], x[1], x[2], {.stride = {1, 2}, .padding = 1});
  });
  two("no image", {spread({0, 2, 4, 5}), filters, bias});
  two("transposed image", {spread({2, 2, 5, 4}).t(), spread({3, 2, 3, 2}, -1, 1).t()});
  two("expanded", {spread({1, 2, 1, 5}).expand({2, 2, 4, 5}), spread({2, 1, 1}).expand({3, 2, 2, 3})});
  two("wider than a vector", {spread({1, 2, 2, 19}), spread({9, 2, 1, 2}, -1, 1)});
}

void add_conv_transposes(CaseTable& t) {
  const auto one = [&](const std::string& label, std::vector<Tensor> inputs, const json& options = kNone) {
    t.add("conv_transpose1d", label, std::move(inputs), options);
  };
  one("[2, 3, 4]", {spread({2, 3, 4}), spread({3, 2, 3}, -1, 1), spread({2})});
  one("stride", {spread({2, 3, 4}), spread({3, 2, 3}, -1, 1)}, {{"stride", 2}, {"padding", 1}, {"output_padding", 1}});
  one("groups", {spread({1, 4, 3}), spread({4, 2, 3}, -1, 1), spread({4})},
      {{"stride", 2}, {"dilation", 2}, {"groups", 2}});
  one("depthwise", {spread({2, 2, 3}), spread({2, 1, 3}, -1, 1), spread({2})}, {{"stride", 3}, {"groups", 2}});
  one("one signal", {spread({3, 4}), spread({3, 2, 2}, -1, 1), spread({2})}, {{"padding", 1}});

  const auto two = [&](const std::string& label, std::vector<Tensor> inputs, const json& options = kNone) {
    t.add("conv_transpose2d", label, std::move(inputs), options);
  };
  const Tensor image = spread({2, 2, 3, 2}), filters = spread({2, 3, 2, 3}, -1, 1), bias = spread({3});
  two("[2, 2, 3, 2]", {image, filters, bias});
  two("stride", {image, filters, bias}, {{"stride", {2, 3}}, {"padding", {1, 0}}, {"output_padding", {1, 2}}});
  two("stride beyond the kernel", {image, spread({2, 1, 1, 2}, -1, 1)}, {{"stride", 3}, {"output_padding", {2, 0}}});
  two("dilation", {image, filters},
      {{"stride", {2, 1}}, {"padding", 1}, {"output_padding", {2, 1}}, {"dilation", {3, 2}}});
  two("a kernel of one element", {image, spread({2, 3, 1, 1}, -1, 1), bias});
  two("one image", {spread({2, 3, 2}), filters, bias});
  two("groups", {image, spread({2, 2, 2, 2}, -1, 1), spread({4})}, {{"stride", 2}, {"groups", 2}});
  two("no image", {spread({0, 2, 3, 2}), filters, bias});
}

void add_volume_convolutions(CaseTable& t) {
  const Tensor volume = spread({1, 2, 3, 2, 3}), filters = spread({2, 2, 2, 2, 1}, -1, 1), bias = spread({2});
  t.add("conv3d", "[1, 2, 3, 2, 3]", {volume, filters, bias});
  t.add("conv3d", "padded, with strides", {volume, filters}, {{"stride", {2, 1, 2}}, {"padding", {1, 1, 0}}});
  t.add("conv3d", "dilation, one volume", {spread({2, 4, 2, 2}), filters, bias}, {{"dilation", {2, 1, 1}}});
  t.add("conv3d", "the same size", {volume.transpose(2, 4), filters}, {{"padding", "same"}});
  t.add("conv3d", "circular", {volume, filters}, {{"padding", {1, 1, 0}}, {"padding_mode", "circular"}});
  t.add("conv3d", "depthwise", {volume, spread({2, 1, 2, 1, 2}, -1, 1), bias}, {{"groups", 2}, {"padding", 1}});
  const auto per_example = [&](const std::string& label, int64_t groups, const Tensor& weight) {
    t.add_per_example("conv3d", label + ", per example", {spread({2, 2, 3, 2, 2}), weight, bias}, [groups](auto x) {
      return conv3d(x[0], x[1], x[2], {.stride = {2, 1, 1}, .padding = 1, .groups = groups});
    });
  };
  per_example("padded", 1, filters);
  per_example("depthwise", 2, spread({2, 1, 2, 1, 2}, -1, 1));
  t.add("conv3d", "no volume", {spread({0, 2, 3, 2, 3}), filters, bias});
  const Tensor back = spread({2, 2, 2, 1, 2}, -1, 1);
  t.add("conv_transpose3d", "[1, 2, 2, 1, 2]", {spread({1, 2, 2, 1, 2}), back, bias});
  t.add("conv_transpose3d", "strides", {spread({1, 2, 1, 2, 2}).t(), back},
        {{"stride", {3, 1, 2}}, {"padding", {0, 0, 1}}, {"output_padding", {2, 0, 1}}});
  t.add("conv_transpose3d", "groups, dilation, one volume",
        {spread({2, 2, 1, 2}), spread({2, 1, 2, 1, 1}, -1, 1), bias},
        {{"groups", 2}, {"dilation", {2, 1, 1}}, {"padding", {1, 0, 0}}});
  for (const char* const op : {"depth_windows", "add_depths"}) {  // which depthwise volumes record
    t.add(op, "groups, dilation, one volume", {spread({2, 2, 1, 2}), spread({2, 1, 2, 1, 1}, -1, 1), bias}, [](auto x) {
      return conv_transpose3d(x[0], x[1], x[2], {.padding = {1, 0, 0}, .dilation = {2, 1, 1}, .groups = 2});
    });
  }
}

void add_conv_weights(CaseTable& t) {
  const auto gradient = [&](std::string_view label, const Shape& x, const Shape& weight, const Shape& dy,
                            const ConvOptions& options) {
    t.add("conv_weight", label, {spread(x), spread(dy, -1, 1)}, [weight, options](auto in) {
      const Tensor image = in[0];
      return pulled_back([&](const Tensor& w) { return conv2d(image, w, {}, options); }, spread(weight), in[1]);
    });
  };
  gradient("padded", {2, 2, 3, 4}, {3, 2, 2, 3}, {2, 3, 4, 4}, {.padding = 1});
  gradient("stride and groups", {1, 4, 5, 4}, {2, 2, 2, 2}, {1, 2, 2, 2}, {.stride = 2, .groups = 2});
  gradient("depthwise", {2, 2, 4, 5}, {2, 1, 3, 2}, {2, 2, 2, 2}, {.stride = {1, 3}, .groups = 2});
}

void add_conv_rules(CaseTable& t) {
  const DrawRule signal = [](const Draw& d, Call& c) {
    if (!sized(2, 12)(d, c)) return false;
    const int64_t length = d.last(c).numel();
    if (!d.operand(c, [&](const Tensor& w) { return w.numel() > 0 && w.numel() <= std::min<int64_t>(length, 4); }))
      return false;
    c.i = {d.between(1, 2), d.between(0, 1)};
    return true;
  };
  const DrawRule image = both(sized(4, 16, 2), sized(2, 2)), pairs = both(sized(4, kMostElements, 2), sized(2, 2)),
                 two_channels = both(sized(4, kMostElements, 4), sized(4, 4));
  t.rule(FORMULA(
             conv1d(a.t[0].reshape({1, 1, -1}), a.t[1].reshape({1, 1, -1}), {}, {.stride = a.i(0), .padding = a.i(1)})),
         "F.conv1d({t0}.reshape(1, 1, -1), {t1}.reshape(1, 1, -1), stride={i0}, padding={i1})", signal);
  t.rule(FORMULA(conv_transpose1d(a.t[0].reshape({1, 1, -1}), a.t[1].reshape({1, 1, -1}), {}, {.stride = a.i(0)})),
         "F.conv_transpose1d({t0}.reshape(1, 1, -1), {t1}.reshape(1, 1, -1), stride={i0})", signal);
  t.rule(FORMULA(conv2d(a.t[0].reshape({1, 1, 2, -1}), a.t[1].reshape({1, 1, 1, 2}), {}, {.padding = {1, 0}})),
         "F.conv2d({t0}.reshape(1, 1, 2, -1), {t1}.reshape(1, 1, 1, 2), padding=(1, 0))", image);
  t.rule(FORMULA(conv_transpose2d(a.t[0].reshape({1, 1, 2, -1}), a.t[1].reshape({1, 1, 2, 1}))),
         "F.conv_transpose2d({t0}.reshape(1, 1, 2, -1), {t1}.reshape(1, 1, 2, 1))", image);
  t.rule(FORMULA(conv2d(a.t[0].reshape({1, 2, 2, -1}), a.t[1].reshape({2, 1, 1, 2}), {},
                        {.padding = Padding::same, .groups = 2})),
         "F.conv2d({t0}.reshape(1, 2, 2, -1), {t1}.reshape(2, 1, 1, 2), padding='same', groups=2)", two_channels);
  t.rule(FORMULA(conv2d(a.t[0].reshape({1, 2, 2, -1}), a.t[1].reshape({1, 2, 2, 1}), {}, {.padding = Padding::same})),
         "F.conv2d({t0}.reshape(1, 2, 2, -1), {t1}.reshape(1, 2, 2, 1), padding='same')", two_channels);
  t.rule(FORMULA(conv1d(a.t[0].reshape({2, 1, -1}), a.t[1].reshape({1, 1, 2}), {},
                        {.padding = 1, .padding_mode = PadMode::circular})),
         "F.conv1d(F.pad({t0}.reshape(2, 1, -1), (1, 1), mode='circular'), {t1}.reshape(1, 1, 2))", pairs);

  // A volume of two depths and two rows, and a filter of two depths.
  const DrawRule volume = both(sized(4, 16, 4), sized(2, 2));
  t.rule(FORMULA(conv3d(a.t[0].reshape({1, 1, 2, 2, -1}), a.t[1].reshape({1, 1, 2, 1, 1}), {}, {.padding = {1, 0, 0}})),
         "F.conv3d({t0}.reshape(1, 1, 2, 2, -1), {t1}.reshape(1, 1, 2, 1, 1), padding=(1, 0, 0))", volume);
  t.rule(FORMULA(conv_transpose3d(a.t[0].reshape({1, 1, 2, 2, -1}), a.t[1].reshape({1, 1, 2, 1, 1}))),
         "F.conv_transpose3d({t0}.reshape(1, 1, 2, 2, -1), {t1}.reshape(1, 1, 2, 1, 1))", volume);
  // Depthwise, which records depth_windows and add_depths.
  t.rule(
      FORMULA(conv_transpose3d(a.t[0].reshape({1, 2, 2, 1, -1}), a.t[1].reshape({2, 1, 1, 1, 1}), {}, {.groups = 2})),
      "F.conv_transpose3d({t0}.reshape(1, 2, 2, 1, -1), {t1}.reshape(2, 1, 1, 1, 1), groups=2)", volume);
}

void add_large_convolutions(CaseTable& t) {
  const Shape images[][2] = {{{9, 18, 28, 28}, {20, 18, 3, 3}},
                             {{1, 3, 60, 70}, {40, 3, 5, 5}},
                             {{70, 16, 5, 5}, {33, 16, 2, 2}},
                             {{5, 64, 30, 20}, {70, 64, 1, 1}}};
  for (const auto& [x, weight] : images) {
    for (int64_t stride : {1, 2}) {
      t.add_large("conv2d", {numbers(x), numbers(weight), numbers({weight[0]})}, {{"stride", stride}, {"padding", 1}});
      t.add_large("conv_transpose2d", {numbers(x), numbers(weight).transpose(0, 1)}, {{"stride", stride}});
    }
  }
  t.add_large("conv3d", {numbers({2, 16, 9, 20, 21}), numbers({20, 16, 3, 3, 3})}, {{"padding", 1}});
  t.add_large("conv_transpose3d", {numbers({2, 16, 9, 20, 21}), numbers({16, 20, 3, 2, 2})}, {{"stride", 2}});
  for (const char* const op : {"depth_windows", "add_depths"}) {
    t.add_large(op, {numbers({2, 16, 9, 20, 21}), numbers({16, 1, 3, 3, 3})},
                [](auto v) { return conv_transpose3d(v[0], v[1], {}, {.stride = 2, .groups = 16}); });
  }
  t.add_large("conv_weight", {numbers({6, 8, 40, 40}), numbers({12, 8, 3, 3})},
              [](auto v) { return conv2d(v[0], v[1]); });
  t.add_large("conv2d", {numbers({5, 33, 40, 40}), numbers({66, 1, 3, 3})}, {{"padding", 1}, {"groups", 33}});
  t.add_large("conv1d", {numbers({3, 40, 3001}), numbers({50, 20, 5})}, {{"groups", 2}});
  t.add_large("conv_transpose1d", {numbers({3, 40, 1001}), numbers({40, 20, 4})}, {{"stride", 2}, {"padding", 1}});
}

}  // namespace

void add_convolution_cases(CaseTable& table) {
  add_conv_calls(table);
  add_convolutions(table);
  add_conv_transposes(table);
  add_volume_convolutions(table);
  add_conv_weights(table);
  add_conv_rules(table);
  if (table.large()) add_large_convolutions(table);
}

}  // namespace tapegrad::tasks
