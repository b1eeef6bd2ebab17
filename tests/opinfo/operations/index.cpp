// Reading and writing by index.
#include "families.h"

namespace {

std::vector<tg::Slice> slices(const Case& c) {  // "slices": kind, start, stop, step for each axis
  std::vector<tg::Slice> all;
  const Ints v = c.list("slices");
  for (size_t k = 0; k + 3 < v.size(); k += 4) {
    if (v[k] == 0)
      all.push_back(tg::Slice(v[k + 1]));
    else
      all.push_back(tg::Slice(v[k + 1], v[k + 2], v[k + 3]));
  }
  return all;
}

// x(...). "entries": kind, start, stop, step for each entry; of kind 0, a number; 1, a range; 2, a new axis; 3, an
// ellipsis; 4, the next operand.
std::vector<tg::Index> entries(const Case& c, size_t next) {
  std::vector<tg::Index> all;
  const Ints v = c.list("entries");
  for (size_t k = 0; k + 3 < v.size(); k += 4) {
    if (v[k] == 0)
      all.push_back(v[k + 1]);
    else if (v[k] == 1)
      all.push_back(tg::range(v[k + 1], v[k + 2], v[k + 3]));
    else if (v[k] == 2)
      all.push_back(tg::newaxis);
    else if (v[k] == 3)
      all.push_back(tg::ellipsis);
    else
      all.push_back(c.x.at(next++));
  }
  if (all.empty()) all.push_back(tg::ellipsis);
  all.resize(std::max<size_t>(all.size(), tg::Indices::kMost), tg::Index::absent());
  return all;
}

void add_reading(Calls& on) {
  on["slice"] = [](Case& c) -> TV { return {tg::slice(c.x[0], slices(c))}; };
  on["index"] = [](Case& c) -> TV { return {tg::index(c.x[0], all_of(c, 1))}; };
  on["getitem"] = [](Case& c) -> TV {
    const Tensor x = c.x[0];
    const auto e = entries(c, 1);
    return {x(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9])};
  };
}

void add_writing(Calls& on) {
  on["slice_update"] = [](Case& c) -> TV {
    return {c.has("value") ? tg::slice_update(c.x[0], slices(c), c.d("value"))
                           : tg::slice_update(c.x[0], slices(c), c.x[1])};
  };
  on["index_put"] = [](Case& c) -> TV { return {tg::index_put(c.x[0], all_of(c, 2), c.x[1], c.b("accumulate"))}; };
  on["setitem"] = [](Case& c) -> TV {  // x, values, tensors of the index
    Tensor x = c.x[0];
    const auto e = entries(c, 2);
    x(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9]) = c.x[1];
    return {x};
  };
}

}  // namespace

void add_index() {
  Calls& on = calls();
  add_reading(on);
  add_writing(on);
}
