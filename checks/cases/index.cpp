// Cases of reading and writing by index.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

#include <utility>

namespace tapegrad::tasks {
namespace {

using A = Arguments;
const json kFirst{{"axis", 0}}, kSecond{{"axis", 1}}, kLast{{"axis", -1}};

// Index tensors by axis: a slot is the number of an input, counted from `before`, or -1 for a whole axis.
Inputs indices(const Inputs& x, const json& args, std::size_t before) {
  Inputs all;
  for (int64_t slot : list(args, "slots")) {
    all.push_back(slot < 0 ? Tensor() : x[static_cast<std::size_t>(slot) + before]);
  }
  return all;
}

void add_index_calls(CaseTable& t) {
  t.call("index_select", index_select, "axis");
  t.call("gather", gather, "axis");
  t.call("take_along_axis", take_along_axis, "axis", "gather");
  t.call("masked_select", masked_select, "", "index_select");
  t.call("nonzero", nonzero);
  t.call("one_hot", one_hot, "classes");
  t.call<Tensor, const Tensor&, const Tensor&, std::optional<int64_t>, Flag>("embedding", embedding,
                                                                             "padding sparse=false");
  t.call("index", [](auto& x, auto& args) { return index(x[0], indices(x, args, 0)); });
  t.call("index_put", [](const Inputs& x, const json& args) {
    return index_put(x[0], indices(x, args, 1), x[1], args["accumulate"].get<bool>());
  });
  t.call("masked_scatter", masked_scatter, "", "index_copy");
  t.call("scatter_add", scatter_add, "axis");
  t.call("index_add", index_add, "axis alpha=1");
  t.call("index_copy", index_copy, "axis");
  t.call("index_fill", index_fill, "axis value", "masked_fill");
  t.call("scatter", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("value")) return {scatter(x[0], integer(args, "axis"), x[1], args["value"].get<double>())};
    return {scatter(x[0], integer(args, "axis"), x[1], x[2])};
  });
}

void add_reading(CaseTable& t) {
  const Tensor rows = tensor({2, 0, 2}), nothing = zeros({0}, kInt64);
  for (const LaidOut& a : layouts(3, 4)) {
    t.add("index_select", a.label + ", rows", {a.x, rows}, kFirst);
    t.add("index_select", a.label + ", columns", {a.x, tensor({3, 3, 1, 0, 2})}, kLast);
    t.add("gather", a.label + ", rows", {a.x, some_ids({5, 4}, 3)}, kFirst);
    t.add("gather", a.label + ", columns", {a.x, some_ids({4, 3}, 4).t()}, kSecond);
    t.add("gather", a.label + ", fewer rows", {a.x, some_ids({2, 3}, 4)}, kLast);
  }
  t.add("index_select", "middle axis", {spread({2, 3, 2}), tensor({1, 2})}, kSecond);
  t.add("index_select", "no index", {spread({2, 3}), nothing}, kFirst);
  t.add("index_select", "expanded", {spread({3, 1}).expand({3, 2}), rows}, kFirst);
  t.add("gather", "three axes", {spread({2, 3, 2}), some_ids({2, 2, 2}, 3)}, kSecond);
  t.add("gather", "no index", {spread({2, 3}), zeros({2, 0}, kInt64)}, kSecond);
  t.add("gather", "vector", {spread({5}), some_ids({7}, 5)}, kFirst);
  add_cubes(t, "gather", "take_along_axis", [](const Tensor& x) {
    return take_along_axis(x, tensor({3, 0, 0, 1, 2}).reshape({1, 1, 5}), -1);
  });
  t.add("take_along_axis", "take_along_axis, x broadcasts", {spread({1, 3}), some_ids({4, 2}, 3)}, kSecond);
  t.add("take_along_axis", "take_along_axis, flat", {spread({2, 3}), some_ids({4}, 6)});
  const Tensor i = tensor({{1, 0}, {-1, 1}}), j = tensor({2, -3}), none;
  const auto at = [&](const char* label, std::vector<Tensor> places) {
    add_cubes(t, "index_select", label, [places](const Tensor& x) { return index(x, places); });
  };
  at("x[i]", {i});
  at("x[i, j]", {i, j});
  at("x[:, j]", {none, j});
  at("x[:, j, i]", {none, j, i});
  at("x[i, :, j]", {i, none, j});
  at("x[i, j, 1]", {i, j, scalar(1, kInt64)});
  at("x[mask]", {some_bools({2, 3})});
  at("x[:, mask]", {none, some_bools({3})});
  add_cubes(t, "index_select", "masked_select", [](const Tensor& x) { return masked_select(x, some_bools({3, 4})); });
  t.add("masked_select", "masked_select, x broadcasts", {spread({3}), some_bools({2, 3})});
  t.add("masked_select", "masked_select, nothing", {spread({2, 3}), zeros({2, 3}, kBool)});
  t.add("index_select", "x[[]]", {spread({2, 3}), nothing}, [](auto x) { return index(x[0], {x[1]}); });
}

