// Samples of diagonals, windows, repetition, rotation, padding and regions.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

void add_diagonals(SampleTable& table) {
  for (int64_t offset : {0, 1, -1, 3, 9, -9}) {
    add_cubes(table, "diagonal", fmt::format("offset {}", offset),
              [offset](const Tensor& x) { return diagonal(x, offset, 1, 2); });
    add_cubes(table, "diag_embed", fmt::format("offset {}", offset),
              [offset](const Tensor& x) { return diag_embed(x, offset); });
  }
  add_cubes(table, "diagonal", "axes 2, 0", [](const Tensor& x) { return diagonal(x, 1, -1, 0); });
  add_cubes(table, "diag_embed", "axes 2, 0", [](const Tensor& x) { return diag_embed(x, -1, 2, 0); });
  table.add("diagonal", "diag", {spread({3, 4})}, [](auto x) { return diag(x[0], 1); });
  table.add("diagonal", "[0, 3]", {spread({0, 3})}, [](auto x) { return diagonal(x[0]); });
  table.add("diag_embed", "diag", {spread({3})}, [](auto x) { return diag(x[0], -2); });
  table.add("diag_embed", "[0]", {spread({0})}, [](auto x) { return diag_embed(x[0], 2); });
  table.add("diag_embed", "[2, 0]", {spread({2, 0})}, [](auto x) { return diag_embed(x[0]); });
}

void add_windows(SampleTable& table) {
  struct Windows {
    int64_t axis, size, step;
  };
  for (const Windows& w : {Windows{2, 2, 1}, Windows{2, 3, 2}, Windows{1, 2, 1}, Windows{0, 1, 1}, Windows{-1, 2, 3},
                           Windows{-2, 3, 5}, Windows{2, 4, 1}}) {
    const auto windows = [w](const Tensor& x) { return unfold(x, w.axis, w.size, w.step); };
    add_cubes(table, "unfold", fmt::format("axis {}, size {}, step {}", w.axis, w.size, w.step), windows);
    const Shape shape = windows(zeros({2, 3, 4})).shape();
    for (const Tensor& dy : {spread(shape), spread({1}).expand(shape)}) {
      table.add("add_windows", fmt::format("axis {}, size {}, step {}", w.axis, w.size, w.step), {dy},
                [windows](auto x) {
                  return pulled_back(windows, zeros({2, 3, 4}, kFloat64), x[0]);
                });
    }
  }
  table.add("unfold", "windows of windows", {spread({7})},
            [](auto x) { return unfold(unfold(x[0], 0, 4, 1), 1, 2, 2); });
  table.add("unfold", "size 0", {spread({3})}, [](auto x) { return unfold(x[0], 0, 0, 1); });
  table.add("unfold", "[0]", {spread({2, 0})}, [](auto x) { return unfold(x[0], 0, 2, 1); });
}

void add_repetition(SampleTable& table) {
  add_cubes(table, "expand", "repeat", [](const Tensor& x) { return repeat(x, {2, 1, 3}); });
  add_cubes(table, "expand", "repeat, a new axis", [](const Tensor& x) { return repeat(x, {3, 1, 2, 1}); });
  add_cubes(table, "expand", "tile", [](const Tensor& x) { return tile(x, {2, 2}); });
  add_cubes(table, "expand", "repeat_interleave", [](const Tensor& x) { return repeat_interleave(x, 3, 1); });
  add_cubes(table, "expand", "repeat_interleave, flat", [](const Tensor& x) { return repeat_interleave(x, 2); });
  add_cubes(table, "index_select", "repeat_interleave with counts", [](const Tensor& x) {
    return repeat_interleave(x, tensor({2, 0, 3}), 1);
  });
  table.add("expand", "repeat 0 times", {spread({2, 3})}, [](auto x) { return repeat(x[0], {0, 2}); });
  table.add("expand", "repeat a scalar", {spread({})}, [](auto x) { return repeat(x[0], {2, 3}); });
  table.add("expand", "repeat [0]", {spread({0})}, [](auto x) { return repeat(x[0], {2, 3}); });
  table.add("expand", "meshgrid", {spread({2}), spread({3}, 1, 2), spread({}, 0, 1)}, [](auto x) {
    const std::vector<Tensor> grids = meshgrid(x, MeshIndexing::xy);
    return grids[0] * grids[1] * grids[2];
  });

  add_cubes(table, "roll", "axis 1", [](const Tensor& x) { return roll(x, 1, 1); });
  add_cubes(table, "roll", "axes 0, 2", [](const Tensor& x) { return roll(x, {-1, 3}, {0, -1}); });
  add_cubes(table, "roll", "all axes", [](const Tensor& x) { return roll(x, {1, 5, -6}, {0, 1, 2}); });
  add_cubes(table, "roll", "flat", [](const Tensor& x) { return roll(x, -7); });
  table.add("roll", "[2, 0]", {spread({2, 0})}, [](auto x) { return roll(x[0], 1, 1); });
  table.add("roll", "scalar", {spread({})}, [](auto x) { return roll(x[0], 1); });
}

