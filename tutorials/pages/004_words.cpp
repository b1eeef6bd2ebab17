// Tutorial 004, cells 1 to 14: attention without trainable weights, for one word and for all.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr std::string_view kOneQueryWeights = "0.1385 0.2379 0.2333 0.1240 0.1082 0.1581";
constexpr std::string_view kOneQueryContext = "0.4419 0.6515 0.5683";

Tensor one_query_scores() { return matmul(journey_vectors(), journey_vectors()[1]); }

std::vector<Number> numbers_of_one_query() {
  const Tensor x = journey_vectors(), query = x[1], scores = one_query_scores();
  const Tensor shares = scores / sum(scores), naive = exp(scores) / sum(exp(scores)), weights = softmax(scores);
  Tensor context = zeros({3});
  for (int64_t i = 0; i < 6; ++i) context = context + weights[i] * x[i];
  return {same("cell 3: attn_scores_2", "0.9544 1.4950 1.4754 0.8434 0.7070 1.0865", rows_of(scores, 4)),
          same("cell 4: res, and torch.dot", "0.9544", rows_of(sum(x[0] * query), 4)),
          same("cell 5: scores / scores.sum()", "0.1455 0.2278 0.2249 0.1285 0.1077 0.1656", rows_of(shares, 4)),
          same("cell 5: their sum", "1.0000", rows_of(sum(shares), 4)),
          same("cell 6: softmax_naive", kOneQueryWeights, rows_of(naive, 4)),
          same("cell 6: their sum", "1.", numpy_rows(sum(naive).reshape({1}))),
          same("cell 7: torch.softmax", kOneQueryWeights, rows_of(weights, 4)),
          same("cell 7: their sum", "1.", numpy_rows(sum(weights).reshape({1}))),
          same("cell 8: context_vec_2", kOneQueryContext, rows_of(context, 4))};
}

drawing::Series weights_as_bars(std::string name, const Tensor& weights) {
  return {.name = std::move(name), .x = {}, .y = weights.to_vector<double>()};
}

std::vector<Figure> figures_of_one_query() {
  const Tensor scores = one_query_scores().to(kFloat64);
  return {{{"journey가 여섯 단어에 주는 가중치: 합으로 나눈 것, 소프트맥스, 점수에 5를 곱한 뒤의 소프트맥스. 점수의 "
            "차이가 커질수록 소프트맥스는 가장 큰 점수로 쏠립니다.",
            "The weights that \"journey\" gives to the six words: scores over their sum, softmax, and softmax of 5 "
            "times the scores. The larger the differences, the more softmax favours the largest score."},
           draw(drawing::BarChart{.title = said("Weights of \"journey\""),
                                  .labels = journey_words(),
                                  .series = {weights_as_bars(said("over the sum"), scores / sum(scores)),
                                             weights_as_bars("softmax", softmax(scores)),
                                             weights_as_bars(said("softmax of 5x"), softmax(5 * scores))},
                                  .width = 560,
                                  .height = 200})}};
}

std::string journey_as_words() {
  return fmt::format("{{\"tokens\":{},\"vectors\":{},\"query\":1,\"scale\":false}}", json_of(journey_words()),
                     json_of(journey_vectors()));
}

std::string fourth_score() {
  const Tensor x = journey_vectors();
  return fmt::format("0.22 * 0.55 + 0.58 * 0.87 + 0.33 * 0.66 = {:.4f}\n", matmul(x[3], x[1]).item());
}

std::string weights_of_comment() {
  const std::vector<float> weights = softmax(one_query_scores()).to_vector<float>();
  return said("word    comment  weight\nYour     0.1386  {:.4f}\nstarts   0.2331  {:.4f}\nwith     0.1237  {:.4f}\n",
              weights[0], weights[2], weights[3]);
}

std::vector<Number> numbers_of_all_queries() {
  constexpr std::string_view kScores =
      "0.9995 0.9544 0.9422 0.4753 0.4576 0.6310\n0.9544 1.4950 1.4754 0.8434 0.7070 1.0865\n"
      "0.9422 1.4754 1.4570 0.8296 0.7154 1.0605\n0.4753 0.8434 0.8296 0.4937 0.3474 0.6565\n"
      "0.4576 0.7070 0.7154 0.3474 0.6654 0.2935\n0.6310 1.0865 1.0605 0.6565 0.2935 0.9450";
  const Tensor x = journey_vectors(), scores = matmul(x, x.t()), weights = softmax(scores);
  std::vector<Tensor> pairs;
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j) pairs.push_back(sum(x[i] * x[j]));
  return {same("cell 9: attn_scores, pair by pair", kScores, rows_of(stack(pairs).reshape({6, 6}), 4)),
          same("cell 10: inputs @ inputs.T", kScores, rows_of(scores, 4)),
          same("cell 11: attn_weights",
               "0.2098 0.2006 0.1981 0.1242 0.1220 0.1452\n0.1385 0.2379 0.2333 0.1240 0.1082 0.1581\n"
               "0.1390 0.2369 0.2326 0.1242 0.1108 0.1565\n0.1435 0.2074 0.2046 0.1462 0.1263 0.1720\n"
               "0.1526 0.1958 0.1975 0.1367 0.1879 0.1295\n0.1385 0.2184 0.2128 0.1420 0.0988 0.1896",
               rows_of(weights, 4)),
          same("cell 12: sums of the rows", "1.0000 1.0000 1.0000 1.0000 1.0000 1.0000", rows_of(sum(weights, -1), 4)),
          same("cell 13: all_context_vecs",
               "0.4421 0.5931 0.5790\n0.4419 0.6515 0.5683\n0.4431 0.6496 0.5671\n0.4304 0.6298 0.5510\n"
               "0.4671 0.5910 0.5266\n0.4177 0.6503 0.5645",
               rows_of(matmul(weights, x), 4)),
          same("cell 14: context_vec_2", kOneQueryContext, rows_of(matmul(weights, x)[1], 4))};
}