void add_embedding(CaseTable& t) {
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 3}, Shape{0}, Shape{2, 1, 2}}) {
    t.add("embedding", "ids " + str(shape), {spread({5, 3}), some_ids(shape, 5)});
  }
  t.add("embedding", "the same id often", {spread({3, 2}), zeros({6}, kInt64)});
  t.add("embedding", "transposed weight and ids", {spread({3, 5}).t(), some_ids({3, 2}, 5).t()});
  t.add("embedding", "strided weight", {spread({4, 6}).slice(1, 0, kAll, 2), some_ids({3}, 4)});
  // The padding row is right to get no gradient, which differences cannot see: it is tested with the values.
  t.add("embedding", "padding that does not occur", {spread({5, 2}), tensor({4, 0, 3})}, {{"padding", 2}});
  for (const LaidOut& dy : layouts(4, 3)) {
    t.add("add_rows", dy.label, {dy.x}, [](auto x) {
      const auto rows_of = [](const Tensor& w) { return embedding(w, tensor({1, 3, 1, 0})); };
      return pulled_back(rows_of, zeros({5, 3}, kFloat64), x[0]);
    });
    for (const int64_t padding : {0, 1}) {
      t.add_check("add_rows", fmt::format("{}, padding {}", dy.label, padding), {dy.x}, [padding](auto x) {
        const auto rows_of = [&](const Tensor& w) { return embedding(w, tensor({1, 3, 1, 0}), padding); };
        return pulled_back(rows_of, zeros({5, 3}, kFloat64), x[0]);
      });
    }
  }
  t.add_per_example("embedding", "per example", {spread({5, 3})}, [](auto x) {
    return embedding(x[0], tensor({{1, 3}, {1, 0}}));
  });
}

// Distinct indices, and some that repeat, so that values are overwritten.
void add_writing(CaseTable& t) {
  const Tensor repeated = tensor({2, 0, 2, 0}), nothing = zeros({0}, kInt64);
  for (const LaidOut& a : layouts(3, 4)) {
    t.add("scatter_add", a.label, {a.x, some_ids({2, 4}, 3), spread({4, 2}).t()}, kFirst);
    t.add("scatter_add", a.label + ", larger source", {a.x, some_ids({2, 3}, 4), spread({3, 5})}, kSecond);
    t.add("scatter", a.label, {a.x, some_ids({2, 4}, 3), spread({4, 2}, 0, 1).t()}, kFirst);
    t.add("scatter", a.label + ", larger source", {a.x, some_ids({2, 3}, 4), spread({3, 5}, 0, 1)}, kSecond);
    t.add("scatter", a.label + ", repeated", {a.x, some_ids({3, 6}, 2), spread({3, 6}, 0, 1)}, kLast);
    t.add("scatter", a.label + ", number", {a.x, some_ids({2, 4}, 3)}, {{"axis", 0}, {"value", 1.5}});
    for (int axis : {0, 1}) {
      const json along{{"axis", axis}};
      const Tensor source = spread(axis == 0 ? Shape{4, 4} : Shape{3, 4}, 0, 1);
      const std::string label = a.label + (axis == 0 ? ", rows" : ", columns");
      t.add("index_add", label, {a.x, repeated, source}, along);
      t.add("index_add", label + ", alpha", {a.x, repeated, source}, {{"axis", axis}, {"alpha", -2.5}});
      t.add("index_copy", label, {a.x, repeated, source}, along);
      t.add("index_copy", label + ", distinct", {a.x, tensor({2, 0}), source.slice(axis, 0, 2)}, along);
      t.add("index_fill", label + ", index_fill", {a.x, repeated}, {{"axis", axis}, {"value", 1.5}});
    }
  }
  t.add("index_copy", "no index", {spread({3, 2}), nothing, spread({0, 2})}, kFirst);
  t.add("index_copy", "no columns", {spread({3, 0}), tensor({1}), spread({1, 0})}, kFirst);
  t.add("index_copy", "vector", {spread({5}), tensor({4, 1, 4}), spread({3}, 0, 1)}, kFirst);
  t.add("index_add", "no index", {spread({3, 2}), nothing, spread({0, 2})}, kFirst);
  t.add("index_add", "vector", {spread({5}), tensor({4, 1, 4}), spread({3}, 0, 1)}, kFirst);
  t.add("index_add", "expanded source", {spread({3, 2}), tensor({0, 2}), spread({2}, 0, 1).expand({2, 2})}, kFirst);
  t.add("index_add", "middle axis", {spread({2, 3, 2}), tensor({1, 1}), spread({2, 2, 2}, 0, 1)}, kSecond);
  t.add("scatter_add", "vector", {spread({4}), some_ids({7}, 4), spread({7})}, kFirst);
  t.add("scatter_add", "no index", {spread({4}), nothing, spread({0})}, kFirst);
  t.add("scatter_add", "expanded source", {spread({3, 2}), some_ids({4, 2}, 3), spread({2}).expand({4, 2})}, kFirst);
  t.add("scatter", "vector", {spread({5}), some_ids({7}, 4), spread({7}, 0, 1)}, kFirst);
  t.add("scatter", "no index", {spread({4}), nothing, spread({0})}, kFirst);
  t.add("scatter", "source only", {some_ids({3, 2}, 4), spread({3, 2})}, [](auto x) {
    return scatter(zeros({3, 4}, kFloat64), 1, x[0], x[1]);
  });
}

