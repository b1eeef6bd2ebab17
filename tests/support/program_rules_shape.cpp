// The operations that random programs are made of: views, joining, padding and indexing.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/support/program_table.h>

namespace tapegrad::tests {

void add_shapes(Table& table) {
  table.add("{t0}.t()", "{t0}.transpose(-1, -2)", matrices, [](const A& a) { return a.t[0].t(); });
  table.add(
      "{t0}.permute({l0})", "{t0}.permute({l0})",
      [](const D& d, Call& c) {
        if (!matrices(d, c)) return false;
        std::vector<int64_t> axes;
        for (int k = 0; k < d.last(c).dim(); ++k) axes.insert(axes.begin() + d.below(k + 1), k);
        c.l = {axes};
        return true;
      },
      [](const A& a) {
        Dims axes;
        for (int64_t axis : a.l(0)) axes.push_back(axis);
        return a.t[0].permute(axes);
      });
  table.add(
      "movedim({t0}, {{i0}}, {{i1}})", "torch.movedim({t0}, {i0}, {i1})",
      [](const D& d, Call& c) {
        if (!with_axis(d, c)) return false;
        c.i.push_back(d.axis(d.last(c)));
        return true;
      },
      [](const A& a) { return movedim(a.t[0], {a.i(0)}, {a.i(1)}); });
  table.add(
      "{t0}.slice({i0}, {i1}, {i2}, {i3})", "{t0}.transpose({i0}, 0)[{i1}:{i2}:{i3}].transpose({i0}, 0)",
      [](const D& d, Call& c) {
        if (!with_axis(d, c)) return false;
        const int64_t size = d.last(c).size(c.i[0]);
        const int64_t start = d.between(-size - 1, size);
        for (int64_t i : {start, d.between(-size, size + 1), d.between(1, 3)}) c.i.push_back(i);
        return true;
      },
      [](const A& a) { return a.t[0].slice(a.i(0), a.i(1), a.i(2), a.i(3)); });
  table.add("{t0}.slice({i0}, kAll, kAll, -1)", "{t0}.flip({i0})", with_axis,
            [](const A& a) { return a.t[0].slice(a.i(0), kAll, kAll, -1); });
  table.add("flip({t0}, {{i0}})", "{t0}.flip({i0})", with_axis, [](const A& a) { return flip(a.t[0], {a.i(0)}); });
  table.add(
      "{t0}.select({i0}, {i1})", "{t0}.select({i0}, {i1})",
      [](const D& d, Call& c) {
        if (!with_axis(d, c) || d.last(c).size(c.i[0]) == 0) return false;
        const int64_t size = d.last(c).size(c.i[0]);
        c.i.push_back(d.between(-size, size - 1));
        return true;
      },
      [](const A& a) { return a.t[0].select(a.i(0), a.i(1)); });
  table.add(
      "{t0}.unsqueeze({i0}).expand({l0})", "{t0}.unsqueeze({i0}).expand({l0})",
      [](const D& d, Call& c) {
        if (!d.operand(c)) return false;
        c.i = {d.between(0, d.last(c).dim())};
        std::vector<int64_t> sizes(static_cast<std::size_t>(d.last(c).dim()) + 1, -1);
        sizes[static_cast<std::size_t>(c.i[0])] = d.between(1, 3);
        c.l = {sizes};
        return true;
      },
      [](const A& a) {
        Shape shape;
        for (int64_t size : a.l(0)) shape.push_back(size);
        return a.t[0].unsqueeze(a.i(0)).expand(shape);
      });
  table.add("{t0}.reshape({-1})", "{t0}.reshape(-1)", any_value, [](const A& a) { return a.t[0].reshape({-1}); });
  table.add(
      "{t0}.reshape({2, -1})", "{t0}.reshape(2, -1)",
      [](const D& d, Call& c) {
        return d.operand(c, [](const Tensor& x) { return x.numel() > 0 && x.numel() % 2 == 0; });
      },
      [](const A& a) {
        return a.t[0].reshape({2, -1});
      });
  table.add("{t0}.squeeze()", "{t0}.squeeze()", any_value, [](const A& a) { return a.t[0].squeeze(); });
  table.add("{t0}.flatten(0, -1)", "{t0}.flatten(0, -1)", any_value, [](const A& a) { return a.t[0].flatten(0, -1); });
  table.add("{t0}.contiguous()", "{t0}.contiguous()", any_value, [](const A& a) { return a.t[0].contiguous(); });
  const DrawRule matrix_and_offset = [](const D& d, Call& c) {
    if (!matrices(d, c)) return false;
    c.i = {d.between(-1, 1)};
    return true;
  };
  table.add("diagonal({t0}, {i0}, -1, 0)", "torch.diagonal({t0}, {i0}, -1, 0)", matrix_and_offset,
            [](const A& a) { return diagonal(a.t[0], a.i(0), -1, 0); });
  table.add("tril({t0}, {i0})", "torch.tril({t0}, {i0})", matrix_and_offset,
            [](const A& a) { return tril(a.t[0], a.i(0)); });
  table.add("triu({t0}, {i0})", "torch.triu({t0}, {i0})", matrix_and_offset,
            [](const A& a) { return triu(a.t[0], a.i(0)); });
  table.add(
      "diag_embed({t0})", "torch.diag_embed({t0})",
      [](const D& d, Call& c) { return d.operand(c, [](const Tensor& x) { return x.dim() > 0 && x.size(-1) < 4; }); },
      [](const A& a) { return diag_embed(a.t[0]); });
  table.add(
      "unfold({t0}, {i0}, {i1}, {i2})", "{t0}.unfold({i0}, {i1}, {i2})",
      [](const D& d, Call& c) {
        if (!with_axis(d, c)) return false;
        c.i.push_back(d.between(0, d.last(c).size(c.i[0])));
        c.i.push_back(d.between(1, 3));
        return true;
      },
      [](const A& a) { return unfold(a.t[0], a.i(0), a.i(1), a.i(2)); });
  table.add(
      "repeat({t0}, {l0})", "{t0}.repeat({l0})",
      [](const D& d, Call& c) {
        if (!d.operand(c)) return false;
        std::vector<int64_t> counts;
        for (int k = d.last(c).dim() + static_cast<int>(d.below(2)); k > 0; --k) counts.push_back(d.between(1, 2));
        c.l = {counts};
        return true;
      },
      [](const A& a) {
        Dims counts;
        for (int64_t count : a.l(0)) counts.push_back(count);
        return repeat(a.t[0], counts);
      });
  table.add("repeat_interleave({t0}, 2, {i0})", "{t0}.repeat_interleave(2, {i0})", with_axis,
            [](const A& a) { return repeat_interleave(a.t[0], 2, a.i(0)); });
  const DrawRule with_shift = [](const D& d, Call& c) {
    if (!with_axis(d, c)) return false;
    c.i.push_back(d.between(-4, 4));
    return true;
  };
  table.add("roll({t0}, {i1}, {i0})", "{t0}.roll({i1}, {i0})", with_shift,
            [](const A& a) { return roll(a.t[0], a.i(1), a.i(0)); });
  table.add("roll({t0}, {i1})", "{t0}.roll({i1})", with_shift, [](const A& a) { return roll(a.t[0], a.i(1)); });
  table.add("pad({t0}, {{i1}, {i2}}, PadMode::constant, {d0})", "F.pad({t0}, ({i1}, {i2}), value={d0})",
            and_number(
                [](const D& d, Call& c) {
                  if (!with_axis(d, c)) return false;
                  for (int k = 0; k < 2; ++k) c.i.push_back(d.between(0, 2));
                  return true;
                },
                -1, 1),
            [](const A& a) {
              return pad(a.t[0], {a.i(1), a.i(2)}, PadMode::constant, a.d(0));
            });
  const auto padded = [&](const std::string& mode, PadMode of, int64_t less) {
    table.add(
        "pad({t0}.reshape({1, 1, -1}), {{i0}, {i1}}, PadMode::" + mode + ")",
        "F.pad({t0}.reshape(1, 1, -1), ({i0}, {i1}), mode='" + mode + "')",
        [less](const D& d, Call& c) {
          if (!not_empty(d, c)) return false;
          const int64_t most = std::min<int64_t>(3, d.last(c).numel() - less);
          if (most < 0) return false;
          c.i = {d.between(0, most), d.between(0, most)};
          return true;
        },
        [of](const A& a) {
          return pad(a.t[0].reshape({1, 1, -1}), {a.i(0), a.i(1)}, of);
        });
  };
  padded("reflect", PadMode::reflect, 1);
  padded("replicate", PadMode::replicate, 0);
  padded("circular", PadMode::circular, 0);
  const DrawRule joined = [](const D& d, Call& c) {
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
  };
  table.add("cat({{t0}, {t1}}, {i0})", "torch.cat([{t0}, {t1}], {i0})", joined, [](const A& a) {
    return cat({a.t[0], a.t[1]}, a.i(0));
  });
  table.add("stack({{t0}, {t1}, {t0}}, -1)", "torch.stack([{t0}, {t1}, {t0}], -1)", twins, [](const A& a) {
    return stack({a.t[0], a.t[1], a.t[0]}, -1);
  });
  table.add("split({t0}, 2, {i0})[0]", "{t0}.split(2, {i0})[0]", with_filled_axis,
            [](const A& a) { return split(a.t[0], 2, a.i(0))[0]; });
  table.add(
      "slice_update({t0}, {{1, kAll, 2}}, {d0})", "torch.cat([{t0}[:1], {t0}[1:] * 0 + {d0}])",
      and_number([](const D& d,
                    Call& c) { return d.operand(c, [](const Tensor& x) { return x.dim() > 0 && x.size(0) == 2; }); },
                 -1, 1),
      [](const A& a) {
        return slice_update(a.t[0], {{1, kAll, 2}}, a.d(0));
      });
}

void add_indexing(Table& table) {
  const DrawRule rows = [](const D& d, Call& c) {
    if (!with_axis(d, c) || d.last(c).size(c.i[0]) == 0) return false;
    c.c = {d.index({d.between(0, 3)}, d.last(c).size(c.i[0]))};
    return true;
  };
  table.add("index_select({t0}, {i0}, {c0})", "{t0}.index_select({i0}, {c0})", rows,
            [](const A& a) { return index_select(a.t[0], a.i(0), a.c(0)); });
  table.add("index_fill({t0}, {i0}, {c0}, {d0})", "{t0}.index_fill({i0}, {c0}, {d0})", and_number(rows, -1, 1),
            [](const A& a) { return index_fill(a.t[0], a.i(0), a.c(0), a.d(0)); });
  const DrawRule places = [](const D& d, Call& c) {
    if (!with_axis(d, c) || d.last(c).numel() == 0) return false;
    Shape shape = d.last(c).shape();
    const int64_t axis = (c.i[0] + shape.rank()) % shape.rank();
    shape[static_cast<int>(axis)] = d.between(1, 3);
    c.c = {d.index(shape, d.last(c).size(axis))};
    return true;
  };
  table.add("gather({t0}, {i0}, {c0})", "{t0}.gather({i0}, {c0})", places,
            [](const A& a) { return gather(a.t[0], a.i(0), a.c(0)); });
  table.add("take_along_axis({t0}, {c0}, {i0})", "torch.take_along_dim({t0}, {c0}, {i0})", places,
            [](const A& a) { return take_along_axis(a.t[0], a.c(0), a.i(0)); });
  // The source is gathered from x, so it has the shape of the index.
  table.add("scatter_add({t0}, {i0}, {c0}, sin(gather({t0}, {i0}, {c0})))",
            "{t0}.scatter_add({i0}, {c0}, {t0}.gather({i0}, {c0}).sin())", places,
            [](const A& a) { return scatter_add(a.t[0], a.i(0), a.c(0), sin(gather(a.t[0], a.i(0), a.c(0)))); });
  // Rows in a different order: each place is written once, because PyTorch does not define the order of several writes.
  const DrawRule permutation = [](const D& d, Call& c) {
    if (!with_filled_axis(d, c)) return false;
    const int64_t size = d.last(c).size(c.i[0]);
    std::vector<int64_t> order;
    for (int64_t k = 0; k < size; ++k) order.insert(order.begin() + d.below(k + 1), k);
    c.c = {from_data(order.data(), size, {size}, kInt64)};
    return true;
  };
  table.add("index_copy({t0}, {i0}, {c0}, exp({t0}))", "{t0}.index_copy({i0}, {c0}, {t0}.exp())", permutation,
            [](const A& a) { return index_copy(a.t[0], a.i(0), a.c(0), exp(a.t[0])); });
  table.add("index_add({t0}, {i0}, {c0}, cos({t0}), {d0})", "{t0}.index_add({i0}, {c0}, {t0}.cos(), alpha={d0})",
            and_number(permutation, -1, 1),
            [](const A& a) { return index_add(a.t[0], a.i(0), a.c(0), cos(a.t[0]), a.d(0)); });
  table.add(
      "scatter({t0}.reshape({-1}), 0, {c0}, sin({t0}.reshape({-1})))",
      "{t0}.reshape(-1).scatter(0, {c0}, {t0}.reshape(-1).sin()[:{c0}.numel()])",
      [permutation](const D& d, Call& c) {
        if (!permutation(d, c)) return false;
        c.c = {c.c[0].slice(0, 0, d.between(1, c.c[0].numel())).contiguous()};
        return true;
      },
      [](const A& a) { return scatter(a.t[0].reshape({-1}), 0, a.c(0), sin(a.t[0].reshape({-1}))); });
  const DrawRule first_axis = [](const D& d, Call& c) {
    if (!d.operand(c, [](const Tensor& x) { return x.dim() > 0 && x.size(0) > 0; })) return false;
    c.c = {d.index({d.between(1, 2), d.between(1, 2)}, d.last(c).size(0))};
    return true;
  };
  table.add("index({t0}, {{c0}})", "{t0}[{c0}]", first_axis, [](const A& a) { return index(a.t[0], {a.c(0)}); });
  table.add("index_put({t0}, {{c0}}, scalar({d0}, {T}), true)",
            "{t0}.index_put(({c0},), torch.tensor({d0}, dtype={T}), accumulate=True)", and_number(first_axis, -1, 1),
            [](const A& a) { return index_put(a.t[0], {a.c(0)}, scalar(a.d(0), a.type), true); });
  // PyTorch 1.13 has a wrong gradient for a transposed x.
  table.add(
      "masked_select({t0}, gt({t0}, {d0}))", "(lambda x: x.masked_select(x > {d0}))({t0}.contiguous())",
      and_number(any_value, -0.5, 0.5), [](const A& a) { return masked_select(a.t[0], gt(a.t[0], a.d(0))); },
      [](const A& a) { return away_from(a.t[0], {a.d(0)}); });
  table.add(
      "embedding({t0}, {c0})", "F.embedding({c0}, {t0})",
      [](const D& d, Call& c) {
        if (!d.operand(c, [](const Tensor& x) { return x.dim() == 2 && x.size(0) > 0; })) return false;
        c.c = {d.index({2, d.between(1, 2)}, d.last(c).size(0))};
        return true;
      },
      [](const A& a) { return embedding(a.t[0], a.c(0)); });
}

}  // namespace tapegrad::tests
