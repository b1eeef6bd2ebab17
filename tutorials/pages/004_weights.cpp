// Tutorial 004, cells 15 to 27: queries, keys and values, scores divided by the root of their size, and self-attention
// as a module.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/attention.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// Cells 16 to 24: three matrices drawn with seed 123, and what they make of the words.
struct Projected {
  Tensor w_query, w_key, w_value, queries, keys, values;
  Projected() {
    manual_seed(123);
    w_query = rand({3, 2}), w_key = rand({3, 2}), w_value = rand({3, 2});
    const Tensor x = journey_vectors();
    queries = matmul(x, w_query), keys = matmul(x, w_key), values = matmul(x, w_value);
  }
};

std::string shape_as_printed(const Tensor& x) { return plain(str(x.shape())); }

std::vector<Number> numbers_of_projections() {
  const Projected made;
  const Tensor x_2 = journey_vectors()[1];
  return {same("cell 16: x_2", "0.5500 0.8700 0.6600", rows_of(x_2, 4)),
          same("cell 18: query_2", "0.4306 1.4551", rows_of(matmul(x_2, made.w_query), 4)),
          same("cell 18: x_2.shape", "3", shape_as_printed(x_2)),
          same("cell 18: W_query.shape", "3 2", shape_as_printed(made.w_query)),
          same("cell 18: query_2.shape", "2", shape_as_printed(made.queries[1])),
          same("cell 19: keys.shape", "6 2", shape_as_printed(made.keys)),
          same("cell 19: values.shape", "6 2", shape_as_printed(made.values)),
          same("cell 20: attn_score_22", "1.8524", rows_of(matmul(made.queries[1], made.keys[1]), 4))};
}

std::vector<Figure> figures_of_projections() {
  const Projected made;
  const std::vector<std::string>& words = journey_words();
  return {{{"여섯 단어의 쿼리, 키, 값(시드 123)과 점수. 쿼리와 키가 다르므로 점수 행렬은 대칭이 아닙니다.",
            "Queries, keys and values of the six words (seed 123), and the scores. Queries are not keys, so the scores "
            "are not symmetric."},
           {},
           {draw_matrix(said("Queries"), made.queries, words, {"1", "2"}, 0, 1.5),
            draw_matrix(said("Keys"), made.keys, words, {"1", "2"}, 0, 1.5),
            draw_matrix(said("Values"), made.values, words, {"1", "2"}, 0, 1.5),
            draw_matrix(said("Scores"), matmul(made.queries, made.keys.t()), words, words, 0, 2)}}};
}

// With queries and keys of their own.
std::string journey_as_queries() {
  const Projected made;
  return fmt::format(
      "{{\"tokens\":{},\"vectors\":{},\"queries\":{},\"keys\":{},\"values\":{},\"query\":1,\"scale\":true}}",
      json_of(journey_words()), json_of(journey_vectors()), json_of(made.queries), json_of(made.keys),
      json_of(made.values));
}

std::vector<Number> numbers_of_modules() {
  const Projected made;
  const Tensor query_2 = made.queries[1], scores_2 = matmul(query_2, made.keys.t());
  const Tensor weights_2 = softmax(scores_2 / std::sqrt(2.0)), x = journey_vectors();
  manual_seed(123);
  const SelfAttentionV1 first(3, 2);
  manual_seed(789);
  const SelfAttentionV2 second(3, 2);
  return {same("cell 21: query_2 @ keys_2", "1.8524", rows_of(matmul(query_2, made.keys[1]), 4)),
          same("cell 22: attn_scores_2", "1.2705 1.8524 1.8111 1.0795 0.5577 1.5440", rows_of(scores_2, 4)),
          same("cell 23: attn_weights_2", "0.1500 0.2264 0.2199 0.1311 0.0906 0.1820", rows_of(weights_2, 4)),
          same("cell 24: context_vec_2", "0.3061 0.8210", rows_of(matmul(weights_2, made.values), 4)),
          same("cell 25: sa_v1(inputs)",
               "0.2996 0.8053\n0.3061 0.8210\n0.3058 0.8203\n0.2948 0.7939\n0.2927 0.7891\n0.2990 0.8040",
               rows_of(first(x), 4)),
          same("cell 27: sa_v2(inputs)",
               "-0.0739 0.0713\n-0.0748 0.0703\n-0.0749 0.0702\n-0.0760 0.0685\n-0.0763 0.0679\n-0.0754 0.0693",
               rows_of(second(x), 4))};
}

