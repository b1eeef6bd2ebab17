// Cases of views, copies, joining and cutting, and of tensors that are made.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

namespace tapegrad::tasks {
namespace {

void add_reshapes(CaseTable& t) {
  t.call("reshape", [](auto& x, auto& args) { return x[0].reshape(dims(args, "shape")); });
  t.call("flatten", [](auto& x, auto& args) { return x[0].flatten(integer(args, "first"), integer(args, "last")); });
  t.call("unflatten", unflatten, "axis sizes", "reshape");
  for (const Shape& shape :
       {Shape{24}, Shape{6, 4}, Shape{2, 12}, Shape{4, 3, 2}, Shape{2, -1}, Shape{1, 2, 3, 4, 1}}) {
    add_cubes(t, "reshape", "to " + str(shape), [shape](const Tensor& x) { return x.reshape(shape); });
  }
  add_cubes(t, "reshape", "flatten", [](const Tensor& x) { return x.flatten(1); });
  add_cubes(t, "reshape", "unflatten", [](const Tensor& x) { return unflatten(x, -1, {2, -1}); });
  t.add("reshape", "scalar to [1, 1]", {spread({})}, {{"shape", {1, 1}}});
  t.add("reshape", "[1] to scalar", {spread({1})}, {{"shape", json::array()}});
  t.add("reshape", "[2, 0] to [0, 5]", {spread({2, 0})}, {{"shape", {0, 5}}});
  t.add("reshape", "squeeze", {spread({1, 3, 1})}, [](auto x) { return x[0].squeeze(); });
  t.add("reshape", "squeeze of two axes", {spread({1, 3, 1})}, [](auto x) { return x[0].squeeze({0, -1}); });
  t.rule(FORMULA(a.t[0].reshape({-1})), "{t0}.reshape(-1)", any_value);
  t.rule(FORMULA(a.t[0].reshape({2, -1})), "{t0}.reshape(2, -1)", sized(2, kMostElements, 2));
  t.rule(FORMULA(a.t[0].flatten(0, -1)), "{t0}.flatten(0, -1)", any_value);

  t.call("squeeze", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("axes")) return {x[0].squeeze(Axes(dims(args, "axes")))};
    return {args.contains("axis") ? x[0].squeeze(integer(args, "axis")) : x[0].squeeze()};
  });
  t.call("unsqueeze", [](auto& x, auto& args) { return x[0].unsqueeze(integer(args, "axis")); });
  add_cubes(t, "unsqueeze", "1", [](const Tensor& x) { return x.unsqueeze(1); });
  add_cubes(t, "unsqueeze", "-1", [](const Tensor& x) { return x.unsqueeze(-1); });
  t.add("unsqueeze", "scalar", {spread({})}, {{"axis", 0}});
  t.add("squeeze", "[2, 1, 3]", {spread({2, 1, 3})}, {{"axis", 1}});
  t.add("squeeze", "[3, 1], strided", {spread({3, 4}).slice(1, 2, 3)}, {{"axis", -1}});
  t.add("squeeze", "[0, 1]", {spread({0, 1})}, {{"axis", 1}});
  t.rule(FORMULA(a.t[0].squeeze()), "{t0}.squeeze()", any_value);

  t.call("expand", [](auto& x, auto& args) { return x[0].expand(dims(args, "shape")); });
  const Shape stretches[][2] = {{{3}, {2, 3}},     {{2, 1}, {2, 3}},          {{}, {2, 2}},
                                {{1, 3}, {-1, 3}}, {{2, 1, 3}, {4, 2, 2, 3}}, {{1}, {0}},
                                {{0, 1}, {0, 3}}};
  for (const auto& [from, to] : stretches) {
    t.add("expand", str(from) + " to " + str(to), {spread(from)}, [to = to](auto x) { return x[0].expand(to); });
  }
  t.add("expand", "strided", {spread({4}).slice(0, 0, kAll, 2)}, {{"shape", {3, 2}}});
  t.rule(FORMULA(a.t[0].unsqueeze(a.i(0)).expand(a.l(0))), "{t0}.unsqueeze({i0}).expand({l0})",
         then(any_value, [](const Draw& d, Call& c) {
           c.i = {d.between(0, d.last(c).dim())};
           std::vector<int64_t> sizes(static_cast<std::size_t>(d.last(c).dim()) + 1, -1);
           sizes[static_cast<std::size_t>(c.i[0])] = d.between(1, 3);
           c.l = {sizes};
         }));
}

