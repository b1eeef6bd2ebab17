// Cases of diagonals, windows, repetition, rotation, padding and regions.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

#include <limits>

namespace tapegrad::tasks {
namespace {

using A = Arguments;

std::optional<int64_t> axis_of(const json& args) {
  return args.contains("axis") ? std::optional(integer(args, "axis")) : std::nullopt;
}

void add_diagonals(CaseTable& t) {
  t.call("diagonal", diagonal, "offset axis1 axis2=1");
  t.call("diag_embed", diag_embed, "offset axis1=-2 axis2=-1");
  t.call("diag", diag, "offset");
  for (int64_t offset : {0, 1, -1, 3, 9, -9}) {
    const std::string label = fmt::format("offset {}", offset);
    add_cubes(t, "diagonal", label, [offset](const Tensor& x) { return diagonal(x, offset, 1, 2); });
    add_cubes(t, "diag_embed", label, [offset](const Tensor& x) { return diag_embed(x, offset); });
  }
  add_cubes(t, "diagonal", "axes 2, 0", [](const Tensor& x) { return diagonal(x, 1, -1, 0); });
  add_cubes(t, "diag_embed", "axes 2, 0", [](const Tensor& x) { return diag_embed(x, -1, 2, 0); });
  t.add("diagonal", "diag", {spread({3, 4})}, [](auto x) { return diag(x[0], 1); });
  t.add("diagonal", "[0, 3]", {spread({0, 3})});
  t.add("diag_embed", "diag", {spread({3})}, [](auto x) { return diag(x[0], -2); });
  t.add("diag_embed", "[0]", {spread({0})}, {{"offset", 2}});
  t.add("diag_embed", "[2, 0]", {spread({2, 0})});
  t.rule(FORMULA(diagonal(a.t[0], a.i(0), -1, 0)), "torch.diagonal({t0}, {i0}, -1, 0)", and_integer(matrices, -1, 1));
  t.rule(FORMULA(diag_embed(a.t[0])), "torch.diag_embed({t0})",
         operand([](const Tensor& x) { return x.dim() > 0 && x.size(-1) < 4; }));
}

void add_windows(CaseTable& t) {
  t.function("unfold", unfold, "axis size step", ".unfold", then(with_axis, [](const Draw& d, Call& c) {
               c.i.push_back(d.between(0, d.last(c).size(c.i[0])));
               c.i.push_back(d.between(1, 3));
             }));
  struct Windows {
    int64_t axis, size, step;
  };
  for (const Windows& w : {Windows{2, 2, 1}, Windows{2, 3, 2}, Windows{1, 2, 1}, Windows{0, 1, 1}, Windows{-1, 2, 3},
                           Windows{-2, 3, 5}, Windows{2, 4, 1}}) {
    const auto windows = [w](const Tensor& x) { return unfold(x, w.axis, w.size, w.step); };
    const std::string label = fmt::format("axis {}, size {}, step {}", w.axis, w.size, w.step);
    add_cubes(t, "unfold", label, windows);
    const Shape shape = windows(zeros({2, 3, 4})).shape();
    for (const Tensor& dy : {spread(shape), spread({1}).expand(shape)}) {
      t.add("add_windows", label, {dy}, [windows](auto x) {
        return pulled_back(windows, zeros({2, 3, 4}, kFloat64), x[0]);
      });
    }
  }
  t.add("unfold", "windows of windows", {spread({7})}, [](auto x) { return unfold(unfold(x[0], 0, 4, 1), 1, 2, 2); });
  t.add("unfold", "size 0", {spread({3})}, {{"step", 1}});
  t.add("unfold", "[0]", {spread({2, 0})}, {{"size", 2}, {"step", 1}});
}

void add_repetition(CaseTable& t) {
  t.call("repeat", repeat, "counts", "expand");
  t.call("tile", tile, "counts", "expand");
  t.call("repeat_interleave", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("count")) return {repeat_interleave(x[0], integer(args, "count"), axis_of(args))};
    return {repeat_interleave(x[0], x[1], axis_of(args))};
  });
  t.call("meshgrid", [](const Inputs& x, const json& args) -> Outputs {
    return meshgrid(x, args["indexing"] == "xy" ? MeshIndexing::xy : MeshIndexing::ij);
  });
  add_cubes(t, "expand", "repeat", [](const Tensor& x) { return repeat(x, {2, 1, 3}); });
  add_cubes(t, "expand", "repeat, a new axis", [](const Tensor& x) { return repeat(x, {3, 1, 2, 1}); });
  add_cubes(t, "expand", "tile", [](const Tensor& x) { return tile(x, {2, 2}); });
  add_cubes(t, "expand", "repeat_interleave", [](const Tensor& x) { return repeat_interleave(x, 3, 1); });
  add_cubes(t, "expand", "repeat_interleave, flat", [](const Tensor& x) { return repeat_interleave(x, 2); });
  add_cubes(t, "index_select", "repeat_interleave with counts", [](const Tensor& x) {
    return repeat_interleave(x, tensor({2, 0, 3}), 1);
  });
  t.add("repeat", "repeat 0 times", {spread({2, 3})}, {{"counts", {0, 2}}});
  t.add("repeat", "repeat a scalar", {spread({})}, {{"counts", {2, 3}}});
  t.add("repeat", "repeat [0]", {spread({0})}, {{"counts", {2, 3}}});
  t.add("expand", "meshgrid", {spread({2}), spread({3}, 1, 2), spread({}, 0, 1)}, [](auto x) {
    const std::vector<Tensor> grids = meshgrid(x, MeshIndexing::xy);
    return grids[0] * grids[1] * grids[2];
  });
  t.rule(FORMULA(repeat(a.t[0], a.l(0))), "{t0}.repeat({l0})", then(any_value, [](const Draw& d, Call& c) {
           std::vector<int64_t> counts;
           for (int k = d.last(c).dim() + static_cast<int>(d.below(2)); k > 0; --k) counts.push_back(d.between(1, 2));
           c.l = {counts};
         }));
  t.rule(FORMULA(repeat_interleave(a.t[0], 2, a.i(0))), "{t0}.repeat_interleave(2, {i0})", with_axis);

