// Samples of reading and writing by index, in addition to those of op_samples_index.cpp.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

void add_reading(SampleTable& table) {
  add_cubes(table, "gather", "take_along_axis", [](const Tensor& x) {
    return take_along_axis(x, tensor({3, 0, 0, 1, 2}).reshape({1, 1, 5}), -1);
  });
  table.add("gather", "take_along_axis, x broadcasts", {spread({1, 3}), some_ids({4, 2}, 3)},
            [](auto x) { return take_along_axis(x[0], x[1], 1); });
  table.add("gather", "take_along_axis, flat", {spread({2, 3}), some_ids({4}, 6)},
            [](auto x) { return take_along_axis(x[0], x[1]); });
  const Tensor i = tensor({{1, 0}, {-1, 1}}), j = tensor({2, -3}), none;
  add_cubes(table, "index_select", "x[i]", [=](const Tensor& x) { return index(x, {i}); });
  add_cubes(table, "index_select", "x[i, j]", [=](const Tensor& x) { return index(x, {i, j}); });
  add_cubes(table, "index_select", "x[:, j]", [=](const Tensor& x) { return index(x, {none, j}); });
  add_cubes(table, "index_select", "x[:, j, i]", [=](const Tensor& x) { return index(x, {none, j, i}); });
  add_cubes(table, "index_select", "x[i, :, j]", [=](const Tensor& x) { return index(x, {i, none, j}); });
  add_cubes(table, "index_select", "x[i, j, 1]", [=](const Tensor& x) { return index(x, {i, j, scalar(1, kInt64)}); });
  add_cubes(table, "index_select", "x[mask]", [](const Tensor& x) { return index(x, {some_bools({2, 3})}); });
  add_cubes(table, "index_select", "x[:, mask]", [=](const Tensor& x) { return index(x, {none, some_bools({3})}); });
  add_cubes(table, "index_select", "masked_select", [](const Tensor& x) {
    return masked_select(x, some_bools({3, 4}));
  });
  table.add("index_select", "masked_select, x broadcasts", {spread({3}), some_bools({2, 3})},
            [](auto x) { return masked_select(x[0], x[1]); });
  table.add("index_select", "masked_select, nothing", {spread({2, 3}), zeros({2, 3}, kBool)},
            [](auto x) { return masked_select(x[0], x[1]); });
  table.add("index_select", "x[[]]", {spread({2, 3}), zeros({0}, kInt64)}, [](auto x) { return index(x[0], {x[1]}); });
}

