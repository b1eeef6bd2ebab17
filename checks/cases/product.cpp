// Cases of matrix products, and of sums of products.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/checks/cases/case.h>

namespace tapegrad::tasks {
namespace {

void add_matrix_products(CaseTable& t) {
  t.call("matmul", matmul);
  const Shape pairs[][2] = {{{3}, {3}},          {{2, 3}, {3}},          {{3}, {3, 2}},       {{2, 3}, {3, 2}},
                            {{2, 2, 3}, {3, 2}}, {{2, 2, 3}, {2, 3, 2}}, {{2, 3}, {2, 3, 2}}, {{2, 1, 2, 2}, {3, 2, 1}},
                            {{2, 2, 3}, {3}},    {{3}, {2, 3, 2}},       {{1, 1}, {1, 1}},    {{0, 2}, {2, 3}},
                            {{2, 0}, {0, 3}},    {{2, 3}, {3, 0}},       {{0, 2, 3}, {3, 2}}, {{0}, {0}},
                            {{5, 7}, {7, 3}},    {{1, 9}, {9, 1}}};
  for (const auto& [a, b] : pairs) t.add("matmul", str(a) + " @ " + str(b), {spread(a), spread(b, -1, 1)});
  for (const LaidOut& a : layouts(2, 3)) {
    for (const LaidOut& b : layouts(3, 4)) t.add("matmul", a.label + ", " + b.label, {a.x, b.x});
    t.add("matmul", a.label + ", strided vector", {a.x, spread({6}).slice(0, 0, kAll, 2)});
    t.add("matmul", "reversed vector, " + a.label, {spread({2}).slice(0, kAll, kAll, -1), a.x});
  }
  t.add("matmul", "heads of one tensor", {spread({2, 3, 4}), spread({2, 3, 4})}, [](auto x) {
    const auto heads = [](const Tensor& v) { return v.reshape({2, 3, 2, 2}).transpose(1, 2); };
    return matmul(heads(x[0]), heads(x[1]).t());
  });
  t.add("matmul", "expanded batch", {spread({1, 2, 3}).expand({2, 2, 3}), spread({3, 1}).expand({2, 3, 2})});
  t.add("matmul", "by its own transpose", {spread({3, 2})}, [](auto x) { return matmul(x[0], x[0].t()); });
  t.rule(FORMULA(matmul(a.t[0], a.t[1])), "{t0} @ {t1}", and_operand(with_axes, [](const Tensor& a, const Tensor& b) {
           if (b.dim() == 0 || b.size(b.dim() == 1 ? 0 : -2) != a.size(-1)) return false;
           return a.dim() < 3 || b.dim() < 3 || broadcast_together(sum(a, {-1, -2}).shape(), sum(b, {-1, -2}).shape());
         }));
  t.rule(FORMULA(matmul(a.t[0], a.t[0].t())), "{t0} @ {t0}.transpose(-1, -2)", matrices);

  t.call<Tensor, const Tensor&, const Tensor&, const Tensor&>("linear", linear);
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 2, 4}, Shape{0, 4}, Shape{1, 4}}) {
    t.add("linear", str(shape), {spread(shape), spread({3, 4}, -1, 1)});
    t.add("linear", str(shape) + ", bias", {spread(shape), spread({3, 4}, -1, 1), spread({3})});
  }
  for (const LaidOut& x : layouts(3, 4)) {
    for (const LaidOut& w : layouts(2, 4)) {
      t.add("linear", x.label + ", weight " + w.label, {x.x, w.x, spread({4}).slice(0, 0, kAll, 2)});
    }
  }
  t.add_per_example("matmul", "per example", {spread({2, 3, 4}), spread({4, 2}, -1, 1)},
                    [](auto x) { return matmul(x[0], x[1]); });
  t.add_per_example("matmul", "one row per example", {spread({3, 4}), spread({4, 2}, -1, 1)},
                    [](auto x) { return matmul(x[0], x[1]); });
  t.add_per_example("linear", "per example", {spread({2, 3, 4}), spread({2, 4}, -1, 1), spread({2})},
                    [](auto x) { return linear(x[0], x[1], x[2]); });
  t.add("linear", "expanded", {spread({2, 1}).expand({2, 3}), spread({1, 3}).expand({2, 3}), spread({}).expand({2})});
}