  t.call("roll", [](const Inputs& x, const json& args) -> Outputs {
    const Dims shifts = dims(args, "shifts");
    return {args.contains("axes") ? roll(x[0], shifts, Axes(dims(args, "axes"))) : roll(x[0], shifts[0])};
  });
  add_cubes(t, "roll", "axis 1", [](const Tensor& x) { return roll(x, 1, 1); });
  add_cubes(t, "roll", "axes 0, 2", [](const Tensor& x) { return roll(x, {-1, 3}, {0, -1}); });
  add_cubes(t, "roll", "all axes", [](const Tensor& x) { return roll(x, {1, 5, -6}, {0, 1, 2}); });
  add_cubes(t, "roll", "flat", [](const Tensor& x) { return roll(x, -7); });
  t.add("roll", "[2, 0]", {spread({2, 0})}, {{"shifts", {1}}, {"axes", {1}}});
  t.add("roll", "scalar", {spread({})}, {{"shifts", {1}}});
  const DrawRule with_shift = and_integer(with_axis, -4, 4);
  t.rule(FORMULA(roll(a.t[0], a.i(1), a.i(0))), "{t0}.roll({i1}, {i0})", with_shift);
  t.rule(FORMULA(roll(a.t[0], a.i(1))), "{t0}.roll({i1})", with_shift);
}