drawing::Series dots_of(std::string name, const Tensor& x) {
  return {.name = std::move(name),
          .x = x.select(1, 0).to(kFloat64).to_vector<double>(),
          .y = x.select(1, 1).to(kFloat64).to_vector<double>(),
          .mark = drawing::Series::Mark::dots};
}

std::vector<Figure> figures_of_all_queries() {
  const Tensor x = journey_vectors(), scores = matmul(x, x.t()), weights = softmax(scores);
  const std::vector<std::string>& words = journey_words();
  return {{{"10번, 11번, 13번 셀: 점수, 가중치, 문맥 벡터. 행은 쿼리, 열은 키입니다.",
            "Cells 10, 11 and 13: scores, weights and context vectors. Rows are queries, columns keys."},
           {},
           {draw_matrix(said("Scores"), scores, words, words, 0, 1.5),
            draw_matrix(said("Weights"), weights, words, words, 0, 0.5),
            draw_matrix(said("Context vectors"), matmul(weights, x), words, {"1", "2", "3"}, 0, 1)}},
          {{"첫 두 좌표로 그린 단어 벡터와 문맥 벡터. 가중치가 서로 비슷해 문맥 벡터는 모두 평균 가까이 모입니다. "
            "점수를 크게 하면 각자의 자리로 흩어집니다.",
            "Words and context vectors by their first two coordinates. The weights differ little, so all context "
            "vectors lie near the mean; with larger scores they spread."},
           draw(drawing::LineChart{.title = said("Words, and what attention makes of them"),
                                   .x_label = said("coordinate 1"),
                                   .y_label = said("coordinate 2"),
                                   .series = {dots_of(said("words"), x), dots_of(said("context"), matmul(weights, x)),
                                              dots_of(said("context, 20x scores"), matmul(softmax(20 * scores), x))},
                                   .width = 480})}};
}

}  // namespace

const Page k004_1{
    .tutorial = "004",
    .section = "1-8",
    .title = {"한 단어의 어텐션: 내적, 소프트맥스, 문맥 벡터", "Attention of one word: dot product, softmax, context"},
    .about =
        {"여섯 단어를 길이 3의 벡터로 두고, 둘째 단어 journey를 쿼리로 삼아 모든 단어와 내적을 구합니다. 점수를 "
         "합으로 나누거나 소프트맥스로 바꾸면 합이 1인 가중치가 됩니다. 문맥 벡터는 그 가중치로 구한 단어 벡터들의 "
         "평균입니다.",
         "Six words are vectors of three numbers, and the second one, \"journey\", is the query whose dot product "
         "with every word is taken. Divided by their sum, or by a softmax, the scores become weights that sum to "
         "1. The context vector is the mean of all word vectors with these weights."},
    .lines = {{.what = {"쿼리 하나: 점수, 두 가지 정규화, 문맥 벡터",
                        "One query: scores, two ways to weights, context"},
               .pytorch = R"(query = inputs[1]
scores = inputs @ query
shares = scores / scores.sum()
naive = scores.exp() / scores.exp().sum()
weights = scores.softmax(dim=0)
context = weights @ inputs)",
               .snippet = "004_attention_step_by_step:one_query"}},
    .numbers = numbers_of_one_query,
    .figures = figures_of_one_query,
    .touch = {{.widget = "words",
               .what = {"단어 벡터를 슬라이더로 바꾸어 점수, 가중치, 문맥 벡터가 어떻게 따라 변하는지 보십시오. 온도를 "
                        "낮추면 가중치가 한 단어로 몰립니다.",
                        "Move the word vectors and watch scores, weights and context follow. A lower temperature "
                        "gathers the weight on one word."},
               .data = journey_as_words}},
    .faults = {{.claim = {"3번 셀의 주석은 i = 3의 점수를 0.8414라고 적습니다.",
                          "A comment of cell 3 gives the score of i = 3 as 0.8414."},
                .proof = {"바로 아래 출력된 값은 0.8434이고, 손으로 계산해도 그렇습니다.",
                          "The output below it is 0.8434, and so is the sum by hand."},
                .shown = fourth_score},
               {.claim = {"8번 셀의 주석에 적힌 세 가중치는 7번 셀의 출력과 다릅니다.",
                          "Three weights in the comment of cell 8 are not those that cell 7 printed."},
                .proof = {"출력된 문맥 벡터는 오른쪽 열의 가중치로 구한 것입니다.",
                          "The printed context vector comes from the weights in the right column."},
                .shown = weights_of_comment}},
    .exercises = {{{"점수 [1000, 1001]에 6번 셀의 소프트맥스를 쓰면 어떻게 됩니까?",
                    "What does the softmax of cell 6 give for the scores [1000, 1001]?"},
                   {"exp(1000)이 float32에서 무한대가 되어 무한대/무한대, 곧 NaN이 됩니다. 모든 점수에서 최댓값을 빼면 "
                    "exp(-1)과 exp(0)만 계산하므로 [0.2689, 0.7311]이 나옵니다. torch.softmax와 tapegrad의 softmax가 "
                    "이렇게 합니다.",
                    "exp(1000) overflows, and infinity over infinity is NaN. With the maximum subtracted first only "
                    "exp(-1) and exp(0) are needed, which gives [0.2689, 0.7311]; torch.softmax and tapegrad's softmax "
                    "do this."}},
                  {{"합으로 나누는 방법은 점수가 음수일 때 왜 쓸 수 없습니까?",
                    "Why does division by the sum fail when a score is negative?"},
                   {"가중치가 음수가 되거나 1을 넘을 수 있고, 합이 0이면 나눌 수도 없습니다. exp는 언제나 양수입니다.",
                    "Weights can become negative or exceed 1, and a sum of 0 cannot be divided by. exp is always "
                    "positive."}}},
    .commands = "tapegrad show attention-steps --example journey\ntapegrad tutorial 003 8.2.2",
    .terms =
        "점곱 내적 dot product 유사도 similarity 소프트맥스 softmax 정규화 오버플로 overflow 문맥 벡터 context "
        "vector journey"};

