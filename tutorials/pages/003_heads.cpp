// Tutorial 003, sections 8.2.4 and 8.2.6: multi-head attention, and what a head is.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// The weights [heads, 6, 6] of an untrained multi-head attention of width 64 over six random words.
Tensor weights_of_heads(int64_t heads) {
  manual_seed(0);
  const nn::MultiHeadAttention attention(64, heads);
  const Tensor words = randn({1, 6, 64});
  Tensor weights;
  static_cast<void>(attention(words, words, words, {.weights = &weights}));
  return weights[0];
}

std::vector<Number> numbers_of_heads() {
  std::string rows = "heads  parameters  multiplications of q k^T  powers of softmax\n";
  for (const int64_t heads : {1, 4, 16}) {
    const nn::MultiHeadAttention attention(64, heads);
    constexpr int64_t kTokens = 128;
    rows += fmt::format("{:>5} {:>11} {:>24} {:>18}\n", heads, nn::count_parameters(attention),
                        heads * kTokens * kTokens * (64 / heads), heads * kTokens * kTokens);
  }
  return {own({"폭 64인 어텐션을 헤드 1, 4, 16개로 나눌 때의 파라미터와 토큰 128개의 계산량. 곱셈은 같고 소프트맥스의 "
               "지수만 헤드 수에 비례합니다.",
               "Attention of width 64 in 1, 4 and 16 heads: parameters, and work for 128 tokens. Multiplications are "
               "the same; only the powers of softmax grow with the heads."},
              rows),
          own({"첫 헤드의 가중치(시드 0): 행마다 합이 1입니다.",
               "The weights of the first head (seed 0): each row adds up to 1."},
              rows_of(weights_of_heads(4)[0], 4))};
}

std::string heads_as_player() {
  return json_of_heads(weights_of_heads(4), {"학습 전의 네 헤드", "four untrained heads"}, journey_words(),
                       journey_words());
}

std::vector<Figure> figures_of_heads() {
  const std::vector<std::string>& words = journey_words();
  const Tensor weights = weights_of_heads(4);
  std::vector<drawing::Drawing> maps;
  for (int64_t h = 0; h < 4; ++h) maps.push_back(draw_matrix(said("Head {}", h + 1), weights[h], words, words, 0, 0.5));
  return {{{"학습 전의 네 헤드: 같은 여섯 단어를 헤드마다 다르게 봅니다. 행은 쿼리, 열은 키이며 각 행의 합은 1입니다.",
            "Four untrained heads look at the same six words differently. Rows are queries, columns keys; each row "
            "sums to 1."},
           {},
           maps}};
}

// The deviation of scores of random queries and keys before and after the division, by the size of a head.
std::string deviations_of_scores() {
  Generator generator(0);
  std::string out = "head_dim  q . k   q . k / sqrt(head_dim)\n";
  for (const int64_t dim : {16, 64, 256}) {
    const Tensor q = randn({500, dim}, kFloat64, &generator), k = randn({500, dim}, kFloat64, &generator);
    const double deviation = std(matmul(q, k.t())).item();
    out += fmt::format("{:>8} {:>6.2f} {:>8.2f}\n", dim, deviation, deviation / std::sqrt(static_cast<double>(dim)));
  }
  return out;
}

// The heads of the four meanings, as in the program.
struct HeadSize {
  std::string_view name;
  int64_t parameters;
};

std::vector<HeadSize> sizes_of_heads() {
  const auto linear = [](int64_t in, int64_t out) { return nn::count_parameters(nn::Linear(in, out)); };
  return {{translatable("1. classes"), linear(64, 10)},
          {translatable("2. classes"), linear(32, 20)},
          {translatable("2. boxes"), linear(32, 4)},
          {translatable("3. attention"), nn::count_parameters(nn::MultiHeadAttention(64, 4))},
          {translatable("4. words"), linear(64, 50)},
          {translatable("4. sentence"), linear(64, 2)},
          {translatable("4. patches"), nn::count_parameters(nn::Conv2d(3, 64, 4, {.stride = 4}))}};
}

std::vector<Number> numbers_of_meanings() {
  std::string rows;
  for (const HeadSize& one : sizes_of_heads()) rows += fmt::format("{:<15} {:>6}\n", one.name, one.parameters);
  return {own({"프로그램의 헤드마다의 파라미터 수. 마지막 층인 헤드는 작고, 층 안의 어텐션은 큽니다.",
               "Parameters of each head of the program. Heads that are last layers are small, attention inside of a "
               "layer is large."},
              rows)};
}