void add_puts(CaseTable& t) {
  const Tensor i = tensor({{1, 1}, {-1, 1}}), j = tensor({2, -3}), none;
  const std::pair<const char*, std::vector<Tensor>> places[] = {{"x[i]", {i}},
                                                                {"x[i, j]", {i, j}},
                                                                {"x[:, j, i]", {none, j, i}},
                                                                {"x[i, :, j]", {i, none, j}},
                                                                {"x[mask]", {some_bools({2, 3})}}};
  for (const auto& entry : places) {
    const auto indices = entry.second;
    const Shape shape = index(zeros({2, 3, 4}), indices).shape();
    for (bool accumulate : {false, true}) {
      const Function put = [indices, accumulate](auto x) { return index_put(x[0], indices, x[1], accumulate); };
      const char* const op = accumulate ? "index_add" : "index_copy";
      const std::string label = std::string(entry.first) + (accumulate ? " +=" : " =");
      t.add(op, label, {spread({2, 3, 4}), spread(shape, 0, 1)}, put);
      t.add(op, label + " scalar", {spread({4, 2, 3}).permute({1, 2, 0}), spread({}, 0, 1)}, put);
      t.add(op, label + " row", {spread({2, 3, 4}), spread({shape.rank() > 0 ? shape.back() : 1}, 0, 1)}, put);
    }
  }
}

void add_reading_rules(CaseTable& t) {
  const DrawRule rows = [](const Draw& d, Call& c) {
    if (!with_axis(d, c) || d.last(c).size(c.i[0]) == 0) return false;
    c.c = {d.index({d.between(0, 3)}, d.last(c).size(c.i[0]))};
    return true;
  };
  t.rule(FORMULA(index_select(a.t[0], a.i(0), a.c(0))), "{t0}.index_select({i0}, {c0})", rows);
  t.rule(FORMULA(index_fill(a.t[0], a.i(0), a.c(0), a.d(0))), "{t0}.index_fill({i0}, {c0}, {d0})",
         and_number(rows, -1, 1));
  const DrawRule places = [](const Draw& d, Call& c) {
    if (!with_axis(d, c) || d.last(c).numel() == 0) return false;
    Shape shape = d.last(c).shape();
    const int64_t axis = (c.i[0] + shape.rank()) % shape.rank();
    shape[static_cast<int>(axis)] = d.between(1, 3);
    c.c = {d.index(shape, d.last(c).size(axis))};
    return true;
  };
  t.rule(FORMULA(gather(a.t[0], a.i(0), a.c(0))), "{t0}.gather({i0}, {c0})", places);
  t.rule(FORMULA(take_along_axis(a.t[0], a.c(0), a.i(0))), "torch.take_along_dim({t0}, {c0}, {i0})", places);
  // The source is gathered from x, so it has the shape of the index.
  t.rule(FORMULA(scatter_add(a.t[0], a.i(0), a.c(0), sin(gather(a.t[0], a.i(0), a.c(0))))),
         "{t0}.scatter_add({i0}, {c0}, {t0}.gather({i0}, {c0}).sin())", places);
}

