// A case: one call of an operation with its tensors and arguments, as protocol.py writes it.
//
//   CASE id op grad second seed      grad/second: 0 or 1; seed: -1 for none
//   T grad dtype rank dims.. strides.. offset storage_elements byte_position
//     a tensor; its storage is in the data file
//   U
//     an operand that was left out
//   A name value
//     an argument, in JSON, which has the texts "nan", "inf" and "-inf" for numbers that JSON lacks
//   END
#pragma once
#include <tapegrad/checks/cases/call.h>
#include <tapegrad/tapegrad.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tg = tapegrad;
using tg::Tensor;
using TV = std::vector<Tensor>;
using Ints = std::vector<int64_t>;
using tg::tasks::json;

struct Case {
  int64_t id = 0, seed = -1;
  std::string op;
  bool grad = false, second = false;
  TV x;                              // operands; a module replaces the values of its parameters by its own leaves
  std::vector<bool> wants;           // which of them need a gradient
  json attributes = json::object();  // the arguments, as the calls of checks/cases read them
  std::shared_ptr<void> keep;        // a module that the leaves belong to

  bool has(const std::string& n) const { return attributes.contains(n); }
  // A number, or the list of numbers.
  template <class T>
  std::vector<T> all(const std::string& n) const {
    if (!has(n)) throw std::out_of_range(n);
    const json& value = attributes[n];
    if (value.is_boolean()) return {static_cast<T>(value.get<bool>())};
    return value.is_array() ? value.get<std::vector<T>>() : std::vector<T>{value.get<T>()};
  }
  int64_t i(const std::string& n) const { return all<int64_t>(n).at(0); }
  int64_t i(const std::string& n, int64_t otherwise) const { return has(n) ? i(n) : otherwise; }
  bool b(const std::string& n, bool otherwise = false) const { return i(n, otherwise) != 0; }
  double d(const std::string& n) const { return all<double>(n).at(0); }
  double d(const std::string& n, double otherwise) const { return has(n) ? d(n) : otherwise; }
  std::optional<double> od(const std::string& n) const { return has(n) ? std::optional<double>(d(n)) : std::nullopt; }
  std::optional<int64_t> oi(const std::string& n) const { return has(n) ? std::optional<int64_t>(i(n)) : std::nullopt; }
  Ints list(const std::string& n) const { return has(n) ? all<int64_t>(n) : Ints(); }
  tg::Dims dims(const std::string& n) const {
    const Ints v = list(n);
    return tg::Dims(v.data(), static_cast<int64_t>(v.size()));
  }
  tg::Axes axes(const std::string& n = "dim") const { return tg::Axes(dims(n)); }
  std::string s(const std::string& n, const std::string& otherwise = "") const {
    return attributes.value(n, otherwise);
  }
  tg::PerAxis<int64_t> per_axis(const std::string& n, tg::PerAxis<int64_t> otherwise = {}) const {
    return tg::tasks::per_axis(attributes, n.c_str(), otherwise);
  }
  tg::DType dtype() const;  // the argument `dtype`
  Tensor at(size_t k) const { return k < x.size() ? x[k] : Tensor(); }
};

using Call = std::function<TV(Case&)>;
using Calls = std::map<std::string, Call>;
Calls& calls();         // by name
void add_operations();  // bridge.cpp: those of the families, operations/FAMILY.cpp, each by add_FAMILY()
void add_cases();       // those whose call checks/cases has
void add_elementwise();
void add_reduce();
void add_shape();
void add_index();
void add_product();
void add_nn();
void add_chain();
void add_modules();                                                                            // modules.cpp
void add_optimisers();                                                                         // optimisers.cpp
int run_programs(const char* programs, const char* data, const char* results, int64_t first);  // programs.cpp

// The codes of types on the wire: protocol.py has the same.
inline constexpr std::pair<int64_t, tg::DType> kCodes[] = {
    {0, tg::kBool},  {1, tg::kInt64}, {3, tg::kFloat32}, {4, tg::kFloat64},
    {5, tg::kUInt8}, {6, tg::kInt32}, {7, tg::kFloat16}, {8, tg::kBFloat16},
};
inline tg::DType dtype_of_code(int64_t code) {
  for (const auto& [c, dtype] : kCodes)
    if (c == code) return dtype;
  tg::fail("bridge", "no type has the code " + std::to_string(code));
}
inline int64_t code_of_dtype(tg::DType dtype) {
  for (const auto& [c, d] : kCodes)
    if (d == dtype) return c;
  return -1;
}
// Options that functions and modules share: tests/opinfo/operations/image.cpp.
tg::ConvOptions conv_options(const Case& c);
tg::ConvTransposeOptions conv_transpose_options(const Case& c);
tg::MaxPoolOptions max_pool_options(const Case& c);
tg::AvgPoolOptions avg_pool_options(const Case& c);
inline tg::DType Case::dtype() const { return dtype_of_code(i("dtype")); }

// How cases come in and results go out, wire.cpp: the lines above, and results as int64 headers {case, kind, index,
// dtype, rank, dims..} with raw values, or with a text whose length is in the place of the dtype. protocol.py has the
// other side.
extern std::ofstream out;  // of results
void put(int64_t id, char kind, int64_t index, const Tensor& x);
void put(int64_t id, char kind, int64_t index, const std::string& text);

struct ReadTensor {
  Tensor x;
  bool grad;
};
// The rest of a line T, whose values are in the data file.
ReadTensor read_tensor(std::istream& line, const std::string& data);
// The rest of a line A; false for any other word.
bool read_argument(const std::string& word, std::istream& line, Case& c);

std::string contents(const char* path);
// cos(1.3 i + phase), as protocol.py computes it.
Tensor weights(const Tensor& like, double phase);
// The sum of those of the tensors that are on the tape, each with weights of its own; empty if there are none.
Tensor weighted_sum(tg::Tape& tape, const TV& ys, double phase);