std::vector<Figure> figures_of_meanings() {
  drawing::Series parameters{said("parameters")};
  std::vector<std::string> labels;
  for (const HeadSize& one : sizes_of_heads()) {
    labels.push_back(said(one.name));
    parameters.y.push_back(static_cast<double>(one.parameters));
  }
  return {{{"프로그램에서 \"헤드\"라고 부르는 것들의 크기. 앞의 숫자는 네 가지 뜻의 번호입니다.",
            "The sizes of what the program calls a head. Digits are the numbers of the four meanings."},
           draw(drawing::BarChart{
               .title = said("Parameters of heads"), .labels = labels, .series = {parameters}, .width = 620})}};
}

std::string heads_as_formula() {
  return json_of({{"d", {"몸통의 특성 d개", "d features of the backbone"}, 16, 1024, 16, 64},
                  {"c", {"출력 c개 (클래스, 단어)", "c outputs (classes, words)"}, 2, 1000, 1, 10},
                  {"h", {"어텐션 헤드 h개", "h heads of attention"}, 1, 16, 1, 4}},
                 {{{"마지막 층: c(d + 1)", "last layer: c(d + 1)"}, "[\"*\",\"c\",[\"+\",\"d\",1]]"},
                  {{"어텐션 전체: 4d(d + 1)", "all of attention: 4d(d + 1)"}, "[\"*\",4,\"d\",[\"+\",\"d\",1]]"},
                  {{"헤드 하나의 몫", "share of one head"}, "[\"/\",[\"*\",4,\"d\",[\"+\",\"d\",1]],\"h\"]"}});
}

}  // namespace

const Page k003_8_2_4{
    .tutorial = "003",
    .section = "8.2.4",
    .title = {"멀티헤드 어텐션과 병렬 처리", "Multi-head attention"},
    .about = {"쿼리, 키, 값을 헤드 수만큼 작은 조각으로 나누어 헤드마다 따로 어텐션을 계산하고, 이어 붙인 결과를 한 번 "
              "더 투영합니다. 각 "
              "헤드는 자기만의 가중치 행렬을 가지므로 한 층이 여러 관계를 동시에 볼 수 있습니다. 점수는 모델의 차원이 "
              "아니라 헤드의 "
              "차원의 제곱근으로 나눕니다.",
              "Queries, keys and values are cut into one small piece per head, each head attends on its own, and the "
              "joined results "
              "are projected once more. Every head has weights of its own, so one layer can look at several relations "
              "at a time. "
              "Scores are divided by the root of the size of a head, not of the model."},
    .lines = {{.what = {"헤드 넷으로 나눈 어텐션과 헤드별 가중치", "Attention in four heads, with the weights of each"},
               .pytorch = R"(attention = nn.MultiheadAttention(64, 4, batch_first=True)
output, weights = attention(words, words, words,
                            average_attn_weights=False)   # [2, 4, 5, 5])",
               .snippet = "003_heads:attention"}},
    .numbers = numbers_of_heads,
    .figures = figures_of_heads,
    .touch =
        {{.widget = "attention",
          .what = {"단어를 하나 골라 네 헤드가 그 단어의 행에서 어디를 보는지 비교하십시오. 학습 전이므로 모든 헤드가 "
                   "고르게 보지만, 이미 서로 다릅니다.",
                   "Choose a word, and compare where the four heads look in its row. They are untrained and look "
                   "nearly everywhere alike, yet each is different."},
          .data = heads_as_player}},
    .faults =
        {{.claim = {"헤드를 나누면 큰 차원 하나로 계산할 때보다 계산 비용이 적다고 합니다.",
                    "Several small heads are said to cost less than one large one."},
          .proof = {"투영의 비용은 같고, 점수의 비용도 헤드 h개 × n² × (d/h) = n² d로 같습니다. 소프트맥스는 오히려 "
                    "h배입니다. 이점은 "
                    "비용이 아니라 여러 관계를 나누어 보는 데 있습니다.",
                    "Projections cost the same, and so do the scores: h heads of n² d/h make n² d. Softmax even costs "
                    "h times "
                    "as much. What heads buy is several relations at a time."}},
         {.claim = {"점수를 나누지 않으면 내적이 지나치게 커진다는 말은 옳지만, 수로 확인하지 않습니다.",
                    "That dot products get too large without the division is right, but not shown in numbers."},
          .proof =
              {"평균 0, 분산 1인 쿼리와 키의 내적은 표준편차가 헤드 차원의 제곱근입니다. 나누면 언제나 약 1입니다.",
               "Dot products of queries and keys of mean 0 and variance 1 have the root of the head's size as "
               "deviation; "
               "divided, it is always about 1."},
          .shown = deviations_of_scores}},
    .exercises =
        {{{"은닉 768, 헤드 12일 때 파라미터는 몇 개입니까? 헤드가 24개라면?",
           "How many parameters are there with 768 features and 12 heads, and with 24 heads?"},
          {"4 · (768 · 768 + 768) = 2,362,368개이며 헤드 수와 무관합니다.",
           "4 (768 * 768 + 768) = 2,362,368, whatever the number of heads."}},
         {{"은닉 크기가 3이고 헤드가 2개이면 왜 안 됩니까?", "Why can a width of 3 not have 2 heads?"},
          {"헤드마다 같은 몫을 가져야 하기 때문입니다. tapegrad는 모델을 만들 때 어느 수가 맞지 않는지 알려 줍니다.",
           "Each head takes an equal share. tapegrad names the two numbers when the model is made."}}},
    .commands = "tapegrad attention copy\ntapegrad attention copy --analyze",
    .terms = "멀티헤드 multi-head 헤드 head d_k 스케일 scale W_O concat BERT"};