void add_writing_rules(CaseTable& t) {
  // Rows in a different order: each place is written once, because PyTorch does not define the order of several writes.
  const DrawRule permutation = then(with_filled_axis, [](const Draw& d, Call& c) {
    const int64_t size = d.last(c).size(c.i[0]);
    std::vector<int64_t> order;
    for (int64_t k = 0; k < size; ++k) order.insert(order.begin() + d.below(k + 1), k);
    c.c = {from_data(order.data(), size, {size}, kInt64)};
  });
  t.rule(FORMULA(index_copy(a.t[0], a.i(0), a.c(0), exp(a.t[0]))), "{t0}.index_copy({i0}, {c0}, {t0}.exp())",
         permutation);
  t.rule(FORMULA(index_add(a.t[0], a.i(0), a.c(0), cos(a.t[0]), a.d(0))),
         "{t0}.index_add({i0}, {c0}, {t0}.cos(), alpha={d0})", and_number(permutation, -1, 1));
  t.rule(FORMULA(scatter(a.t[0].reshape({-1}), 0, a.c(0), sin(a.t[0].reshape({-1})))),
         "{t0}.reshape(-1).scatter(0, {c0}, {t0}.reshape(-1).sin()[:{c0}.numel()])",
         then(permutation,
              [](const Draw& d, Call& c) { c.c = {c.c[0].slice(0, 0, d.between(1, c.c[0].numel())).contiguous()}; }));
  const DrawRule first_axis =
      then(operand([](const Tensor& x) { return x.dim() > 0 && x.size(0) > 0; }), [](const Draw& d, Call& c) {
        c.c = {d.index({d.between(1, 2), d.between(1, 2)}, d.last(c).size(0))};
      });
  t.rule(FORMULA(index(a.t[0], {a.c(0)})), "{t0}[{c0}]", first_axis);
  t.add("masked_scatter", "masked_scatter", {spread({2, 3}), some_bools({2, 3}), spread({7}, 0, 1)});
  t.add("masked_scatter", "masked_scatter, both broadcast", {spread({2, 1}), some_bools({3}), spread({3, 4}).t()});
  t.rule(FORMULA(masked_scatter(a.t[0], gt(a.t[0], a.d(0)), a.t[1])), "{t0}.masked_scatter({t0} > {d0}, {t1})",
         and_number(twins, -0.5, 0.5), [](const A& a) { return away_from(a.t[0], {a.d(0)}); });
  t.rule(FORMULA(index_put(a.t[0], {a.c(0)}, scalar(a.d(0), a.type), true)),
         "{t0}.index_put(({c0},), torch.tensor({d0}, dtype={T}), accumulate=True)", and_number(first_axis, -1, 1));
  // PyTorch 1.13 has a wrong gradient for a transposed x.
  t.rule(FORMULA(masked_select(a.t[0], gt(a.t[0], a.d(0)))), "(lambda x: x.masked_select(x > {d0}))({t0}.contiguous())",
         and_number(any_value, -0.5, 0.5), [](const A& a) { return away_from(a.t[0], {a.d(0)}); });
  t.rule(FORMULA(embedding(a.t[0], a.c(0))), "F.embedding({c0}, {t0})",
         then(operand([](const Tensor& x) { return x.dim() == 2 && x.size(0) > 0; }), [](const Draw& d, Call& c) {
           c.c = {d.index({2, d.between(1, 2)}, d.last(c).size(0))};
         }));
}

void add_large_indexing(CaseTable& t) {
  const Tensor x = numbers({kRows, kColumns}), mask = x > 0, places = ids({300, 1000}, 300);
  for (int axis : {0, 1}) {
    const json along{{"axis", axis}};
    const Tensor source = numbers(axis == 0 ? Shape{200, kColumns} : Shape{kRows, 200});
    t.add_large("index_select", {x, ids({2000}, 300)}, along);
    t.add_large("gather", {x, places}, along);
    t.add_large("scatter_add", {x, places, numbers({300, 1000})}, along);
    t.add_large("scatter", {x, places, numbers({300, 1000})}, along);
    t.add_large("index_add", {x, ids({200}, 300), source}, along);
    t.add_large("index_copy", {x, ids({200}, 300), source}, along);
  }
  t.add_large("index_select", {x, ids({400, 500}, 300), ids({500}, 900)}, [](auto v) {
    return index(v[0], {v[1], v[2]});
  });
  t.add_large("masked_select", {x, mask});
  t.add_large("embedding", {numbers({500, 257}), ids({3000}, 500)}, {{"padding", 3}});
  t.add_large("add_rows", {numbers({500, 257}), ids({3000}, 7)}, [](auto v) { return embedding(v[0], v[1]); });
}

}  // namespace

void add_index_cases(CaseTable& table) {
  add_index_calls(table);
  add_reading(table);
  add_embedding(table);
  add_writing(table);
  add_puts(table);
  add_reading_rules(table);
  add_writing_rules(table);
  if (table.large()) add_large_indexing(table);
}

}  // namespace tapegrad::tasks