void add_turns(CaseTable& t) {
  t.call("transpose", [](auto& x, auto& args) { return x[0].transpose(integer(args, "a"), integer(args, "b")); });
  add_cubes(t, "transpose", "0, 1", [](const Tensor& x) { return x.transpose(0, 1); });
  add_cubes(t, "transpose", "-1, 0", [](const Tensor& x) { return x.transpose(-1, 0); });
  add_cubes(t, "transpose", "twice", [](const Tensor& x) { return x.transpose(0, 1).transpose(1, 2); });
  t.add("transpose", "[0, 3]", {spread({0, 3})}, {{"a", 0}, {"b", 1}});
  t.rule(FORMULA(a.t[0].t()), "{t0}.transpose(-1, -2)", matrices);
  t.call("permute", [](auto& x, auto& args) { return x[0].permute(dims(args, "axes")); });
  add_cubes(t, "permute", "1, 2, 0", [](const Tensor& x) { return x.permute({1, 2, 0}); });
  add_cubes(t, "permute", "-1, 0, 1", [](const Tensor& x) { return x.permute({-1, 0, 1}); });
  t.add("permute", "scalar", {spread({})}, {{"axes", json::array()}});
  t.rule(FORMULA(a.t[0].permute(a.l(0))), "{t0}.permute({l0})", then(matrices, [](const Draw& d, Call& c) {
           std::vector<int64_t> axes;
           for (int k = 0; k < d.last(c).dim(); ++k) axes.insert(axes.begin() + d.below(k + 1), k);
           c.l = {axes};
         }));
  t.call("movedim", movedim, "from to", "permute");
  add_cubes(t, "permute", "movedim", [](const Tensor& x) { return movedim(x, {0, 2}, {1, 0}); });
  t.rule(FORMULA(movedim(a.t[0], {a.i(0)}, {a.i(1)})), "torch.movedim({t0}, {i0}, {i1})",
         then(with_axis, [](const Draw& d, Call& c) { c.i.push_back(d.axis(d.last(c))); }));
  t.function("flip", flip, "axes", ".flip", with_axis);
  for (const LaidOut& a : layouts(3, 4)) {
    t.add("flip", a.label, {a.x}, {{"axes", {1}}});
    t.add("flip", a.label + ", both axes", {a.x}, {{"axes", {0, -1}}});
  }
  t.add("flip", "[0, 2]", {spread({0, 2})}, {{"axes", {0}}});
  t.add("flip", "expanded", {spread({3, 1}).expand({3, 4})}, {{"axes", {0}}});
}