void add_padding(SampleTable& table) {
  struct Edges {
    const char* label;
    std::vector<int64_t> widths;
  };
  const PadMode modes[] = {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular};
  const char* const names[] = {"constant", "reflect", "replicate", "circular"};
  for (int m = 0; m < 4; ++m) {
    const PadMode mode = modes[m];
    for (const Edges& e :
         {Edges{"last axis", {1, 2}}, Edges{"two axes", {3, 0, 1, 2}}, Edges{"three axes", {1, 1, 0, 2, 1, 0}},
          Edges{"middle axis", {0, 0, 2, 1}}, Edges{"one cut", {-1, 2, 1, -2}}}) {
      const auto padded = [mode, e](const Tensor& x) { return pad(x, e.widths, mode, 1.5); };
      add_cubes(table, "pad", fmt::format("{}, {}", names[m], e.label), padded);
      if (mode == PadMode::constant) continue;
      const Shape shape = padded(zeros({2, 3, 4})).shape();
      for (const Tensor& dy : {spread(shape), spread({1}).expand(shape)}) {
        table.add("unpad", fmt::format("{}, {}", names[m], e.label), {dy}, [padded](auto x) {
          return pulled_back(padded, zeros({2, 3, 4}, kFloat64), x[0]);
        });
      }
    }
    table.add("pad", fmt::format("{}, vector", names[m]), {spread({5})}, [mode](auto x) {
      return pad(x[0], {4, 3}, mode);
    });
    table.add("pad", fmt::format("{}, no rows", names[m]), {spread({0, 3})}, [mode](auto x) {
      return pad(x[0], {1, 1}, mode);
    });
  }
  table.add("pad", "constant, nothing", {spread({0})}, [](auto x) { return pad(x[0], {2, 1}); });
  table.add("pad", "constant, more cut than there is", {spread({3})},
            [](auto x) {
              return pad(x[0], {-5, 6});
            },
            {.zero_gradient = true});
  table.add("slice", "pad that cuts", {spread({4, 5})}, [](auto x) { return pad(x[0], {-1, -2, 0, -1}); });
}

void add_regions(SampleTable& table) {
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
    add_cubes(table, "slice_update", label + " = number",
              [slices](const Tensor& x) { return slice_update(x, slices, 2.5); });
    add_cubes(table, "slice_update", label + " = scalar",
              [slices](const Tensor& x) { return slice_update(x, slices, x.reshape({-1})[5]); });
    table.add("slice_update", label, {spread({2, 3, 4}), spread(shape, 0, 1)},
              [slices](auto x) { return slice_update(x[0], slices, x[1]); });
    table.add("slice_update", label + ", values only", {spread(shape, 0, 1)}, [slices](auto x) {
      return slice_update(zeros({2, 3, 4}, kFloat64), slices, x[0]);
    });
  }
  add_cubes(table, "slice", "[:, 1:, 2]", [](const Tensor& x) { return slice(x, {{}, {1, kAll}, 2}); });
  table.add("slice_update", "a row in columns", {spread({3, 4}), spread({2}, 0, 1)}, [](auto x) {
    return slice_update(x[0], {{}, {1, 3}}, x[1]);
  });
  table.add("slice_update", "[0]", {spread({0, 2}), spread({2})},
            [](auto x) { return slice_update(x[0], {{}}, x[1]); });
}

}  // namespace

void add_shape_samples(SampleTable& table) {
  add_diagonals(table);
  add_windows(table);
  add_repetition(table);
  add_padding(table);
  add_regions(table);
  add_cubes(table, "reshape", "unflatten", [](const Tensor& x) { return unflatten(x, -1, {2, -1}); });
  add_cubes(table, "permute", "movedim", [](const Tensor& x) { return movedim(x, {0, 2}, {1, 0}); });
  table.add("reshape", "squeeze of two axes", {spread({1, 3, 1})}, [](auto x) { return x[0].squeeze({0, -1}); });
}

}  // namespace tapegrad::tasks