const Page k004_9{
    .tutorial = "004",
    .section = "9-14",
    .title = {"모든 단어의 어텐션: 행렬 곱 하나로", "Attention of all words, as one product of matrices"},
    .about = {"모든 단어 쌍의 점수는 이중 반복문으로도, 행렬 곱 X Xᵀ 하나로도 구할 수 있으며 결과는 같습니다. 행마다 "
              "소프트맥스를 적용하면 각 행의 합이 1이 됩니다. 가중치에 다시 X를 곱하면 여섯 문맥 벡터가 한꺼번에 "
              "나옵니다.",
              "The scores of all pairs of words come from two loops, or from one product X Xᵀ, with the same result. "
              "A softmax over each row makes it sum to 1. Weights times X give all six context vectors at once."},
    .lines = {{.what = {"점수, 가중치, 문맥 벡터: 행렬 곱 두 번과 소프트맥스 한 번",
                        "Scores, weights and contexts: two products and a softmax"},
               .pytorch = "scores = inputs @ inputs.T\nweights = scores.softmax(dim=-1)   # each row\n"
                          "contexts = weights @ inputs",
               .snippet = "004_attention_step_by_step:all_queries"}},
    .numbers = numbers_of_all_queries,
    .figures = figures_of_all_queries,
    .touch = {{.widget = "words",
               .what = {"여섯 단어의 어텐션 전체를 움직여 보십시오. 한 단어의 벡터를 길게 하면 그 단어의 열이 모든 "
                        "행에서 진해집니다.",
                        "Move the attention of all six words. A longer vector darkens its word's column in every row."},
               .data = journey_as_words}},
    .exercises = {{{"점수 행렬은 대칭인데 가중치 행렬은 왜 대칭이 아닙니까?",
                    "The scores are symmetric. Why are the weights not?"},
                   {"소프트맥스가 행마다 다른 합으로 나누기 때문입니다. 예를 들어 (Your, journey)는 0.2006, (journey, "
                    "Your)는 0.1385입니다.",
                    "Softmax divides each row by its own sum: (Your, journey) is 0.2006, (journey, Your) 0.1385."}},
                  {{"softmax의 dim을 -1이 아니라 0으로 하면 무엇이 잘못됩니까?",
                    "What goes wrong with dim=0 instead of -1?"},
                   {"열의 합이 1이 됩니다. 점수가 대칭이므로 가중치는 전치되고, 한 쿼리의 가중치 합은 더 이상 1이 "
                    "아닙니다.",
                    "Columns sum to 1. As the scores are symmetric, the weights come out transposed, and those of a "
                    "query no longer sum to 1."}}},
    .without = {kNoFault},
    .commands = "tapegrad show attention-steps --example journey",
    .terms = "행렬 곱 matmul 전치 transpose dim 축 axis 이중 반복문 loop 문맥 벡터"};

}  // namespace tapegrad::tasks::tutorial