void add_slices(CaseTable& t) {
  struct Cut {
    const char* label;
    int64_t axis, start, stop, step;
  };
  for (const Cut& c :
       {Cut{"[1:]", 0, 1, kAll, 1}, Cut{"[:, ::2]", 1, kAll, kAll, 2}, Cut{"[..., ::-1]", 2, kAll, kAll, -1},
        Cut{"[..., 3:0:-2]", -1, 3, 0, -2}, Cut{"[..., -3:-1]", 2, -3, -1, 1}, Cut{"[:, 2:0:-1]", 1, 2, 0, -1},
        Cut{"[..., ::-3]", 2, kAll, kAll, -3}, Cut{"[:, :100]", 1, kAll, 100, 1}}) {
    add_cubes(t, "slice", c.label, [c](const Tensor& x) { return x.slice(c.axis, c.start, c.stop, c.step); });
  }
  t.add("slice", "nothing", {spread({3, 2})}, [](auto x) { return x[0].slice(0, 2, 1); });
  t.add("slice", "[0, 3]", {spread({0, 3})}, [](auto x) { return x[0].slice(1, 1); });
  t.add("slice", "a slice of a slice", {spread({12})},
        [](auto x) { return x[0].slice(0, 1, kAll, 2).slice(0, kAll, kAll, -2); });
  t.add("slice", "pieces that overlap", {spread({5})},
        [](auto x) { return x[0].slice(0, 0, 3) * x[0].slice(0, 2, 5); });
  t.rule(FORMULA(a.t[0].slice(a.i(0), a.i(1), a.i(2), a.i(3))),
         "{t0}.transpose({i0}, 0)[{i1}:{i2}:{i3}].transpose({i0}, 0)", then(with_axis, [](const Draw& d, Call& c) {
           const int64_t size = d.last(c).size(c.i[0]);
           const int64_t start = d.between(-size - 1, size);
           for (int64_t i : {start, d.between(-size, size + 1), d.between(1, 3)}) c.i.push_back(i);
         }));
  t.rule(FORMULA(a.t[0].slice(a.i(0), kAll, kAll, -1)), "{t0}.flip({i0})", with_axis);
  t.call("narrow", narrow, "axis start length", "slice");
  t.add("narrow", "narrow", {spread({2, 5})}, {{"axis", 1}, {"start", 1}, {"length", 3}});

  t.call("select", [](auto& x, auto& args) { return x[0].select(integer(args, "axis"), integer(args, "index")); });
  add_cubes(t, "select", "[1]", [](const Tensor& x) { return x[1]; });
  add_cubes(t, "select", "[:, -1]", [](const Tensor& x) { return x.select(1, -1); });
  add_cubes(t, "select", "[..., 2]", [](const Tensor& x) { return x.select(2, 2); });
  t.add("select", "[3][1]", {spread({3})}, {{"index", 1}});
  t.add("select", "[2, 0][1]", {spread({2, 0})}, {{"index", 1}});
  t.rule(FORMULA(a.t[0].select(a.i(0), a.i(1))), "{t0}.select({i0}, {i1})", [](const Draw& d, Call& c) {
    if (!with_axis(d, c) || d.last(c).size(c.i[0]) == 0) return false;
    const int64_t size = d.last(c).size(c.i[0]);
    c.i.push_back(d.between(-size, size - 1));
    return true;
  });
}

// What only the backward of slice and select records: its derivative is by dy.
void add_unslices(CaseTable& t) {
  for (const LaidOut& dy : layouts(2, 3)) {
    t.add("unslice", dy.label, {dy.x}, [](auto x) {
      return pulled_back([](const Tensor& v) { return v.slice(1, 1, kAll, 2); }, zeros({2, 6}, kFloat64), x[0]);
    });
    t.add("unslice", dy.label + ", step -2", {dy.x}, [](auto x) {
      return pulled_back([](const Tensor& v) { return v.slice(0, kAll, kAll, -2); }, zeros({4, 3}, kFloat64), x[0]);
    });
    t.add("unslice", dy.label + ", select", {dy.x}, [](auto x) {
      return pulled_back([](const Tensor& v) { return v.select(1, 1); }, zeros({2, 4, 3}, kFloat64), x[0]);
    });
  }
}