void add_padding(CaseTable& t) {
  t.call("pad", [](auto& x, auto& args) {
    return pad(x[0], list(args, "widths"), pad_mode(args, "mode"),
               args.value("value", std::numeric_limits<double>::quiet_NaN()));
  });
  struct Edges {
    const char* label;
    std::vector<int64_t> widths;
  };
  for (const std::string name : {"constant", "reflect", "replicate", "circular"}) {
    const PadMode mode = pad_mode({{"mode", name}}, "mode");
    for (const Edges& e :
         {Edges{"last axis", {1, 2}}, Edges{"two axes", {3, 0, 1, 2}}, Edges{"three axes", {1, 1, 0, 2, 1, 0}},
          Edges{"middle axis", {0, 0, 2, 1}}, Edges{"one cut", {-1, 2, 1, -2}}}) {
      const auto padded = [mode, e](const Tensor& x) { return pad(x, e.widths, mode, 1.5); };
      add_cubes(t, "pad", fmt::format("{}, {}", name, e.label), padded);
      if (mode == PadMode::constant) continue;
      const Shape shape = padded(zeros({2, 3, 4})).shape();
      for (const Tensor& dy : {spread(shape), spread({1}).expand(shape)}) {
        t.add("unpad", fmt::format("{}, {}", name, e.label), {dy}, [padded](auto x) {
          return pulled_back(padded, zeros({2, 3, 4}, kFloat64), x[0]);
        });
      }
    }
    t.add("pad", name + ", vector", {spread({5})}, {{"widths", {4, 3}}, {"mode", name}, {"value", 0}});
    t.add("pad", name + ", no rows", {spread({0, 3})}, {{"widths", {1, 1}}, {"mode", name}, {"value", 0}});
    if (mode == PadMode::constant) continue;
    t.rule(
        "pad({t0}.reshape({1, 1, -1}), {{i0}, {i1}}, PadMode::" + name + ")",
        "F.pad({t0}.reshape(1, 1, -1), ({i0}, {i1}), mode='" + name + "')",
        [less = mode == PadMode::reflect ? 1 : 0](const Draw& d, Call& c) {
          if (!not_empty(d, c)) return false;
          const int64_t most = std::min<int64_t>(3, d.last(c).numel() - less);
          if (most < 0) return false;
          c.i = {d.between(0, most), d.between(0, most)};
          return true;
        },
        [mode](const A& a) {
          return pad(a.t[0].reshape({1, 1, -1}), {a.i(0), a.i(1)}, mode);
        });
  }
  t.add("pad", "constant, nothing", {spread({0})}, {{"widths", {2, 1}}, {"value", 0}});
  t.add("pad", "constant, more cut than there is", {spread({3})}, {{"widths", {-5, 6}}, {"value", 0}},
        {.zero_gradient = true});
  t.add("slice", "pad that cuts", {spread({4, 5})}, [](auto x) { return pad(x[0], {-1, -2, 0, -1}); });
  t.rule(FORMULA(pad(a.t[0], {a.i(1), a.i(2)}, PadMode::constant, a.d(0))), "F.pad({t0}, ({i1}, {i2}), value={d0})",
         and_number(and_integer(and_integer(with_axis, 0, 2), 0, 2), -1, 1));
}

// [] is a whole axis, [start, stop, step] a range with null for what is left out, a number one index.
std::vector<Slice> slices_of(const json& args) {
  std::vector<Slice> all;
  for (const json& one : args.at("slices")) {
    if (one.is_number()) {
      all.emplace_back(one.get<int64_t>());
    } else if (one.empty()) {
      all.emplace_back();
    } else {
      const auto bound = [&](int i, int64_t otherwise) { return one[i].is_null() ? otherwise : one[i].get<int64_t>(); };
      all.emplace_back(bound(0, kAll), bound(1, kAll), bound(2, 1));
    }
  }
  return all;
}