// The mean of the largest weight of 200 rows over 16 keys, by the size of queries and keys.
std::vector<Figure> figures_of_scale() {
  Generator generator(0);
  drawing::Series bare{"q · k"}, scaled{"q · k / √d"};
  for (const int64_t d : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const Tensor q = randn({200, d}, kFloat64, &generator), k = randn({16, d}, kFloat64, &generator);
    const Tensor scores = matmul(q, k.t());
    const auto add = [&](drawing::Series& to, const Tensor& of) {
      to.x.push_back(static_cast<double>(d));
      to.y.push_back(mean(amax(softmax(of), {-1})).item());
    };
    add(bare, scores);
    add(scaled, scores / std::sqrt(static_cast<double>(d)));
  }
  const Projected made;
  const Tensor scores = matmul(made.queries, made.keys.t());
  const std::vector<std::string>& words = journey_words();
  return {{{"25번 셀의 가중치: √2로 나눈 것과 나누지 않은 것. 차원이 2뿐이라 차이가 작습니다.",
            "The weights of cell 25, with and without the division by √2; with two dimensions they differ little."},
           {},
           {draw_matrix(said("Scaled by √2"), softmax(scores / std::sqrt(2.0)), words, words, 0, 0.4),
            draw_matrix(said("Not scaled"), softmax(scores), words, words, 0, 0.4)}},
          {{"무작위 쿼리와 16개의 키에서 가장 큰 가중치의 평균을 차원 d에 따라 그린 것. 나누지 않으면 d가 커질수록 1에 "
            "가까워져 기울기가 사라집니다.",
            "The mean of the largest of 16 weights of random queries and keys, by their size d. Without the division "
            "it approaches 1, where gradients vanish."},
           draw(drawing::LineChart{.title = said("Largest weight, by the size of a key"),
                                   .x_label = "d",
                                   .y_label = said("weight"),
                                   .series = {bare, scaled},
                                   .y_low = 0,
                                   .y_high = 1,
                                   .width = 520})}};
}

// The largest weight of V2's layers, and the bound of their uniform draw.
std::string bound_of_linear() {
  manual_seed(0);
  const nn::Linear layer(300, 200, false);
  const double bound = 1 / std::sqrt(300.0), xavier = std::sqrt(6.0 / 500);
  return said(
      "largest weight of Linear(300, 200): {:.4f}\n1 / sqrt(300):                    {:.4f}\n"
      "Xavier, sqrt(6 / (300 + 200)):    {:.4f}\n",
      amax(abs(layer.weight.tensor())).item(), bound, xavier);
}

}  // namespace

const Page k004_15{
    .tutorial = "004",
    .section = "15-20",
    .title = {"쿼리, 키, 값: 학습할 수 있는 세 행렬", "Query, key and value: three trainable matrices"},
    .about =
        {"단어 벡터를 그대로 비교하는 대신 세 가중치 행렬로 쿼리, 키, 값을 만듭니다. 여기서는 3차원 입력을 2차원으로 "
         "투영하며, 시드 123에서 PyTorch와 같은 난수를 뽑습니다. 점수는 쿼리와 키의 내적이고, 섞이는 것은 값입니다.",
         "Instead of comparing the words themselves, three matrices make a query, a key and a value of each. Here "
         "three numbers become two, and seed 123 draws the same numbers as PyTorch. Scores are dot products of "
         "queries and keys, and what is mixed are the values."},
    .lines = {{.what = {"세 행렬과 둘째 단어의 쿼리", "Three matrices, and the query of the second word"},
               .pytorch = R"(torch.manual_seed(123)
w_query, w_key, w_value = (torch.rand(3, 2) for _ in range(3))
query_2 = inputs[1] @ w_query
keys, values = inputs @ w_key, inputs @ w_value)",
               .snippet = "004_attention_step_by_step:projections"}},
    .numbers = numbers_of_projections,
    .figures = figures_of_projections,
    .touch = {{.widget = "words",
               .what = {"쿼리와 키를 따로 움직여 보십시오. journey의 쿼리를 바꾸면 점수의 한 행만 바뀌고, 키를 바꾸면 "
                        "한 열이 바뀝니다.",
                        "Move queries and keys separately. The query of journey changes one row of the scores, its key "
                        "one column."},
               .data = journey_as_queries}},
    .exercises = {{{"잔차 연결이 있는 모델에서 값의 차원(헤드를 합친 것)이 보통 입력과 같은 이유는 무엇입니까?",
                    "Why do the values of all heads together usually have the width of the input in a model with "
                    "residual connections?"},
                   {"어텐션의 출력을 입력에 더하려면 모양이 같아야 하기 때문입니다. 다르게 하려면 출력을 다시 입력의 "
                    "차원으로 투영하면 됩니다.",
                    "The output is added to the input, so their shapes must agree. Otherwise one more projection back "
                    "to the width of the input does it."}},
                  {{"W_query와 W_key를 같은 행렬로 하면 점수는 어떻게 됩니까?",
                    "What happens to the scores if W_query and W_key are one matrix?"},
                   {"점수가 대칭이 됩니다. 그러면 \"a가 b를 본다\"와 \"b가 a를 본다\"의 점수를 구별할 수 없습니다.",
                    "They become symmetric: the score of a looking at b is that of b looking at a."}}},
    .without = {kNoFault},
    .commands = "tapegrad show attention-steps --example journey\ntapegrad tutorial 003 8.2.3",
    .terms = "쿼리 query 키 key 값 value 투영 projection Parameter requires_grad 시드 seed manual_seed d_k d_model"};

