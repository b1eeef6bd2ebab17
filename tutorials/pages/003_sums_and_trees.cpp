// Tutorial 003, sections 8.5.2 and 8.5.3: the addition task and the parser task.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/parser/tree_drawing.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

std::string tokens_as_row(const std::vector<int64_t>& tokens) { return fmt::format("{}", fmt::join(tokens, " ")); }

std::vector<Number> numbers_of_addition() {
  const Batch batch = addition_batch(tensor({153}), tensor({391}), 3);
  const auto shape = [](const Tensor& x) { return plain(str(x.shape())); };
  const Text why{
      "튜토리얼은 시드 없이 3,000단계를 학습했습니다. 오른쪽은 비교할 기준으로, 숫자와 기호 11개를 고르게 찍는 "
      "모델의 손실과 정확도입니다. `train addition --tutorial-masks`가 같은 학습을 합니다.",
      "The tutorial trained for 3,000 steps without a seed. Ours is what to compare with: loss and accuracy "
      "of guessing all 11 tokens alike. `train addition --tutorial-masks` repeats the training."};
  return {same("Maximum Digits", "3", std::to_string(AdditionTask::Settings{}.max_digits)),
          same("Original Tensor Shape (input)", "1 7", shape(batch.source)),
          same("Full Input", "1 5 3 10 3 9 1", rows_of(batch.source, 0)),
          same("Original Tensor Shape (target)", "1 3", shape(batch.target)),
          same("Actual Sum", "544", std::to_string(153 + 391)),
          same("Target Sequence", "5 4 4", rows_of(batch.target, 0)),
          drawn("Calculated Loss (Step: 3000)", "0.0106", fmt::format("{:.4f}", 3 * fixed::log(11.0)), why),
          drawn("Calculated Accuracy", "1.0000", fmt::format("{:.4f}", fixed::pow(11.0, -3)), why)};
}

// All problems of three digits, by their carries.
struct CarryCounts {
  std::vector<double> by_count = std::vector<double>(4);
  double chained = 0, with_zero = 0, zeros = 0;
};

CarryCounts count_carries() {
  CarryCounts counts;
  const auto zeros_of = [](int64_t n) { return (n % 10 == 0) + (n / 10 % 10 == 0) + (n / 100 == 0); };
  for (int64_t a = 0; a < 500; ++a) {
    for (int64_t b = 0; b < 500; ++b) {
      const Carries carries = carries_of(a, b);
      counts.by_count[static_cast<std::size_t>(carries.count)] += 100. / 250'000;
      counts.chained += carries.chained ? 100. / 250'000 : 0;
      const int zeros = zeros_of(a) + zeros_of(b);
      counts.zeros += zeros / 6. * 100. / 250'000;
      counts.with_zero += zeros > 0 ? 100. / 250'000 : 0;
    }
  }
  return counts;
}

std::vector<Figure> figures_of_addition() {
  const CarryCounts counts = count_carries();
  const Batch batch = addition_batch(tensor({310, 153, 499, 7}), tensor({98, 391, 499, 25}), 3);
  return {{{"네 문제의 입력 토큰(10은 +)과 답. 자릿수를 맞추는 0도 숫자 0과 같은 토큰입니다.",
            "Input tokens of four problems (10 is +), and their answers. Zeros that fill up a number are the same "
            "token as the digit 0."},
           {},
           {draw_matrix(said("Source"), batch.source.to(kFloat32), {"310+98", "153+391", "499+499", "7+25"},
                        {"a", "a", "a", "+", "b", "b", "b"}, 0, 20, 0),
            draw_matrix(said("Target"), batch.target.to(kFloat32), {"408", "544", "998", "32"}, {"c", "c", "c"}, 0, 20,
                        0)}},
          {{"학습에 나오는 250,000문제 가운데 자리 올림의 횟수(%). 연쇄는 올림이 다음 올림을 일으키는 문제입니다.",
            "The 250,000 problems of training by the number of carries (%). Chained: a carry causes the next one."},
           draw(drawing::BarChart{.title = said("Problems by carries, in percent"),
                                  .labels = {said("none"), said("one"), said("two"), said("three"), said("chained")},
                                  .series = {{.name = said("share"),
                                              .y = {counts.by_count[0], counts.by_count[1], counts.by_count[2],
                                                    counts.by_count[3], counts.chained}}},
                                  .width = 420})}};
}

