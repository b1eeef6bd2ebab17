// Calls of shape operations, and of reading and writing by index.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tests/golden/arguments.h>

#include <limits>

namespace tapegrad::tests {
namespace {

std::vector<int64_t> list(const json& args, const char* key) { return args[key].get<std::vector<int64_t>>(); }

std::optional<int64_t> axis(const json& args) {
  return args.contains("axis") ? std::optional(args["axis"].get<int64_t>()) : std::nullopt;
}

// [] is a whole axis, [start, stop, step] a range with null for what is left out, a number one index.
std::vector<Slice> slices(const json& args) {
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

// Index tensors by axis: a slot is the number of an input, counted from `before`, or -1 for a whole axis.
Inputs indices(const Inputs& x, const json& args, std::size_t before) {
  Inputs all;
  for (int64_t slot : list(args, "slots")) {
    all.push_back(slot < 0 ? Tensor() : x[static_cast<std::size_t>(slot) + before]);
  }
  return all;
}

void add_views(GoldenCalls& calls) {
  calls["diagonal"] = [](const Inputs& x, const json& args) -> Outputs {
    return {diagonal(x[0], integer(args, "offset"), integer(args, "axis1"), integer(args, "axis2"))};
  };
  calls["diag_embed"] = [](const Inputs& x, const json& args) -> Outputs {
    return {diag_embed(x[0], integer(args, "offset"), integer(args, "axis1"), integer(args, "axis2"))};
  };
  calls["diag"] = [](const Inputs& x, const json& args) -> Outputs { return {diag(x[0], integer(args, "offset"))}; };
  calls["unfold"] = [](const Inputs& x, const json& args) -> Outputs {
    return {unfold(x[0], integer(args, "axis"), integer(args, "size"), integer(args, "step"))};
  };
  calls["unflatten"] = [](const Inputs& x, const json& args) -> Outputs {
    return {unflatten(x[0], integer(args, "axis"), dims(args, "sizes"))};
  };
  calls["movedim"] = [](const Inputs& x, const json& args) -> Outputs {
    return {movedim(x[0], Axes(dims(args, "from")), Axes(dims(args, "to")))};
  };
  calls["squeeze"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("axes")) return {x[0].squeeze(Axes(dims(args, "axes")))};
    return {args.contains("axis") ? x[0].squeeze(integer(args, "axis")) : x[0].squeeze()};
  };
  calls["meshgrid"] = [](const Inputs& x, const json& args) -> Outputs {
    return meshgrid(x, args["indexing"] == "xy" ? MeshIndexing::xy : MeshIndexing::ij);
  };
  calls["slice"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("slices")) return {slice(x[0], slices(args))};
    return {
        x[0].slice(integer(args, "axis"), args.value("start", kAll), args.value("stop", kAll), integer(args, "step"))};
  };
}

void add_copies(GoldenCalls& calls) {
  calls["repeat"] = [](const Inputs& x, const json& args) -> Outputs { return {repeat(x[0], dims(args, "counts"))}; };
  calls["tile"] = [](const Inputs& x, const json& args) -> Outputs { return {tile(x[0], dims(args, "counts"))}; };
  calls["repeat_interleave"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("count")) return {repeat_interleave(x[0], integer(args, "count"), axis(args))};
    return {repeat_interleave(x[0], x[1], axis(args))};
  };
  calls["roll"] = [](const Inputs& x, const json& args) -> Outputs {
    const Dims shifts = dims(args, "shifts");
    return {args.contains("axes") ? roll(x[0], shifts, Axes(dims(args, "axes"))) : roll(x[0], shifts[0])};
  };
  calls["pad"] = [](const Inputs& x, const json& args) -> Outputs {
    return {pad(x[0], list(args, "widths"), pad_mode(args, "mode"),
                args.value("value", std::numeric_limits<double>::quiet_NaN()))};
  };
  calls["slice_update"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("value")) return {slice_update(x[0], slices(args), args["value"].get<double>())};
    return {slice_update(x[0], slices(args), x[1])};
  };
}

void add_index(GoldenCalls& calls) {
  calls["take_along_axis"] = [](const Inputs& x, const json& args) -> Outputs {
    return {take_along_axis(x[0], x[1], axis(args))};
  };
  calls["masked_select"] = [](const Inputs& x, const json&) -> Outputs { return {masked_select(x[0], x[1])}; };
  calls["nonzero"] = [](const Inputs& x, const json&) -> Outputs { return {nonzero(x[0])}; };
  calls["index"] = [](const Inputs& x, const json& args) -> Outputs { return {index(x[0], indices(x, args, 0))}; };
  calls["index_put"] = [](const Inputs& x, const json& args) -> Outputs {
    return {index_put(x[0], indices(x, args, 1), x[1], args["accumulate"].get<bool>())};
  };
  calls["scatter"] = [](const Inputs& x, const json& args) -> Outputs {
    if (args.contains("value")) return {scatter(x[0], integer(args, "axis"), x[1], args["value"].get<double>())};
    return {scatter(x[0], integer(args, "axis"), x[1], x[2])};
  };
  calls["index_add"] = [](const Inputs& x, const json& args) -> Outputs {
    return {index_add(x[0], integer(args, "axis"), x[1], x[2], args.value("alpha", 1.0))};
  };
  calls["index_copy"] = [](const Inputs& x, const json& args) -> Outputs {
    return {index_copy(x[0], integer(args, "axis"), x[1], x[2])};
  };
  calls["index_fill"] = [](const Inputs& x, const json& args) -> Outputs {
    return {index_fill(x[0], integer(args, "axis"), x[1], args["value"].get<double>())};
  };
}

}  // namespace

void add_shape_calls(GoldenCalls& calls) {
  add_views(calls);
  add_copies(calls);
  add_index(calls);
}

}  // namespace tapegrad::tests