void add_sums_of_products(CaseTable& t) {
  t.call("einsum", [](const Inputs& x, const json& args) { return einsum(args["equation"].get<std::string>(), x); });
  t.call("tensordot", [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("count")) return {tensordot(x[0], x[1], integer(args, "count"))};
    return {tensordot(x[0], x[1], Axes(dims(args, "axes_a")), Axes(dims(args, "axes_b")))};
  });
  t.call("outer", outer);
  t.call("bmm", bmm);
  t.call("mv", mv);
  t.call("dot", dot);
  const DrawRule same_last =
      and_operand(with_axes, [](const Tensor& x, const Tensor& w) { return w.dim() == 2 && w.size(1) == x.size(-1); });
  t.rule(FORMULA(linear(a.t[0], a.t[1])), "F.linear({t0}, {t1})", same_last);
  t.rule(FORMULA(linear(a.t[0], a.t[1], sum(a.t[1], {1}))), "F.linear({t0}, {t1}, {t1}.sum(1))", same_last);
  t.rule(FORMULA(einsum("...i,ji->j...", {a.t[0], a.t[1]})), "torch.einsum('...i,ji->j...', {t0}, {t1})", same_last);
  t.rule(FORMULA(einsum("ij,kj,ij->ki", {a.t[0], a.t[1], a.t[0]})), "torch.einsum('ij,kj,ij->ki', {t0}, {t1}, {t0})",
         [same_last](const Draw& d, Call& c) { return same_last(d, c) && d.value(c.t[0]).dim() == 2; });
  t.rule(FORMULA(outer(a.t[0].reshape({-1}), a.t[1].reshape({-1}))), "torch.outer({t0}.reshape(-1), {t1}.reshape(-1))",
         both(sized(0, 4), sized(0, 6)));
  t.rule(FORMULA(tensordot(a.t[0], a.t[1], a.t[0].dim())), "torch.tensordot({t0}, {t1}, {t0}.dim())", twins);
}

void add_composed_products(CaseTable& t) {
  const auto add_to = [&](const char* name,
                          Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const AddProductOptions&)) {
    t.call(
        name,
        [f](const Inputs& x, const json& args) -> Outputs {
          return {f(x[0], x[1], x[2], {.beta = args.value("beta", 1.), .alpha = args.value("alpha", 1.)})};
        },
        "matmul");
  };
  add_to("addmm", addmm);
  add_to("baddbmm", baddbmm);
  t.call("cross", cross, "axis=-1");
  t.call("kron", kron, "", "mul");
  const json factors{{"beta", 0.5}, {"alpha", -2}};
  t.add("addmm", "addmm", {spread({4}), spread({2, 3}), spread({3, 4})}, factors);
  t.add("addmm", "addmm, transposed", {spread({2, 4}), spread({3, 2}).t(), spread({4, 3}).t()});
  t.add("baddbmm", "baddbmm", {spread({2, 1, 4}), spread({2, 2, 3}), spread({2, 3, 4})}, factors);
  t.add("cross", "cross", {spread({2, 3}), spread({2, 3}, -1, 3)});
  t.add("cross", "cross, both broadcast", {spread({3, 1, 2}), spread({3, 4, 1})}, {{"axis", 0}});
  t.add("kron", "kron", {spread({2, 3}), spread({2})});
  t.rule(FORMULA(kron(a.t[0].reshape({-1}), a.t[1].reshape({-1}))), "torch.kron({t0}.reshape(-1), {t1}.reshape(-1))",
         both(sized(0, 4), sized(0, 6)));
  t.rule(FORMULA(cross(stack({a.t[0], a.t[1], cos(a.t[0])}, -1), stack({a.t[1], a.t[1], a.t[0]}, -1))),
         "torch.linalg.cross(torch.stack(({t0}, {t1}, {t0}.cos()), -1), torch.stack(({t1}, {t1}, {t0}), -1))", twins);
  t.rule(FORMULA(addmm(a.t[0], a.t[0], matmul(a.t[0].t(), a.t[0]), {.beta = 0.5})),
         "torch.addmm({t0}, {t0}, {t0}.t() @ {t0}, beta=0.5)", operand([](const Tensor& x) { return x.dim() == 2; }));
}

}  // namespace

void add_product_cases(CaseTable& t) {
  add_matrix_products(t);
  add_sums_of_products(t);
  add_composed_products(t);
  if (!t.large()) return;
  const Shape products[][2] = {{{301, 257}, {257, 203}}, {{64, 768}, {768, 300}},      {{1, 1000}, {1000, 3000}},
                               {{3000, 5}, {5, 7}},      {{24, 20, 32}, {24, 32, 20}}, {{5, 130, 70}, {70, 90}},
                               {{17, 5000}, {5000, 13}}};
  for (const auto& [a, b] : products) t.add_large("matmul", {numbers(a), numbers(b)});
  t.add_large("cross", {numbers({5000, 3}), numbers({5000, 3})});
  for (int64_t rows : {20, 640, 2000}) {
    t.add_large("linear", {numbers({rows, 130}), numbers({517, 130}), numbers({517})});
  }
}

}  // namespace tapegrad::tasks
