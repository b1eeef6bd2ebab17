// The losses, masks and data of tutorial 003, section 8.5, method by method in plain operations: what the commands
// `train copy`, `addition` and `parser` do with the library's types.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks::tutorial003 {

// [masks]
// ids [B, S] -> bool [B, 1, 1, S]: true where there is a token, for all heads and queries.
inline Tensor create_pad_mask(const Tensor& ids) { return (ids != 0).reshape({ids.size(0), 1, 1, ids.size(1)}); }
// -> bool [T, T]: true where a key is not later than the query.
inline Tensor create_subsequent_mask(int64_t size) { return triu(ones({size, size}), 1) == 0; }
// [/masks]

// [loss]
// outputs [B, T, V], target [B, T] -> the loss, and the share of sequences whose tokens are all right. AdditionLoss and
// the parser's loss are the same. `outputs` are log-probabilities, whose softmax is the probabilities again.
struct CopyLoss {
  std::pair<Tensor, double> operator()(const Tensor& outputs, const Tensor& target) const {
    const Tensor predictions = softmax(outputs);
    const Tensor target_one_hot = one_hot(target, outputs.size(-1)).to(outputs.dtype());
    const Tensor loss = -sum(target_one_hot * log(predictions + 1e-10)) / static_cast<double>(outputs.size(0));
    const Tensor exact_match = all(argmax(predictions.detach(), -1) == target, 1).to(kFloat32);
    return {loss, mean(exact_match).item()};
  }
};
struct AdditionLoss : CopyLoss {};
struct ParserLoss : CopyLoss {};
// [/loss]

// [copy_data]
// Sequences of the tokens 1 to 19; what is copied is the target.
inline Tensor create_copy_data(int64_t batch_size, int64_t seq_length) {
  return randint(1, 20, {batch_size, seq_length});
}
// [/copy_data]

// [addition_data]
// numbers int64 [B] -> their digits [B, max_digits], filled up with zeros on the left: 25 is 0 2 5.
inline Tensor number_to_digits(const Tensor& numbers, int64_t max_digits) {
  std::vector<int64_t> digits;
  for (int64_t number : numbers.to_vector<int64_t>()) {
    std::vector<int64_t> own(static_cast<std::size_t>(max_digits));
    for (auto digit = own.rbegin(); digit != own.rend(); ++digit, number /= 10) *digit = number % 10;
    digits.insert(digits.end(), own.begin(), own.end());
  }
  return tensor(digits, {numbers.size(0), max_digits});
}

// -> the digits of both numbers with a plus sign (token 10) between them, and those of their sum.
inline std::pair<Tensor, Tensor> create_addition_data(int64_t batch_size, int64_t max_digits = 3) {
  const auto most = static_cast<int64_t>(std::pow(10, max_digits)) - 1;
  const Tensor num1 = randint(0, most / 2 + 1, {batch_size}), num2 = randint(0, most / 2 + 1, {batch_size});
  const Tensor plus = zeros({batch_size, 1}, kInt64) + 10;
  return {cat({number_to_digits(num1, max_digits), plus, number_to_digits(num2, max_digits)}, 1),
          number_to_digits(num1 + num2, max_digits)};
}
// [/addition_data]

// [parser_data]
// The ids of tokens: signs from 1, the parts of trees from 6, variables from 11, and the digit d at 14 + d.
inline int64_t token_id(std::string_view token) {
  static const std::map<std::string_view, int64_t> kTokens{
      {"=", 1},   {"+", 2},   {"-", 3},    {"*", 4},  {"/", 5},  {"ASSIGN", 6}, {"ADD", 7},
      {"SUB", 8}, {"MUL", 9}, {"DIV", 10}, {"x", 11}, {"y", 12}, {"z", 13}};
  const auto known = kTokens.find(token);
  return known != kTokens.end() ? known->second : 14 + (token[0] - '0');
}

// "x=1+2" -> its tokens, x = 1 + 2, and those of its tree in prefix order, ASSIGN x ADD 1 2.
inline std::pair<std::vector<int64_t>, std::vector<int64_t>> tokens_and_tree(const std::string& expression) {
  static const std::map<char, std::string_view> kNames{{'+', "ADD"}, {'-', "SUB"}, {'*', "MUL"}, {'/', "DIV"}};
  std::vector<int64_t> tokens, tree{token_id("ASSIGN")};
  for (const char c : expression) tokens.push_back(token_id({&c, 1}));
  for (const std::string_view part :
       {std::string_view(expression).substr(0, 1), kNames.at(expression[3]), std::string_view(expression).substr(2, 1),
        std::string_view(expression).substr(4, 1)})
    tree.push_back(token_id(part));
  return {tokens, tree};
}
// [/parser_data]

}  // namespace tapegrad::tasks::tutorial003
