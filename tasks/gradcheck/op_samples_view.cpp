// Samples of views, copies, joining and cutting.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

void add_reshapes(SampleTable& table) {
  for (const Shape& shape :
       {Shape{24}, Shape{6, 4}, Shape{2, 12}, Shape{4, 3, 2}, Shape{2, -1}, Shape{1, 2, 3, 4, 1}}) {
    add_cubes(table, "reshape", "to " + str(shape), [shape](const Tensor& x) { return x.reshape(shape); });
  }
  add_cubes(table, "reshape", "flatten", [](const Tensor& x) { return x.flatten(1); });
  table.add("reshape", "scalar to [1, 1]", {spread({})}, [](auto x) { return x[0].reshape({1, 1}); });
  table.add("reshape", "[1] to scalar", {spread({1})}, [](auto x) { return x[0].reshape({}); });
  table.add("reshape", "[2, 0] to [0, 5]", {spread({2, 0})}, [](auto x) { return x[0].reshape({0, 5}); });
  table.add("reshape", "squeeze", {spread({1, 3, 1})}, [](auto x) { return x[0].squeeze(); });

  add_cubes(table, "transpose", "0, 1", [](const Tensor& x) { return x.transpose(0, 1); });
  add_cubes(table, "transpose", "-1, 0", [](const Tensor& x) { return x.transpose(-1, 0); });
  add_cubes(table, "transpose", "twice", [](const Tensor& x) { return x.transpose(0, 1).transpose(1, 2); });
  table.add("transpose", "[0, 3]", {spread({0, 3})}, [](auto x) { return x[0].t(); });
  add_cubes(table, "permute", "1, 2, 0", [](const Tensor& x) { return x.permute({1, 2, 0}); });
  add_cubes(table, "permute", "-1, 0, 1", [](const Tensor& x) { return x.permute({-1, 0, 1}); });
  table.add("permute", "scalar", {spread({})}, [](auto x) { return x[0].permute({}); });
  add_cubes(table, "unsqueeze", "1", [](const Tensor& x) { return x.unsqueeze(1); });
  add_cubes(table, "unsqueeze", "-1", [](const Tensor& x) { return x.unsqueeze(-1); });
  table.add("unsqueeze", "scalar", {spread({})}, [](auto x) { return x[0].unsqueeze(0); });
  table.add("squeeze", "[2, 1, 3]", {spread({2, 1, 3})}, [](auto x) { return x[0].squeeze(1); });
  table.add("squeeze", "[3, 1], strided", {spread({3, 4}).slice(1, 2, 3)}, [](auto x) { return x[0].squeeze(-1); });
  table.add("squeeze", "[0, 1]", {spread({0, 1})}, [](auto x) { return x[0].squeeze(1); });

  const Shape stretches[][2] = {{{3}, {2, 3}},     {{2, 1}, {2, 3}},          {{}, {2, 2}},
                                {{1, 3}, {-1, 3}}, {{2, 1, 3}, {4, 2, 2, 3}}, {{1}, {0}},
                                {{0, 1}, {0, 3}}};
  for (const auto& [from, to] : stretches) {
    table.add("expand", str(from) + " to " + str(to), {spread(from)}, [to = to](auto x) { return x[0].expand(to); });
  }
  table.add("expand", "strided", {spread({4}).slice(0, 0, kAll, 2)}, [](auto x) { return x[0].expand({3, 2}); });
}

void add_slices(SampleTable& table) {
  struct Cut {
    const char* label;
    int64_t axis, start, stop, step;
  };
  for (const Cut& c :
       {Cut{"[1:]", 0, 1, kAll, 1}, Cut{"[:, ::2]", 1, kAll, kAll, 2}, Cut{"[..., ::-1]", 2, kAll, kAll, -1},
        Cut{"[..., 3:0:-2]", -1, 3, 0, -2}, Cut{"[..., -3:-1]", 2, -3, -1, 1}, Cut{"[:, 2:0:-1]", 1, 2, 0, -1},
        Cut{"[..., ::-3]", 2, kAll, kAll, -3}, Cut{"[:, :100]", 1, kAll, 100, 1}}) {
    add_cubes(table, "slice", c.label, [c](const Tensor& x) { return x.slice(c.axis, c.start, c.stop, c.step); });
  }
  table.add("slice", "nothing", {spread({3, 2})}, [](auto x) { return x[0].slice(0, 2, 1); });
  table.add("slice", "[0, 3]", {spread({0, 3})}, [](auto x) { return x[0].slice(1, 1); });
  table.add("slice", "a slice of a slice", {spread({12})},
            [](auto x) { return x[0].slice(0, 1, kAll, 2).slice(0, kAll, kAll, -2); });
  table.add("slice", "pieces that overlap", {spread({5})},
            [](auto x) { return x[0].slice(0, 0, 3) * x[0].slice(0, 2, 5); });
  table.add("slice", "narrow", {spread({2, 5})}, [](auto x) { return narrow(x[0], 1, 1, 3); });
  add_cubes(table, "select", "[1]", [](const Tensor& x) { return x[1]; });
  add_cubes(table, "select", "[:, -1]", [](const Tensor& x) { return x.select(1, -1); });
  add_cubes(table, "select", "[..., 2]", [](const Tensor& x) { return x.select(2, 2); });
  table.add("select", "[3][1]", {spread({3})}, [](auto x) { return x[0][1]; });
  table.add("select", "[2, 0][1]", {spread({2, 0})}, [](auto x) { return x[0][1]; });

  // What only the backward of slice and select records: its derivative is by dy.
  for (const LaidOut& dy : layouts(2, 3)) {
    table.add("unslice", dy.label, {dy.x}, [](auto x) {
      return pulled_back([](const Tensor& v) { return v.slice(1, 1, kAll, 2); }, zeros({2, 6}, kFloat64), x[0]);
    });
    table.add("unslice", dy.label + ", step -2", {dy.x}, [](auto x) {
      return pulled_back([](const Tensor& v) { return v.slice(0, kAll, kAll, -2); }, zeros({4, 3}, kFloat64), x[0]);
    });
    table.add("unslice", dy.label + ", select", {dy.x}, [](auto x) {
      return pulled_back([](const Tensor& v) { return v.select(1, 1); }, zeros({2, 4, 3}, kFloat64), x[0]);
    });
  }
}