// Distinct indices, and some that repeat, so that values are overwritten.
void add_writing(SampleTable& table) {
  for (const LaidOut& a : layouts(3, 4)) {
    table.add("scatter", a.label, {a.x, some_ids({2, 4}, 3), spread({4, 2}, 0, 1).t()},
              [](auto x) { return scatter(x[0], 0, x[1], x[2]); });
    table.add("scatter", a.label + ", larger source", {a.x, some_ids({2, 3}, 4), spread({3, 5}, 0, 1)},
              [](auto x) { return scatter(x[0], 1, x[1], x[2]); });
    table.add("scatter", a.label + ", repeated", {a.x, some_ids({3, 6}, 2), spread({3, 6}, 0, 1)},
              [](auto x) { return scatter(x[0], -1, x[1], x[2]); });
    table.add("scatter", a.label + ", number", {a.x, some_ids({2, 4}, 3)},
              [](auto x) { return scatter(x[0], 0, x[1], 1.5); });
    for (int axis : {0, 1}) {
      const Shape source = axis == 0 ? Shape{4, 4} : Shape{3, 4};
      const Tensor repeated = tensor({2, 0, 2, 0});
      const std::string label = a.label + (axis == 0 ? ", rows" : ", columns");
      table.add("index_add", label, {a.x, repeated, spread(source, 0, 1)},
                [axis](auto x) { return index_add(x[0], axis, x[1], x[2]); });
      table.add("index_add", label + ", alpha", {a.x, repeated, spread(source, 0, 1)},
                [axis](auto x) { return index_add(x[0], axis, x[1], x[2], -2.5); });
      table.add("index_copy", label, {a.x, repeated, spread(source, 0, 1)},
                [axis](auto x) { return index_copy(x[0], axis, x[1], x[2]); });
      table.add("index_copy", label + ", distinct", {a.x, tensor({2, 0}), spread(source, 0, 1).slice(axis, 0, 2)},
                [axis](auto x) { return index_copy(x[0], axis, x[1], x[2]); });
      table.add("masked_fill", label + ", index_fill", {a.x, repeated},
                [axis](auto x) { return index_fill(x[0], axis, x[1], 1.5); });
    }
  }
  const auto copy = [](std::span<const Tensor> x) { return index_copy(x[0], 0, x[1], x[2]); };
  const auto add = [](std::span<const Tensor> x) { return index_add(x[0], 0, x[1], x[2]); };
  const Tensor nothing = zeros({0}, kInt64);
  table.add("index_copy", "no index", {spread({3, 2}), nothing, spread({0, 2})}, copy);
  table.add("index_copy", "no columns", {spread({3, 0}), tensor({1}), spread({1, 0})}, copy);
  table.add("index_copy", "vector", {spread({5}), tensor({4, 1, 4}), spread({3}, 0, 1)}, copy);
  table.add("index_add", "no index", {spread({3, 2}), nothing, spread({0, 2})}, add);
  table.add("index_add", "vector", {spread({5}), tensor({4, 1, 4}), spread({3}, 0, 1)}, add);
  table.add("index_add", "expanded source", {spread({3, 2}), tensor({0, 2}), spread({2}, 0, 1).expand({2, 2})}, add);
  table.add("index_add", "middle axis", {spread({2, 3, 2}), tensor({1, 1}), spread({2, 2, 2}, 0, 1)},
            [](auto x) { return index_add(x[0], 1, x[1], x[2]); });
  table.add("scatter", "vector", {spread({5}), some_ids({7}, 4), spread({7}, 0, 1)},
            [](auto x) { return scatter(x[0], 0, x[1], x[2]); });
  table.add("scatter", "no index", {spread({4}), nothing, spread({0})},
            [](auto x) { return scatter(x[0], 0, x[1], x[2]); });
  table.add("scatter", "source only", {some_ids({3, 2}, 4), spread({3, 2})}, [](auto x) {
    return scatter(zeros({3, 4}, kFloat64), 1, x[0], x[1]);
  });

  const Tensor i = tensor({{1, 1}, {-1, 1}}), j = tensor({2, -3}), none;
  const std::pair<const char*, std::vector<Tensor>> places[] = {
      {"x[i]", {i}},
      {"x[i, j]", {i, j}},
      {"x[:, j, i]", {none, j, i}},
      {"x[i, :, j]", {i, none, j}},
      {"x[mask]", {some_bools({2, 3})}},
  };
  for (const auto& entry : places) {
    const auto indices = entry.second;
    const Shape shape = index(zeros({2, 3, 4}), indices).shape();
    for (bool accumulate : {false, true}) {
      const auto put = [indices, accumulate](auto x) { return index_put(x[0], indices, x[1], accumulate); };
      const char* const op = accumulate ? "index_add" : "index_copy";
      const std::string label = std::string(entry.first) + (accumulate ? " +=" : " =");
      table.add(op, label, {spread({2, 3, 4}), spread(shape, 0, 1)}, put);
      table.add(op, label + " scalar", {spread({4, 2, 3}).permute({1, 2, 0}), spread({}, 0, 1)}, put);
      table.add(op, label + " row", {spread({2, 3, 4}), spread({shape.rank() > 0 ? shape.back() : 1}, 0, 1)}, put);
    }
  }
}

}  // namespace

void add_scatter_samples(SampleTable& table) {
  add_reading(table);
  add_writing(table);
}

}  // namespace tapegrad::tasks