void add_copies(CaseTable& t) {
  t.call("contiguous", [](auto& x, auto&) { return x[0].contiguous(); });
  t.call("detach", [](auto& x, auto&) { return x[0].detach(); });
  t.call("to", [](auto& x, auto& args) { return x[0].to(dtype(args)); });
  t.add("contiguous", "transposed", {spread({2, 3}).t()});
  t.add("contiguous", "strided", {spread({3, 4}).slice(1, 1, kAll, 2)});
  t.add("contiguous", "reversed", {spread({3, 4}).slice(0, kAll, kAll, -1)});
  t.add("contiguous", "expanded", {spread({3, 1}).expand({3, 4})});
  t.rule(FORMULA(a.t[0].contiguous()), "{t0}.contiguous()", any_value);
  // Through float32 and back, with eighths: every number on the way is exact.
  const Tensor eighths = tensor({{0.5, -1.25, 2.0}, {0.125, 1.5, -0.75}}, kFloat64);
  for (const LaidOut& a :
       {LaidOut{"[2, 3]", eighths}, LaidOut{"transposed", eighths.t()}, LaidOut{"expanded", eighths[0].expand({2, 3})},
        LaidOut{"scalar", scalar(0.5, kFloat64)}, LaidOut{"[0]", zeros({0}, kFloat64)}}) {
    t.add("to", a.label, {a.x}, [](auto x) { return x[0].to(kFloat32).to(kFloat64); }, {.step = 0.125});
  }
  // The gradients of two conversions could be wrong in the same way: by the backward of one.
  const auto one_way = [](auto x) {
    const auto both = [](const Tensor& v) { return v.to(kFloat32).to(kFloat64); };
    return custom(*find_op("to"), {x[0]}, both, [v = x[0].detach()](const Tensor& dy) -> Grads {
      Tape tape;
      const Tensor leaf = v.as_leaf();
      return tape.backward(leaf.to(kFloat32), {.grad_output = dy.detach().to(kFloat32)})[leaf];
    });
  };
  t.add_check("to", "one conversion", {eighths}, one_way, {.order = 1, .rtol = 1e-6, .step = 0.125});
  const auto written = [&](const char* name, void (*write)(Tensor&, const Tensor&)) {
    t.call(name, [write](const Inputs& x, const json&) -> Outputs {
      Tensor into = from_data(x[0].contiguous().raw_data(), x[0].numel(), x[0].shape(), x[0].dtype());
      write(into, x[1]);
      return {into};
    });
  };
  written("accumulate_into", accumulate_into);
  written("copy_into", [](Tensor& y, const Tensor& x) { copy_into(y, x); });
}

void add_joins(CaseTable& t) {
  t.call("cat", [](auto& x, auto& args) { return cat(x, integer(args, "axis")); });
  t.call(
      "stack", [](auto& x, auto& args) { return stack(x, integer(args, "axis")); }, "cat");
  const json columns{{"axis", 1}};
  t.add("cat", "rows", {spread({2, 3}), spread({1, 3}), spread({3, 3})});
  t.add("cat", "columns", {spread({2, 3}), spread({2, 1})}, columns);
  t.add("cat", "[2, 1, 2] in the middle", {spread({2, 1, 2}), spread({2, 3, 2})}, {{"axis", -2}});
  t.add("cat", "one part", {spread({4})});
  t.add("cat", "an empty part", {spread({2, 3}), spread({0, 3})});
  t.add("cat", "nothing but empty parts", {spread({0, 3}), spread({0, 3})});
  t.add("cat", "the same tensor twice", {spread({2, 2})}, [](auto x) { return cat({x[0], x[0]}, 1); });
  t.add("cat", "six parts", std::vector<Tensor>(6, spread({2})));
  for (const LaidOut& a : layouts(3, 2)) {
    for (const LaidOut& b : layouts(3, 2)) t.add("cat", a.label + ", " + b.label, {a.x, b.x}, columns);
    t.add("cat", a.label + ", expanded", {a.x, spread({2}).expand({2, 2})});
    t.add("stack", a.label + ", stacked", {a.x, spread({3, 2})}, columns);
  }
  t.add("stack", "stack of scalars", {spread({}), spread({}, 0, 1)});
  t.rule(FORMULA(cat({a.t[0], a.t[1]}, a.i(0))), "torch.cat([{t0}, {t1}], {i0})", [](const Draw& d, Call& c) {
    if (!with_axis(d, c)) return false;
    const Tensor first = d.last(c);
    const int64_t axis = (c.i[0] + first.dim()) % first.dim();
    return d.operand(c, [&](const Tensor& x) {
      if (x.dim() != first.dim()) return false;
      for (int k = 0; k < x.dim(); ++k) {
        if (k != axis && x.size(k) != first.size(k)) return false;
      }
      return true;
    });
  });
  t.rule(FORMULA(stack({a.t[0], a.t[1], a.t[0]}, -1)), "torch.stack([{t0}, {t1}, {t0}], -1)", twins);
}

