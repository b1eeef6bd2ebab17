// Reading cases and writing results.
#include "case.h"

#include <cmath>
#include <cstdlib>
#include <istream>
#include <iterator>

std::ofstream out;

void put(int64_t id, char kind, int64_t index, const Tensor& x0) {
  const Tensor x = x0.detach().contiguous();
  const int64_t header[5] = {id, kind, index, code_of_dtype(x.dtype()), x.dim()};
  out.write(reinterpret_cast<const char*>(header), sizeof header);
  for (int64_t s : x.shape()) out.write(reinterpret_cast<const char*>(&s), 8);
  out.write(static_cast<const char*>(x.raw_data()), x.numel() * tg::item_size(x.dtype()));
}

void put(int64_t id, char kind, int64_t index, const std::string& text) {
  const int64_t header[5] = {id, kind, index, static_cast<int64_t>(text.size()), 0};
  out.write(reinterpret_cast<const char*>(header), sizeof header);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

ReadTensor read_tensor(std::istream& line, const std::string& data) {
  int64_t grad, dtype, rank, offset, count, position;
  line >> grad >> dtype >> rank;
  Ints dims(static_cast<size_t>(rank)), strides(static_cast<size_t>(rank));
  for (int64_t& v : dims) line >> v;
  for (int64_t& v : strides) line >> v;
  line >> offset >> count >> position;
  const Tensor base = tg::from_data(data.data() + position, count, tg::Shape{count}, dtype_of_code(dtype));
  return {base.view(tg::Shape(dims.data(), rank), tg::Strides(strides.data(), rank), offset), grad != 0};
}

namespace {

// Numbers in place of the texts that stand for them.
void restore_numbers(json& value) {
  if (value.is_array())
    for (json& one : value) restore_numbers(one);
  if (value == "nan" || value == "inf" || value == "-inf")
    value = std::strtod(value.get<std::string>().c_str(), nullptr);
}

}  // namespace

bool read_argument(const std::string& word, std::istream& line, Case& c) {
  if (word != "A") return false;
  std::string name, value;
  line >> name;
  std::getline(line, value);
  restore_numbers(c.attributes[name] = json::parse(value));
  return true;
}

std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor weights(const Tensor& like, double phase) {
  std::vector<double> w(static_cast<size_t>(like.numel()));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::cos(1.3 * static_cast<double>(i) + phase);
  return tg::from_data(w.data(), like.numel(), like.shape(), tg::kFloat64).to(like.dtype());
}

Tensor weighted_sum(tg::Tape& tape, const TV& ys, double phase) {
  Tensor total;
  for (size_t k = 0; k < ys.size(); ++k) {
    if (!ys[k].defined() || !tg::is_floating(ys[k].dtype()) || tape.position_of(ys[k]) < 0) continue;
    Tensor part = tg::sum(ys[k] * weights(ys[k], phase + static_cast<double>(k)));
    if (part.dtype() != tg::kFloat64) part = part.to(tg::kFloat64);
    total = total.defined() ? total + part : part;
  }
  return total;
}