void add_copies(SampleTable& table) {
  for (const LaidOut& x : layouts(2, 3)) {
    table.add("variable", x.label, {x.x}, [](auto v) { return Tape::current() ? Tape::variable(v[0]) : v[0]; });
  }
  table.add("contiguous", "transposed", {spread({2, 3}).t()}, [](auto x) { return x[0].contiguous(); });
  table.add("contiguous", "strided", {spread({3, 4}).slice(1, 1, kAll, 2)}, [](auto x) { return x[0].contiguous(); });
  table.add("contiguous", "reversed", {spread({3, 4}).slice(0, kAll, kAll, -1)},
            [](auto x) { return x[0].contiguous(); });
  table.add("contiguous", "expanded", {spread({3, 1}).expand({3, 4})}, [](auto x) { return x[0].contiguous(); });
  // Through float32 and back, with eighths: every number on the way is exact.
  const auto there_and_back = [](std::span<const Tensor> x) { return x[0].to(kFloat32).to(kFloat64); };
  const Tensor eighths = tensor({{0.5, -1.25, 2.0}, {0.125, 1.5, -0.75}}, kFloat64);
  table.add("to", "[2, 3]", {eighths}, there_and_back, {.step = 0.125});
  table.add("to", "transposed", {eighths.t()}, there_and_back, {.step = 0.125});
  table.add("to", "expanded", {eighths[0].expand({2, 3})}, there_and_back, {.step = 0.125});
  table.add("to", "scalar", {scalar(0.5, kFloat64)}, there_and_back, {.step = 0.125});
  table.add("to", "[0]", {zeros({0}, kFloat64)}, there_and_back, {.step = 0.125});
}

void add_joins(SampleTable& table) {
  const auto joined = [](int64_t axis) { return [axis](std::span<const Tensor> x) { return cat(x, axis); }; };
  table.add("cat", "rows", {spread({2, 3}), spread({1, 3}), spread({3, 3})}, joined(0));
  table.add("cat", "columns", {spread({2, 3}), spread({2, 1})}, joined(1));
  table.add("cat", "[2, 1, 2] in the middle", {spread({2, 1, 2}), spread({2, 3, 2})}, joined(-2));
  table.add("cat", "one part", {spread({4})}, joined(0));
  table.add("cat", "an empty part", {spread({2, 3}), spread({0, 3})}, joined(0));
  table.add("cat", "nothing but empty parts", {spread({0, 3}), spread({0, 3})}, joined(0));
  table.add("cat", "the same tensor twice", {spread({2, 2})}, [](auto x) { return cat({x[0], x[0]}, 1); });
  table.add("cat", "six parts", std::vector<Tensor>(6, spread({2})), joined(0));
  for (const LaidOut& a : layouts(3, 2)) {
    for (const LaidOut& b : layouts(3, 2)) table.add("cat", a.label + ", " + b.label, {a.x, b.x}, joined(1));
    table.add("cat", a.label + ", expanded", {a.x, spread({2}).expand({2, 2})}, joined(0));
    table.add("cat", a.label + ", stacked", {a.x, spread({3, 2})}, [](auto x) { return stack(x, 1); });
  }
  table.add("cat", "stack of scalars", {spread({}), spread({}, 0, 1)}, [](auto x) { return stack(x); });
  table.add("slice", "split", {spread({5, 2})}, [](auto x) {
    const std::vector<Tensor> parts = split(x[0], 2);
    return sum(parts[0] * parts[1], {}) * parts[2];
  });
  table.add("slice", "chunk", {spread({2, 4})}, [](auto x) {
    const std::vector<Tensor> parts = chunk(x[0], 2, 1);
    return parts[0] * parts[1];
  });
  for (const LaidOut& a : layouts(3, 4)) {
    table.add("flip", a.label, {a.x}, [](auto x) { return flip(x[0], 1); });
    table.add("flip", a.label + ", both axes", {a.x}, [](auto x) { return flip(x[0], {0, -1}); });
  }
  table.add("flip", "[0, 2]", {spread({0, 2})}, [](auto x) { return flip(x[0], 0); });
  table.add("flip", "expanded", {spread({3, 1}).expand({3, 4})}, [](auto x) { return flip(x[0], 0); });
}

}  // namespace

void add_view_samples(SampleTable& table) {
  add_reshapes(table);
  add_slices(table);
  add_copies(table);
  add_joins(table);
}

}  // namespace tapegrad::tasks