// The tokens of 310+098 under the tutorial's padding mask, with scores of seed 0.
std::string sum_as_mask() {
  Generator generator(0);
  const Tensor ids = addition_batch(tensor({310}), tensor({98}), 3).source[0];
  return fmt::format(
      "{{\"tokens\":[\"3\",\"1\",\"0\",\"+\",\"0\",\"9\",\"8\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
      json_of(randn({7, 7}, kFloat32, &generator)), json_of((ids != 0).to(kFloat32).expand({7, 7})));
}

std::string hidden_digits() {
  const CarryCounts counts = count_carries();
  return said("digits that are 0, and so hidden:      {:.1f} %\nproblems with at least one such digit: {:.1f} %\n",
              counts.zeros, counts.with_zero);
}

std::string addition_loss() {
  const Tensor p = tensor({{0.1, 0.8, 0.1, 0., 0., 0., 0., 0., 0., 0.},
                           {0.1, 0.1, 0.7, 0.1, 0., 0., 0., 0., 0., 0.},
                           {0.8, 0.1, 0.1, 0., 0., 0., 0., 0., 0., 0.}})
                       .reshape({1, 3, 10});
  const Tensor target = tensor({{1, 2, 0}});
  return said("AdditionLoss of the numbers as logits: {:.4f}\nAdditionLoss of their logarithms:      {:.4f}\n",
              nn::sequence_loss(p, target).item(), nn::sequence_loss(log(p), target).item());
}

// Three examples, with the tutorial's tokens of expression and tree.
struct ParsedExample {
  std::string_view text, expression, tree;
};
constexpr ParsedExample kParsedExamples[] = {{"y=7/7", "12 1 21 5 21", "6 12 10 21 21"},
                                             {"x=4/3", "11 1 18 5 17", "6 11 10 18 17"},
                                             {"x=1*4", "11 1 15 4 18", "6 11 9 15 18"}};

std::vector<Number> numbers_of_parser() {
  const Tree shown = parse_expression("x=3+8");
  const std::vector<int64_t> in = expression_tokens(shown), out = linearise(shown, TreeForm::flat);
  const RunOptions options = ParserTask::defaults();
  const Text why{
      "튜토리얼은 숫자를 14 + d로 바꾸고 13을 빼서 되돌리므로 한 자리씩 크게 출력됩니다. 토큰 17과 22는 3과 "
      "8입니다.",
      "The tutorial encodes a digit as 14 + d and decodes it with 13, so each is printed one too high. The "
      "tokens 17 and 22 are 3 and 8."};
  std::vector<Number> numbers{
      same("Max Tokens", "5", std::to_string(in.size())),
      same("Original Tensor Shape", "1 5", fmt::format("1 {}", out.size())),
      different("Expression", "x = 4 + 9", spaced_text(in), why),
      same("Tokenized Input", "11 1 17 2 22", tokens_as_row(in)),
      same("Tokenized Output", "6 11 7 17 22", tokens_as_row(out)),
  };
  for (const ParsedExample& example : kParsedExamples) {
    const Tree tree = parse_expression(example.text);
    numbers.push_back(same(fmt::format("{}: Expression Tokens", example.text), example.expression,
                           tokens_as_row(expression_tokens(tree))));
    numbers.push_back(same(fmt::format("{}: Tree Tokens", example.text), example.tree,
                           tokens_as_row(linearise(tree, TreeForm::flat))));
  }
  numbers.push_back(same("Batch Size", "64", std::to_string(options.batch_size)));
  numbers.push_back(same("Steps per Epoch", "100", std::to_string(options.steps_per_epoch)));
  return numbers;
}

