// Samples of indexing and ordering.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

void add_indexing(SampleTable& table) {
  const Tensor rows = tensor({2, 0, 2});
  for (const LaidOut& a : layouts(3, 4)) {
    table.add("index_select", a.label + ", rows", {a.x, rows}, [](auto x) { return index_select(x[0], 0, x[1]); });
    table.add("index_select", a.label + ", columns", {a.x, tensor({3, 3, 1, 0, 2})},
              [](auto x) { return index_select(x[0], -1, x[1]); });
    table.add("gather", a.label + ", rows", {a.x, some_ids({5, 4}, 3)}, [](auto x) { return gather(x[0], 0, x[1]); });
    table.add("gather", a.label + ", columns", {a.x, some_ids({4, 3}, 4).t()},
              [](auto x) { return gather(x[0], 1, x[1]); });
    table.add("gather", a.label + ", fewer rows", {a.x, some_ids({2, 3}, 4)},
              [](auto x) { return gather(x[0], -1, x[1]); });
    table.add("scatter_add", a.label, {a.x, some_ids({2, 4}, 3), spread({4, 2}).t()},
              [](auto x) { return scatter_add(x[0], 0, x[1], x[2]); });
    table.add("scatter_add", a.label + ", larger source", {a.x, some_ids({2, 3}, 4), spread({3, 5})},
              [](auto x) { return scatter_add(x[0], 1, x[1], x[2]); });
  }
  table.add("index_select", "middle axis", {spread({2, 3, 2}), tensor({1, 2})},
            [](auto x) { return index_select(x[0], 1, x[1]); });
  table.add("index_select", "no index", {spread({2, 3}), zeros({0}, kInt64)},
            [](auto x) { return index_select(x[0], 0, x[1]); });
  table.add("index_select", "expanded", {spread({3, 1}).expand({3, 2}), rows},
            [](auto x) { return index_select(x[0], 0, x[1]); });
  table.add("gather", "three axes", {spread({2, 3, 2}), some_ids({2, 2, 2}, 3)},
            [](auto x) { return gather(x[0], 1, x[1]); });
  table.add("gather", "no index", {spread({2, 3}), zeros({2, 0}, kInt64)},
            [](auto x) { return gather(x[0], 1, x[1]); });
  table.add("gather", "vector", {spread({5}), some_ids({7}, 5)}, [](auto x) { return gather(x[0], 0, x[1]); });
  table.add("scatter_add", "vector", {spread({4}), some_ids({7}, 4), spread({7})},
            [](auto x) { return scatter_add(x[0], 0, x[1], x[2]); });
  table.add("scatter_add", "no index", {spread({4}), zeros({0}, kInt64), spread({0})},
            [](auto x) { return scatter_add(x[0], 0, x[1], x[2]); });
  table.add("scatter_add", "expanded source", {spread({3, 2}), some_ids({4, 2}, 3), spread({2}).expand({4, 2})},
            [](auto x) { return scatter_add(x[0], 0, x[1], x[2]); });

  const auto look_up = [](std::span<const Tensor> x) { return embedding(x[0], x[1]); };
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 3}, Shape{0}, Shape{2, 1, 2}}) {
    table.add("embedding", "ids " + str(shape), {spread({5, 3}), some_ids(shape, 5)}, look_up);
  }
  table.add("embedding", "the same id often", {spread({3, 2}), zeros({6}, kInt64)}, look_up);
  table.add("embedding", "transposed weight and ids", {spread({3, 5}).t(), some_ids({3, 2}, 5).t()}, look_up);
  table.add("embedding", "strided weight", {spread({4, 6}).slice(1, 0, kAll, 2), some_ids({3}, 4)}, look_up);
  // The padding row is right to get no gradient, which differences cannot see: it is tested with the values.
  table.add("embedding", "padding that does not occur", {spread({5, 2}), tensor({4, 0, 3})},
            [](auto x) { return embedding(x[0], x[1], 2); });
  for (const LaidOut& dy : layouts(4, 3)) {
    table.add("add_rows", dy.label, {dy.x}, [](auto x) {
      return pulled_back(
          [](const Tensor& w) {
            return embedding(w, tensor({1, 3, 1, 0}));
          },
          zeros({5, 3}, kFloat64), x[0]);
    });
  }
}

void add_orders(SampleTable& table) {
  for (bool down : {false, true}) {
    const std::string way = down ? ", falling" : ", rising";
    for (const LaidOut& a : layouts(3, 4)) {
      table.add("sort", a.label + way, {a.x}, [down](auto x) { return sort(x[0], -1, down).values; });
      table.add("sort", a.label + way + ", rows", {a.x}, [down](auto x) { return sort(x[0], 0, down).values; });
      table.add("topk", a.label + way, {a.x}, [down](auto x) { return topk(x[0], 2, -1, down).values; });
      table.add("topk", a.label + way + ", rows", {a.x}, [down](auto x) { return topk(x[0], 2, 0, down).values; });
    }
  }
  table.add("sort", "[7]", {spread({7})}, [](auto x) { return sort(x[0]).values; });
  table.add("sort", "[0]", {spread({0})}, [](auto x) { return sort(x[0]).values; });
  table.add("topk", "none of them", {spread({3})}, [](auto x) { return topk(x[0], 0).values; });
  table.add("topk", "all of them", {spread({5})}, [](auto x) { return topk(x[0], 5).values; });
}

}  // namespace

void add_index_samples(SampleTable& table) {
  add_indexing(table);
  add_orders(table);
}

}  // namespace tapegrad::tasks
