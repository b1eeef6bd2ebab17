// The actions of fuse(): kernels and derivatives, most of them those of the operations on tensors.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/fuse/actions.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/ops/detail/formula_simd.h>

#ifndef TAPEGRAD_FUSE_SELECTIONS
#define TAPEGRAD_FUSE_SELECTIONS
namespace tapegrad {

struct FusedFormulas {
  Formula less, less_equal, equal;
  // Two actions in one pass: a product, then ...
  Formula mul_add, sub_mul, mul_mul, mul_scale;
  // a multiple (by a number), then ...
  Formula scale_add, scale_shift;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

const FusedFormulas& fused_formulas() {
  static constexpr FusedFormulas formulas = {
      .less = light(value_of<4>([](auto a, auto b, auto x, auto y) { return where(a < b, x, y); })),
      .less_equal = light(value_of<4>([](auto a, auto b, auto x, auto y) { return where(a <= b, x, y); })),
      .equal = light(value_of<4>([](auto a, auto b, auto x, auto y) { return where(a == b, x, y); })),
      .mul_add = light(value_of<3>([](auto a, auto b, auto c) { return a * b + c; })),
      .sub_mul = light(value_of<3>([](auto a, auto b, auto c) { return c - a * b; })),
      .mul_mul = light(value_of<3>([](auto a, auto b, auto c) { return a * b * c; })),
      .mul_scale = light(value_of<2, 1>([](auto a, auto b, auto s) { return a * b * s; })),
      .scale_add = light(value_of<2, 1>([](auto a, auto b, auto s) { return a * s + b; })),
      .scale_shift = light(value_of<1, 2>([](auto a, auto s, auto t) { return a * s + t; })),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/ops/detail/fusible.h>
#include <tapegrad/autograd/ops/fuse/detail/graph.h>

namespace tapegrad {
namespace {

HWY_EXPORT(fused_formulas);

const FusedFormulas& fused() { return chosen<HWY_DISPATCH_TABLE(fused_formulas)>(); }

// A function of one tensor, and its gradient.
void fill(FuseAction& value, FuseAction& gradient, const Unary& kernels, const Unary& symbols) {
  value.kernels = &kernels.value;
  if (!kernels.gradient.float32) return;  // a step function
  gradient.kernels = &kernels.gradient;
  gradient.written_out = symbols.gradient.symbolic;
  value.gradient = &gradient;
  value.keeps_y = kernels.keeps_y;
}

using G = FuseGradients;

void add_rule(G& g) { g.dx = {g.dy, g.dy}; }
void sub_rule(G& g) {
  g.dx[0] = g.dy;
  if (g.wanted[1]) g.dx[1] = -g.dy;
}
void neg_rule(G& g) { g.dx[0] = -g.dy; }
void mul_rule(G& g) {
  if (g.wanted[0]) g.dx[0] = g.dy * g.x[1];
  if (g.wanted[1]) g.dx[1] = g.dy * g.x[0];
}
void div_rule(G& g) {
  if (g.wanted[0]) g.dx[0] = g.dy / g.x[1];
  if (g.wanted[1]) g.dx[1] = g.graph.add(FuseActions::all().div_grad_b, {g.dy, g.x[0], g.x[1]});
}
void pow_rule(G& g) {
  if (g.wanted[0]) g.dx[0] = g.graph.add(FuseActions::all().pow_grad_a, {g.dy, g.x[0], g.x[1]});
  if (g.wanted[1]) g.dx[1] = g.graph.add(FuseActions::all().pow_grad_b, {g.dy, g.x[0], g.x[1], g.y});
}
void extreme_rule(G& g, const FuseAction& gradient) {
  if (g.wanted[0]) g.dx[0] = g.graph.add(gradient, {g.dy, g.x[0], g.x[1]});
  if (g.wanted[1]) g.dx[1] = g.graph.add(gradient, {g.dy, g.x[1], g.x[0]});
}
void atan2_rule(G& g) {
  if (g.wanted[0]) g.dx[0] = g.graph.add(FuseActions::all().atan2_grad, {g.dy, g.x[1], g.x[0]});
  if (g.wanted[1]) g.dx[1] = -g.graph.add(FuseActions::all().atan2_grad, {g.dy, g.x[0], g.x[1]});
}
void where_rule(G& g, const FuseAction& where) {
  if (g.wanted[2]) g.dx[2] = g.graph.add(where, {g.x[0], g.x[1], g.dy, 0});
  if (g.wanted[3]) g.dx[3] = g.graph.add(where, {g.x[0], g.x[1], 0, g.dy});
}

}  // namespace

const FuseActions& FuseActions::all() {
  static const FuseActions actions;
  return actions;
}

FuseActions::FuseActions() {
  const ArithmeticFormulas& kernels = arithmetic_formulas_for(FormulasFor::kernels);
  const ArithmeticFormulas& symbols = arithmetic_formulas_for(FormulasFor::symbols);
  add = {.kernels = &kernels.add,
         .with_number_last = &kernels.add_scalar,
         .with_number_first = &kernels.add_scalar,
         .rule = add_rule};
  sub = {.kernels = &kernels.sub,
         .with_number_last = &kernels.add_scalar,
         .with_number_first = &kernels.rsub_scalar,
         .negates_last = true,
         .rule = sub_rule};
  mul = {.kernels = &kernels.mul,
         .with_number_last = &kernels.mul_scalar,
         .with_number_first = &kernels.mul_scalar,
         .rule = mul_rule};
  div = {.kernels = &kernels.div,
         .with_number_last = &kernels.div_scalar,
         .with_number_first = &kernels.rdiv_scalar.value,
         .rule = div_rule};
  neg = {.kernels = &kernels.neg, .rule = neg_rule};
  maximum = {.kernels = &kernels.maximum, .with_number_last = &kernels.maximum_scalar, .rule = [](G& g) {
               extreme_rule(g, FuseActions::all().maximum_grad);
             }};
  minimum = {.kernels = &kernels.minimum, .with_number_last = &kernels.minimum_scalar, .rule = [](G& g) {
               extreme_rule(g, FuseActions::all().minimum_grad);
             }};
  pow = {.kernels = &kernels.pow, .rule = pow_rule};
  atan2 = {.kernels = &kernels.atan2, .rule = atan2_rule};
  fill(clamp, clamp_grad, kernels.clamp, symbols.clamp);
  fill(power, power_grad, kernels.power, symbols.power);
  fill(square, square_grad, kernels.square, symbols.square);
  fill(cube, cube_grad, kernels.cube, symbols.cube);
  fill(sqrt, sqrt_grad, kernels.sqrt, symbols.sqrt);
  fill(reciprocal, reciprocal_grad, kernels.reciprocal, symbols.reciprocal);
  fill(rsqrt, rsqrt_grad, kernels.rsqrt, symbols.rsqrt);
  div_grad_b = {.kernels = &kernels.div_grad_b, .written_out = symbols.div_grad_b.symbolic};
  pow_grad_a = {.kernels = &kernels.pow_grad_a, .written_out = symbols.pow_grad_a.symbolic};
  pow_grad_b = {.kernels = &kernels.pow_grad_b, .written_out = symbols.pow_grad_b.symbolic};
  maximum_grad = {.kernels = &kernels.maximum_grad, .written_out = symbols.maximum_grad.symbolic};
  minimum_grad = {.kernels = &kernels.minimum_grad, .written_out = symbols.minimum_grad.symbolic};
  atan2_grad = {.kernels = &kernels.atan2_grad, .written_out = symbols.atan2_grad.symbolic};

  const FusedFormulas& select = fused();
  where_less = {.kernels = &select.less, .rule = [](G& g) { where_rule(g, FuseActions::all().where_less); }};
  where_less_equal = {.kernels = &select.less_equal,
                      .rule = [](G& g) { where_rule(g, FuseActions::all().where_less_equal); }};
  where_equal = {.kernels = &select.equal, .rule = [](G& g) { where_rule(g, FuseActions::all().where_equal); }};

  for (std::size_t i = 0; i < functions.size(); ++i) {
    fill(functions[i].value, functions[i].gradient, function_named(kSymbolFunctions[i], FormulasFor::kernels),
         function_named(kSymbolFunctions[i], FormulasFor::symbols));
  }
}

const Formula* pair_of(const Formula& inner, const Formula& outer, int place) {
  const ArithmeticFormulas& one = arithmetic_formulas_for(FormulasFor::kernels);
  const FusedFormulas& two = fused();
  struct Pair {
    const Formula &inner, &outer;
    int place;  // of the inner one among the outer one's operands; -1: either
    const Formula& both;
  };
  static const Pair pairs[] = {
      {one.mul, one.sub, 1, two.sub_mul},
      {one.mul, one.mul, -1, two.mul_mul},
      {one.mul, one.mul_scalar, 0, two.mul_scale},
      {one.mul_scalar, one.add, -1, two.scale_add},
  };
  for (const Pair& pair : pairs) {
    if (&pair.inner == &inner && &pair.outer == &outer && (pair.place < 0 || pair.place == place)) return &pair.both;
  }
  return nullptr;
}

}  // namespace tapegrad
#endif  // HWY_ONCE