std::vector<Figure> figures_of_parser() {
  return {
      {{"튜토리얼의 세 예제의 파스 트리", "The parse trees of the tutorial's three examples"},
       {},
       {draw_tree(parse_expression("y=7/7"), "y=7/7"), draw_tree(parse_expression("x=4/3"), "x=4/3"),
        draw_tree(parse_expression("x=1*4"), "x=1*4")}},
      {{"괄호와 우선순위가 있는 수식의 트리. 튜토리얼의 다섯 토큰으로는 쓸 수 없으며, tapegrad의 파서는 괄호 토큰으로 "
        "씁니다.",
        "The tree of an expression with parentheses and precedence. Five tokens cannot hold it; tapegrad's parser "
        "writes it with brackets."},
       draw_tree(parse_expression("x=(1+2)*3-4/5"), "x=(1+2)*3-4/5")}};
}

// The tree of y=7/7 while the decoder writes it: what it has read after the start, 0, under
// the causal mask; scores of seed 0.
std::string tree_as_mask() {
  Generator generator(0);
  return fmt::format(
      "{{\"tokens\":[\"0\",\"ASSIGN\",\"y\",\"DIV\",\"7\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
      json_of(randn({5, 5}, kFloat32, &generator)), json_of(tril(ones({5, 5}))));
}

std::string digits_one_too_high() {
  std::string out = said("printed by the tutorial    what its tokens mean\n");
  for (const auto& [printed, real] : {std::pair{"x=1+2 -> ADD 2 3", "x=1+2"}, {"y=3*4 -> MUL 4 5", "y=3*4"}})
    out += fmt::format("{:<26} {}\n", printed, list_text(linearise(parse_expression(real), TreeForm::flat)));
  return out;
}

std::string parser_loss() {
  const Tensor p = tensor({{0.1, 0.7, 0.1, 0.1, 0.},
                           {0.8, 0.1, 0., 0.1, 0.},
                           {0.1, 0., 0.1, 0.7, 0.1},
                           {0., 0.1, 0.8, 0., 0.1},
                           {0.1, 0.8, 0., 0.1, 0.},
                           {0.7, 0.1, 0.1, 0., 0.1},
                           {0.1, 0., 0.1, 0.1, 0.7},
                           {0., 0., 0.9, 0.1, 0.}})
                       .reshape({2, 4, 5});
  const Tensor target = tensor({{1, 0, 3, 2}, {1, 0, 4, 2}});
  return said("loss of the numbers as logits: {:.4f}\nloss of their logarithms:      {:.4f}\n",
              nn::sequence_loss(p, target).item(), nn::sequence_loss(log(p), target).item());
}

}  // namespace