const Page k004_21{
    .tutorial = "004",
    .section = "21-27",
    .title = {"√d로 나눈 점수와 셀프 어텐션 모듈", "Scores over √d, and self-attention as a module"},
    .about =
        {"점수를 키 차원의 제곱근으로 나눈 뒤 소프트맥스를 적용하고, 그 가중치로 값을 평균합니다. 같은 계산을 모듈로 "
         "두 번 만드는데, 하나는 행렬을 직접 두고 다른 하나는 선형층을 씁니다. 두 모듈의 출력이 다른 까닭은 계산이 "
         "아니라 초깃값과 시드가 다르기 때문입니다.",
         "Scores are divided by the root of the size of a key, a softmax follows, and its weights average the "
         "values. The same is written as a module twice, once with bare matrices and once with linear layers. "
         "Their outputs differ only because their initial weights and seeds do."},
    .lines = {{.what = {"점수, 스케일, 소프트맥스, 문맥 벡터", "Scores, scale, softmax, context"},
               .pytorch = "scores = query_2 @ keys.T\nweights = (scores / keys.shape[-1] ** 0.5).softmax(dim=-1)\n"
                          "context = weights @ values",
               .snippet = "004_attention_step_by_step:scaled"},
              {.what = {"행렬을 직접 둔 모듈(25번 셀)", "The module with bare matrices (cell 25)"},
               .pytorch = R"(class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v)",
               .snippet = "attention.h:v1"},
              {.what = {"선형층을 쓴 모듈(27번 셀)", "The module with linear layers (cell 27)"},
               .pytorch = "self.W_query = nn.Linear(d_in, d_out, bias=False)   # and key, value\nq = self.W_query(x)",
               .snippet = "attention.h:v2"}},
    .numbers = numbers_of_modules,
    .figures = figures_of_scale,
    .touch = {{.widget = "words",
               .what = {"√d로 나누기를 켜고 끄면서 가중치를 비교하십시오. 쿼리와 키를 길게 하면 차이가 커집니다.",
                        "Switch the division by √d on and off. With longer queries and keys the difference grows."},
               .data = journey_as_queries}},
    .faults =
        {{.claim = {"27번 셀의 주석은 nn.Linear가 Xavier 초기화를 한다고 합니다.",
                    "A comment of cell 27 says that nn.Linear initialises by Xavier's rule."},
          .proof = {"nn.Linear의 가중치는 ±1/√(입력 수) 사이의 균등분포에서 나오며, 출력 수는 쓰이지 않습니다. "
                    "tapegrad의 Linear도 같으며, 최댓값을 재어 보면 알 수 있습니다.",
                    "Its weights are uniform between ±1/√(inputs), and the number of outputs plays no part. "
                    "tapegrad's Linear is the same; the largest of many weights shows the bound."},
          .shown = bound_of_linear},
         {.claim = {"25번과 27번 셀의 코드는 keys.T를 쓰므로 배치를 받지 못합니다. 25번 셀의 주석도 그렇게 적습니다.",
                    "The code of cells 25 and 27 has keys.T and so takes no batch, as a comment of cell 25 warns."},
          .proof = {".T는 모든 축을 뒤집으므로 3차원 입력에서는 틀립니다. 38번 셀은 transpose(1, 2)를 씁니다. "
                    "tapegrad의 t()는 마지막 두 축만 바꾸므로 배치에도 그대로 쓸 수 있습니다.",
                    ".T reverses all axes, which is wrong for a batch; cell 38 uses transpose(1, 2). tapegrad's "
                    "t() exchanges the two last axes, with a batch or without."}}},
    .exercises = {{{"V2의 가중치를 V1에 옮기면 같은 출력이 나옵니까? 무엇에 주의해야 합니까?",
                    "Does V1 with V2's weights give V2's output? What has to be observed?"},
                   {"그렇습니다. 다만 선형층의 가중치는 [출력, 입력]으로 저장되므로 전치해서 옮겨야 합니다. tapegrad의 "
                    "테스트가 1e-7 이내로 같음을 확인합니다.",
                    "Yes, but a linear layer stores its weights as [outputs, inputs], so they have to be transposed. A "
                    "test of tapegrad finds the outputs equal to 1e-7."}},
                  {{"왜 d가 아니라 √d로 나눕니까?", "Why is the divisor √d and not d?"},
                   {"평균 0, 분산 1인 수 d쌍의 곱을 더하면 분산이 d, 표준편차가 √d입니다. √d로 나누어야 표준편차가 "
                    "1이 되며, d로 나누면 차원이 클수록 가중치가 평평해집니다.",
                    "A sum of d products of numbers with mean 0 and variance 1 has variance d, deviation √d. Over √d "
                    "the deviation is 1; over d, weights would become flat in large dimensions."}}},
    .commands = "tapegrad show attention-steps --example journey\ntapegrad tutorial 003 8.2.4",
    .terms = "스케일 scale sqrt d_k 모듈 module SelfAttention nn.Linear Xavier 초기화 initialisation transpose bias"};

}  // namespace tapegrad::tasks::tutorial