void add_cuts(CaseTable& t) {
  t.call("split", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("size")) return split(x[0], integer(args, "size"), integer(args, "axis"));
    return split(x[0], list(args, "sizes"), integer(args, "axis"));
  });
  t.call("chunk", chunk, "count axis");
  t.call("unbind", unbind, "axis", "select");
  t.add("slice", "split", {spread({5, 2})}, [](auto x) {
    const std::vector<Tensor> parts = split(x[0], 2);
    return sum(parts[0] * parts[1], {}) * parts[2];
  });
  t.add("slice", "chunk", {spread({2, 4})}, [](auto x) {
    const std::vector<Tensor> parts = chunk(x[0], 2, 1);
    return parts[0] * parts[1];
  });
  t.add("select", "unbind", {spread({2, 3})}, [](auto x) {
    const std::vector<Tensor> parts = unbind(x[0], 1);
    return parts[0] * parts[1] + parts[2];
  });
  t.rule(FORMULA(unbind(a.t[0], a.i(0))[0]), "{t0}.unbind({i0})[0]", with_filled_axis);
  t.rule(FORMULA(split(a.t[0], 2, a.i(0))[0]), "{t0}.split(2, {i0})[0]", with_filled_axis);
}

void add_factories(CaseTable& t) {
  const auto made = [&](const char* name, Tensor (*f)(const json&)) {
    t.call(name, [f](const Inputs&, const json& args) -> Outputs { return {f(args)}; });
  };
  made("linspace", [](const json& args) {
    return linspace(args["first"].get<double>(), args["last"].get<double>(), integer(args, "count"), dtype(args));
  });
  made("arange", [](const json& args) {
    return arange(args["start"].get<double>(), args["stop"].get<double>(), args.value("step", 1.0), dtype(args));
  });
  made("eye", [](const json& args) { return eye(integer(args, "n"), dtype(args)); });
  made("zeros", [](const json& args) { return zeros(dims(args, "shape"), dtype(args)); });
  made("ones", [](const json& args) { return ones(dims(args, "shape"), dtype(args)); });
  made("full", [](const json& args) { return full(dims(args, "shape"), args["value"].get<double>(), dtype(args)); });
}

void add_large_views(CaseTable& t) {
  const Tensor x = numbers({kRows, kColumns}), turned = numbers({kColumns, kRows}).t();
  for (int axis : {0, 1}) {
    t.add_large("cat", {x, turned}, {{"axis", axis}});
    t.add_large("flip", {x}, {{"axes", {axis}}});
  }
  t.add_large("reshape", {turned}, {{"shape", {-1}}});
  t.add_large("transpose", {x}, [](auto v) { return v[0].t() * 2; });
  t.add_large("permute", {numbers({40, 60, 80})}, [](auto v) { return v[0].permute({2, 0, 1}) * 2; });
  t.add_large("slice", {x}, [](auto v) { return v[0].slice(1, kAll, kAll, -3) * 2; });
  t.add_large("unslice", {x}, [](auto v) { return v[0].slice(0, 1, kAll, 2) * 2; });
  t.add_large("select", {numbers({3, 300, 500})}, [](auto v) { return v[0].select(1, 7) * 2; });
  t.add_large("expand", {numbers({kColumns}, 0.3, 2)}, [](auto v) { return v[0].expand({kRows, kColumns}) * 2; });
  t.add_large("squeeze", {numbers({1, 200'000})}, [](auto v) { return v[0].squeeze(0) * 2; });
  t.add_large("unsqueeze", {numbers({200'000})}, [](auto v) { return v[0].unsqueeze(0) * 2; });
  t.add_large("contiguous", {turned});
  t.add_large("to", {x}, {{"dtype", "float64"}});
}

}  // namespace

void add_view_cases(CaseTable& table) {
  add_reshapes(table);
  add_turns(table);
  add_slices(table);
  add_unslices(table);
  add_copies(table);
  add_joins(table);
  add_cuts(table);
  add_factories(table);
  if (table.large()) add_large_views(table);
}

}  // namespace tapegrad::tasks