void add_regions(CaseTable& t) {
  t.call("slice", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("slices")) return {slice(x[0], slices_of(args))};
    return {
        x[0].slice(integer(args, "axis"), args.value("start", kAll), args.value("stop", kAll), integer(args, "step"))};
  });
  t.call("slice_update", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("value")) return {slice_update(x[0], slices_of(args), args["value"].get<double>())};
    return {slice_update(x[0], slices_of(args), x[1])};
  });
  const std::pair<const char*, std::vector<Slice>> regions[] = {
      {"[1]", {1}},
      {"[:, 1:3]", {{}, {1, 3}}},
      {"[:, 1, ::2]", {{}, 1, {kAll, kAll, 2}}},
      {"[..., 2::-1]", {{}, {}, {2, kAll, -1}}},
      {"[-1, :, 3:0:-2]", {-1, {}, {3, 0, -2}}},
      {"[:, 2:1]", {{}, {2, 1}}},
      {"[1, 2, 3]", {1, 2, 3}},
  };
  for (const auto& entry : regions) {
    const auto slices = entry.second;
    const std::string label = entry.first;
    const Shape shape = slice(zeros({2, 3, 4}), slices).shape();
    add_cubes(t, "slice_update", label + " = number",
              [slices](const Tensor& x) { return slice_update(x, slices, 2.5); });
    add_cubes(t, "slice_update", label + " = scalar",
              [slices](const Tensor& x) { return slice_update(x, slices, x.reshape({-1})[5]); });
    t.add("slice_update", label, {spread({2, 3, 4}), spread(shape, 0, 1)},
          [slices](auto x) { return slice_update(x[0], slices, x[1]); });
    t.add("slice_update", label + ", values only", {spread(shape, 0, 1)}, [slices](auto x) {
      return slice_update(zeros({2, 3, 4}, kFloat64), slices, x[0]);
    });
  }
  add_cubes(t, "slice", "[:, 1:, 2]", [](const Tensor& x) { return slice(x, {{}, {1, kAll}, 2}); });
  t.add("slice_update", "a row in columns", {spread({3, 4}), spread({2}, 0, 1)}, [](auto x) {
    return slice_update(x[0], {{}, {1, 3}}, x[1]);
  });
  t.add("slice_update", "[0]", {spread({0, 2}), spread({2})}, [](auto x) { return slice_update(x[0], {{}}, x[1]); });
  t.rule(FORMULA(slice_update(a.t[0], {{1, kAll, 2}}, a.d(0))), "torch.cat([{t0}[:1], {t0}[1:] * 0 + {d0}])",
         and_number(operand([](const Tensor& x) { return x.dim() > 0 && x.size(0) == 2; }), -1, 1));
}

void add_large_shapes(CaseTable& t) {
  const Tensor x = numbers({kRows, kColumns}), turned = numbers({kColumns, kRows}).t();
  for (int axis : {0, 1}) {
    t.add_large("roll", {turned}, {{"shifts", {77}}, {"axes", {axis}}});
    for (int64_t step : {1, 3, 90}) {
      for (const char* op : {"unfold", "add_windows"})
        t.add_large(op, {x}, [axis, step](auto v) { return unfold(v[0], axis, 7, step) * 2; });
    }
  }
  t.add_large("diagonal", {numbers({400, 30, 40})}, [](auto v) { return diagonal(v[0], 1, 1, 2) * 2; });
  t.add_large("diag_embed", {numbers({400, 30})}, {{"offset", 1}});
  t.add_large("slice_update", {x, numbers({100, 1000})}, [](auto v) {
    return slice_update(v[0], {{1, kAll, 3}, {3, kAll}}, v[1]);
  });
  for (const std::string mode : {"constant", "reflect", "replicate", "circular"}) {
    for (const std::string op : {"pad", "unpad"}) {
      if (mode == "constant" && op == "unpad") continue;
      const auto padded = [&](const Tensor& given, std::vector<int64_t> widths) {
        t.add_large(op, {given},
                    [=, of = pad_mode({{"mode", mode}}, "mode")](auto v) { return pad(v[0], widths, of); });
      };
      padded(turned, {30, 7, 5, 100});
      padded(x, {0, 0, 5, 100});
    }
  }
}

}  // namespace

void add_shape_cases(CaseTable& table) {
  add_diagonals(table);
  add_windows(table);
  add_repetition(table);
  add_padding(table);
  add_regions(table);
  if (table.large()) add_large_shapes(table);
}

}  // namespace tapegrad::tasks