const Page k003_8_5_2{
    .tutorial = "003",
    .section = "8.5.2",
    .title = {"자릿수 덧셈 문제", "The addition task"},
    .about = {"두 수의 자릿수와 + 기호를 읽고 합의 자릿수를 왼쪽부터 하나씩 씁니다. 자리 올림은 오른쪽에서 오므로 첫 "
              "자리를 쓸 때 이미 뒤를 모두 보아야 합니다. 숫자의 길이는 0을 채워 맞추는데, 튜토리얼은 그 0을 패딩으로 "
              "가립니다.",
              "The model reads the digits of two numbers with a plus sign, and writes the digits of their sum from the "
              "left. Carries come from the right, so it must have looked at everything before the first digit. Numbers "
              "are filled up with zeros, which the tutorial then masks as padding."},
    .lines = {{.what = {"크로스 어텐션으로 입력을 보는 디코더 층", "A decoder layer that looks at the input"},
               .pytorch = R"(later = torch.ones(3, 3).triu(1).bool()
hidden = layer(embedded, memory, tgt_mask=later))",
               .snippet = "003_transformer:decoder_layer"},
              {.what = {"자기회귀 생성", "Generation, digit by digit"},
               .pytorch = "text = torch.cat((text, scores[:, -1].argmax(-1, keepdim=True)), 1)",
               .snippet = "003_copy:answer"}},
    .numbers = numbers_of_addition,
    .figures = figures_of_addition,
    .touch =
        {{.widget = "mask",
          .what = {"310+98을 튜토리얼의 마스크로 가린 것입니다. 숫자 0의 두 열이 모든 행에서 사라집니다. \"모두 "
                   "보임\"을 누르면 tapegrad의 기본값이 됩니다.",
                   "310+98 under the tutorial's mask: the two columns of the digit 0 are gone from every row. \"all "
                   "visible\" is tapegrad's default."},
          .data = sum_as_mask}},
    .faults =
        {{.claim = {"패딩 마스크가 필수라고 하지만, 가려지는 것은 패딩이 아니라 숫자 0입니다.",
                    "The padding mask is called essential, but what it hides is the digit 0, not padding."},
          .proof = {"zfill이 길이를 맞추므로 패딩은 없습니다. 숫자 0의 토큰 번호가 패딩 번호 0과 같아서 입력의 모든 "
                    "0이 가려지고, 0의 임베딩은 학습되지 않습니다.",
                    "zfill gives all numbers one length, so there is no padding. The digit 0 has the id of "
                    "padding, so all zeros are hidden and the embedding of 0 never learns."},
          .shown = hidden_digits},
         {.claim = {"손실의 예는 확률을 로짓처럼 씁니다.", "The example of the loss uses probabilities as logits."},
          .proof = {"로그를 취해야 손으로 구한 0.803이 됩니다.", "Their logarithms give the 0.803 found by hand."},
          .shown = addition_loss}},
    .exercises =
        {{{"합을 오른쪽 자리부터 쓰게 하면 왜 더 쉬워집니까?",
           "Why would it be easier to write the sum from the right?"},
          {"각 자리를 쓸 때 필요한 것이 두 숫자와 바로 앞에서 생긴 올림뿐이기 때문입니다. 왼쪽부터 쓰면 첫 자리가 "
           "모든 자리의 올림에 달려 있습니다.",
           "Each digit then needs two digits and the carry just made. From the left, the first digit depends "
           "on all carries."}},
         {{"세 자리로 학습한 모델이 네 자리 덧셈을 전혀 하지 못하는 까닭은 무엇입니까?",
           "Why does a model trained on three digits fail completely on four?"},
          {"위치 임베딩이 학습한 자리까지만 있고, 네 자리에서는 같은 자리 값이 다른 위치에 놓입니다. `test "
           "addition`의 표에서 정확도가 0으로 떨어집니다.",
           "Positions beyond those of training have learnt nothing, and with four digits every place has "
           "another position. The tables of `test addition` fall to 0."}}},
    .commands =
        "tapegrad explain addition\ntapegrad train addition --tutorial-masks\n"
        "tapegrad test addition --expression 310+98",
    .terms =
        "덧셈 addition 자리 올림 carry 자기회귀 autoregressive AdditionLoss zfill 패딩 padding 일반화 generalisation"};