const Page k003_8_2_6{
    .tutorial = "003",
    .section = "8.2.6",
    .title = {"헤드 의미의 변천", "What a head was and is"},
    .about = {"헤드는 처음에 특징을 예측으로 바꾸는 마지막 층이었고, 다중 태스크 학습에서는 한 몸통(backbone)에서 "
              "갈라지는 여러 "
              "출력이 되었습니다. "
              "트랜스포머에서는 층 안에서 나란히 일하는 어텐션 모듈을 뜻합니다. 프로그램 하나가 네 가지 뜻을 모두 "
              "만들고 모양을 "
              "출력합니다.",
              "A head was the last layer, which turns features into predictions; with several tasks it became one of "
              "several outputs "
              "on one backbone. In a Transformer it is an attention module that works next to others inside of a "
              "layer. One program "
              "makes all four and prints their shapes."},
    .lines = {{.what = {"1. 몸통 위의 헤드 하나", "1. One head on a backbone"},
               .pytorch = R"(backbone = nn.Sequential(nn.Linear(784, 128), nn.ReLU(),
                         nn.Linear(128, 64), nn.ReLU())
head = nn.Linear(64, 10)
output = head(backbone(x)))",
               .snippet = "003_heads:simple"},
              {.what = {"2. 몸통 하나에 헤드 여럿: 튜토리얼의 ResNet50 대신 작은 ResNet",
                        "2. Several heads on one backbone: a small ResNet in place of the tutorial's ResNet50"},
               .pytorch =
                   "features = backbone(images)\nclasses, boxes = classification_head(features), bbox_head(features)",
               .snippet = "003_heads:tasks"},
              {.what = {"3. 층 안의 어텐션 헤드", "3. Heads of attention, inside"},
               .pytorch = "output, weights = nn.MultiheadAttention(64, 4, batch_first=True)(x, x, x)",
               .snippet = "003_heads:attention"},
              {.what = {"4. 트랜스포머 위의 헤드: 태스크마다 하나, 그리고 이미지의 패치",
                        "4. Heads on a Transformer, one per task, and patches of images"},
               .pytorch = "masked_words, next_sentence = nn.Linear(64, 50), nn.Linear(64, 2)\npatches = nn.Conv2d(3, "
                          "64, 4, stride=4)",
               .snippet = "003_heads:transformer"}},
    .numbers = numbers_of_meanings,
    .figures = figures_of_meanings,
    .touch =
        {{.widget = "formula",
          .what =
              {"몸통의 폭과 출력 수를 바꾸면 두 종류의 헤드가 얼마나 커지는지 비교하십시오. 마지막 층은 d에 비례하고 "
               "어텐션은 d의 제곱에 비례합니다.",
               "Change the width of the backbone and the number of outputs. A last layer grows with d, "
               "attention with the square of d."},
          .data = heads_as_formula}},
    .faults =
        {{.claim = {"비전 트랜스포머의 패치 임베딩을 \"헤드\"의 예로 듭니다.",
                    "The patch embedding of a vision Transformer is given as an example of a head."},
          .proof = {"패치 임베딩은 입력층입니다. 논문의 헤드는 분류 토큰에 붙는 마지막 층입니다(Dosovitskiy 외, 2021).",
                    "It is the input layer. The paper's head is the last layer, on the class token (Dosovitskiy et al. "
                    "2021)."}}},
    .exercises =
        {{{"한 몸통에 헤드가 둘일 때 몸통의 기울기는 어떻게 정해집니까?",
           "With two heads on a backbone, what is the gradient of the backbone?"},
          {"두 손실의 합을 미분하므로 두 헤드에서 온 기울기의 합입니다. 손실의 크기가 다르면 한쪽이 몸통을 지배합니다.",
           "The sum of the gradients from both heads. If the losses differ in size, one of them dominates the "
           "backbone."}}},
    .commands = "tapegrad tutorial 003 8.2.4",
    .terms = "헤드 head backbone ResNet 다중 태스크 multi-task ViT patch LM MLM NSP"};

}  // namespace tapegrad::tasks::tutorial
