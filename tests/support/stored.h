// Expected values of tests/data as JSON: reading them, the parameters that they belong to, and comparison.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/module.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tests {

// The path of a file or folder in tests/data.
std::string data_path(const std::string& name);
// GPT-2's vocabulary with its first 1000 merges.
inline const std::string kCut = data_path("gpt2_cut");
// The JSON in such a file, which is read once.
const Json& stored(const std::string& file);
// The JSON in a page, which its script reads.
Json json_in_page(const std::string& html);
// The value at a path such as "/model/merges/0", which is added if it is missing.
Json& at_path(Json& json, std::string_view path);
// The objects in the lines of a file.
std::vector<Json> json_lines(const std::string& path);
// The lines of a file of tests/ in pairs: a line, and below it one that begins with two spaces, which are left out; "-"
// is an empty text there. Of a file with sections, those below the line "== SECTION"; lines that begin with # and a
// space are comments.
std::vector<std::pair<std::string, std::string>> pairs_of_lines(const std::string& file,
                                                                const std::string& section = "");
// Expects that said(first) is the second of each of these pairs; in the first, ⏎ is a line feed and ␀ a NUL byte.
void expect_said(const std::string& file, const std::string& section,
                 const std::function<std::string(const std::string&)>& said);
// Rows of token ids as a tensor [B, T].
Tensor ids(const Json& rows);
// The bytes of a text of hexadecimal digits.
std::string bytes_of_digits(const Json& digits);

// Element i is ((37 i + 101 k) mod 257 - 128) / 256, as in tests/data/make_*.py.
Tensor filled(const Shape& shape, int64_t k);
// Sets the k-th parameter to filled(its shape, k); the scale of a norm to 1 + a quarter of that.
void set_weights(auto& model) {
  int64_t k = 0;
  for (const auto& [name, parameter] : nn::named_parameters(model)) {
    const Tensor values = filled(parameter->shape(), k++);
    parameter.set(name.ends_with("gamma") || name.ends_with("scale") ? 1 + values / 4 : values);
  }
}

// The largest allowed difference: absolute + relative |expected|.
struct Room {
  double relative, absolute;
};
// Compares all elements; reports the first one that is too far off, with `what`.
void expect_close(const Tensor& x, const Json& expected, Room room, const std::string& what);
// Compares the gradient of each parameter with the entry of `expected` under its name.
void expect_close_gradients(const auto& model, const Gradients& grads, const Json& expected, Room room) {
  for (const auto& [name, parameter] : nn::named_parameters(model))
    expect_close(grads[parameter], expected.at(name), room, name);
}

}  // namespace tapegrad::tests