const Page k003_8_5_3{
    .tutorial = "003",
    .section = "8.5.3",
    .title = {"파서 태스크", "The parser task"},
    .about =
        {"x=1+2와 같은 수식을 읽고 그 파스 트리를 토큰의 열로 씁니다. 수식 1,200가지는 변수 셋, 연산자 넷, 숫자 두 "
         "자리로 이루어지며 트리는 언제나 다섯 토큰입니다. tapegrad의 파서는 같은 태스크에 더해 괄호와 우선순위가 "
         "있는 수식도 배웁니다.",
         "The model reads an expression such as x=1+2 and writes its parse tree as a sequence of tokens. There "
         "are 1,200 expressions of three variables, four operators and two digits, and a tree always has five "
         "tokens. Beyond that, tapegrad's parser learns expressions with parentheses and precedence."},
    .lines = {{.what = {"트랜스포머 전체: 인코더가 수식을, 디코더가 트리를 맡습니다.",
                        "The whole Transformer: the encoder reads the expression, the decoder writes the tree"},
               .pytorch = R"(memory = model.encode(src, src_mask)
hidden = model.decode(memory, src_mask, tgt, tgt_mask)
log_probs = model.generator(hidden))",
               .snippet = "003_transformer:whole"}},
    .numbers = numbers_of_parser,
    .figures = figures_of_parser,
    .touch =
        {{.widget = "mask",
          .what = {"디코더가 y=7/7의 트리를 쓰는 동안 읽은 토큰들입니다. 행마다 그다음 토큰을 맞히므로, 한 칸이라도 "
                   "대각선 위를 열면 답을 미리 보는 것입니다.",
                   "What the decoder has read while it writes the tree of y=7/7. Each row predicts the next token, so "
                   "a cell opened above the diagonal shows it the answer."},
          .data = tree_as_mask}},
    .faults =
        {{.claim = {"숫자가 하나씩 크게 되돌려져 x=1+2의 트리가 ADD 2 3으로, 9가 'a'로 출력됩니다.",
                    "Digits are decoded one too high: x=1+2 is printed as ADD 2 3, and 9 as 'a'."},
          .proof = {"숫자 d의 토큰은 14 + d인데 되돌릴 때 13을 뺍니다. 모델은 옳게 배웠고 출력만 틀립니다. "
                    "tapegrad는 두 방향에 모두 14를 씁니다.",
                    "The token of digit d is 14 + d, but 13 is subtracted to read it. The model is right and the "
                    "print is wrong; tapegrad uses 14 both ways."},
          .shown = digits_one_too_high},
         {.claim = {"데이터를 만드는 코드라며 create_addition_data를 다시 싣습니다.",
                    "The code that makes the data is a repetition of create_addition_data."},
          .proof = {"이 함수는 8.5.2절의 것으로 합을 만들 뿐 수식도 트리도 만들지 않습니다. 바로 위의 글이 설명하는 "
                    "함수는 generate_random_expression과 parse_to_tree입니다.",
                    "That function of section 8.5.2 makes sums, and neither expressions nor trees. The text above "
                    "it describes generate_random_expression and parse_to_tree."}},
         {.claim = {"손실을 \"평균\"이라고 설명하고, 예에서는 확률을 모델의 출력으로 씁니다.",
                    "The loss is described as a mean, and its example has probabilities as the model's output."},
          .proof =
              {"코드는 토큰에 대해서는 더하고 문장 수로만 나눕니다. 로그를 취해 넣으면 손으로 구한 1.101이 됩니다.",
               "The code sums over tokens and divides by the number of sequences alone. Logarithms give the "
               "1.101 found by hand."},
          .shown = parser_loss}},
    .exercises =
        {{{"서로 다른 수식은 모두 몇 개입니까?", "How many different expressions are there?"},
          {"3 · 4 · 10 · 10 = 1,200개입니다. 6에포크는 38,400개를 뽑으므로 거의 모든 수식이 학습에 나오며, 시험은 "
           "새로운 수식을 재지 못합니다.",
           "3 * 4 * 10 * 10 = 1,200. Six epochs draw 38,400, so nearly all occur in training, and the test "
           "measures nothing new."}},
         {{"트리를 괄호 없이 쓸 수 있는 까닭은 무엇입니까?", "Why does the tree need no brackets?"},
          {"연산자마다 자식의 수가 정해져 있으면 앞에서부터 읽는 순서(전위 표기)만으로 트리가 하나로 정해집니다.",
           "If each operator has a fixed number of children, the order of reading from the front (prefix "
           "notation) determines the tree."}}},
    .commands =
        "tapegrad explain parser\ntapegrad train parser\ntapegrad test parser\n"
        "tapegrad explain parser --expression \"x=(1+2)*3\"",
    .terms =
        "파서 parser 파스 트리 parse tree 수식 expression 토큰 사전 ASSIGN ADD SUB MUL DIV 전위 표기 prefix "
        "generate_random_expression"};

}  // namespace tapegrad::tasks::tutorial
