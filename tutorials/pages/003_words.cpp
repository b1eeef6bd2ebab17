// Tutorial 003, sections 8.1 to 8.2.3: from recurrent networks to attention over word vectors, and to queries, keys and
// values.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/recurrent.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/programs/roles.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr int64_t kWidth = 32;

// The reach of the first token in an RNN, an LSTM and self-attention, by the number of tokens.
std::vector<drawing::Series> curves_of_reach() {
  Generator generator(0);
  manual_seed(0);
  const nn::RNN rnn(kWidth, kWidth, {.batch_first = true});
  const nn::LSTM lstm(kWidth, kWidth, {.batch_first = true});
  drawing::Series recurrent{"RNN (tanh)"}, gated{"LSTM"}, attention{said("self-attention")};
  for (const int64_t length : {2, 5, 10, 20, 30, 40, 50, 60, 70, 80}) {
    const auto add = [&](drawing::Series& to, const auto& model) {
      const Tensor tokens = randn({1, length, kWidth}, kFloat32, &generator);
      to.x.push_back(static_cast<double>(length));
      to.y.push_back(reach(model, tokens, randn({kWidth}, kFloat32, &generator)));
    };
    add(recurrent, [&](const Tensor& x) { return rnn(x).output; });
    add(gated, [&](const Tensor& x) { return lstm(x).output; });
    add(attention, [&](const Tensor& x) { return matmul(softmax(matmul(x, x.t()) / 32), x); });
  }
  return {recurrent, gated, attention};
}

std::vector<Number> numbers_of_reach() {
  const std::vector<drawing::Series> curves = curves_of_reach();
  std::string rows = "tokens      RNN     LSTM  attention\n";
  for (std::size_t i = 0; i < curves[0].x.size(); ++i)
    rows += fmt::format("{:>6} {:>8.0e} {:>8.0e} {:>10.2f}\n", curves[0].x[i], curves[0].y[i], curves[1].y[i],
                        curves[2].y[i]);
  return {own({"첫 토큰에 대한 기울기의 크기를 마지막 토큰에 대한 기울기의 크기로 나눈 값",
               "The norm of the gradient with respect to the first token, over that with respect to the last one"},
              rows)};
}

// What is left of a gradient after n steps that each multiply it, and the share of one of n words.
std::string reach_as_formula() {
  return json_of({{"n", {"거리 n", "distance n"}, 1, 100, 1, 20},
                  {"w", {"한 단계에 곱해지는 수 w", "factor w of one step"}, 0.5, 1, 0.01, 0.9}},
                 {{{"순환 신경망: wⁿ", "recurrent: wⁿ"}, "[\"^\",\"w\",\"n\"]"},
                  {{"어텐션: 1 / n", "attention: 1 / n"}, "[\"/\",1,\"n\"]"}},
                 6);
}

std::vector<Figure> figures_of_reach() {
  return {
      {{"마지막 출력이 첫 토큰에 얼마나 좌우되는가: 첫 토큰에 대한 기울기의 크기를 마지막 토큰에 대한 기울기의 크기로 "
        "나눈 값 "
        "(세로축은 로그 눈금, 학습 전의 모델). 순환 신경망에서는 거리에 따라 지수적으로 줄고, 어텐션에서는 거리와 "
        "거의 무관합니다.",
        "How much the last output depends on the first token: the norm of the gradient with respect to the first "
        "token, divided by that of the last one (logarithmic; untrained models). It falls exponentially in recurrent "
        "networks, and hardly depends on the distance in attention."},
       draw(drawing::LineChart{.title = said("Reach of the first token, by length"),
                               .x_label = said("tokens"),
                               .y_label = said("ratio of gradients"),
                               .series = curves_of_reach(),
                               .log_y = true,
                               .width = 540})}};
}

// time flies like an arrow
Tensor words_of_sentence() {
  return tensor({{0.2, 0.8, 0.3}, {0.7, 0.2, 0.9}, {0.3, 0.5, 0.2}, {0.1, 0.3, 0.4}, {0.8, 0.1, 0.6}}, kFloat64);
}

std::vector<Number> numbers_of_words() {
  const Tensor x = words_of_sentence(), scores = matmul(x, x.t()), weights = softmax(scores);
  const Tensor contexts = matmul(weights, x);
  return {
      same("Input matrix shape", "5 3", plain(str(x.shape()))),
      same("Input matrix", "0.2 0.8 0.3\n0.7 0.2 0.9\n0.3 0.5 0.2\n0.1 0.3 0.4\n0.8 0.1 0.6", numpy_rows(x)),
      same("Input matrix transpose", "0.2 0.7 0.3 0.1 0.8\n0.8 0.2 0.5 0.3 0.1\n0.3 0.9 0.2 0.4 0.6",
           numpy_rows(x.t())),
      same("Similarity matrix shape", "5 5", plain(str(scores.shape()))),
      same("Similarity matrix",
           "0.77 0.57 0.52 0.38 0.42\n0.57 1.34 0.49 0.49 1.12\n0.52 0.49 0.38 0.26 0.41\n0.38 0.49 0.26 0.26 0.35\n"
           "0.42 1.12 0.41 0.35 1.01",
           rows_of(scores, 2)),
      same("Attention weights shape", "5 5", plain(str(weights.shape()))),
      same("Attention weights",
           "0.25130196 0.20574865 0.19571417 0.17014572 0.1770895\n0.14838442 0.32047566 0.13697608 0.13697608 "
           "0.25718775\n"
           "0.22189237 0.21533446 0.19290396 0.17109046 0.19877876\n0.20573742 0.22966017 0.18247272 0.18247272 "
           "0.19965696\n"
           "0.14836389 0.29876818 0.14688764 0.13833357 0.26764673",
           numpy_rows(weights)),
      same("Contextualized vectors shape", "5 3", plain(str(contexts.shape()))),
      same("Contextualized vectors",
           "0.41168487 0.40880105 0.47401919\n0.51455048 0.31810231 0.56944172\n0.42911583 0.38823778 0.48665295\n"
           "0.43462426 0.37646585 0.49769319\n0.51082753 0.32015331 0.55869952",
           numpy_rows(contexts)),
  };
}

std::vector<Figure> figures_of_words() {
  const Tensor x = words_of_sentence();
  const Tensor unit = x / sqrt(sum(square(x), {1}, true));
  const std::vector<std::string> words{"time", "flies", "like", "an", "arrow"};
  return {
      {{"단어 벡터, 유사도, 어텐션 가중치, 문맥 벡터", "Word vectors, similarity, weights and contextual vectors"},
       {},
       show_attention_steps({}).drawings},
      {{"길이로 나눈 벡터의 내적(코사인 유사도). 방향만 비교하면 대각선이 항상 가장 크며, 위의 내적은 긴 벡터 flies에 "
        "점수를 몰아줍니다.",
        "Dot products of vectors of length 1 (cosine similarity). By direction alone the diagonal is always the "
        "largest; the plain dot products above favour the long vector, flies."},
       draw_matrix(said("Cosine similarity"), matmul(unit, unit.t()), words, words, 0, 1)}};
}

std::string sentence_as_words() {
  return fmt::format("{{\"tokens\":[\"time\",\"flies\",\"like\",\"an\",\"arrow\"],\"vectors\":{},\"scale\":false}}",
                     json_of(words_of_sentence()));
}

// Scores [5, 5] of the three functions of 8.2.3, before the softmax; projections of seed 0.
std::vector<Tensor> scores_by_function() {
  const Tensor x = words_of_sentence();
  manual_seed(0);
  const Tensor compared = matmul(x, randn({3, 3}, kFloat64));
  const SelfAttention attention(3);
  const Tensor words = x.to(kFloat32), roles = matmul(attention.q(words), attention.k(words).t());
  return {matmul(x, x.t()), matmul(compared, compared.t()), roles.to(kFloat64)};
}

std::vector<Number> numbers_of_roles() {
  std::string rows;
  const std::vector<Tensor> scores = scores_by_function();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    constexpr std::string_view kNames[] = {"one vector", "similarity and content", "query, key and value"};
    rows += fmt::format("{:<23} {:.4f}\n", kNames[i], amax(abs(scores[i] - scores[i].t())).item());
  }
  return {own({"세 함수의 점수 S에서 |S - Sᵀ|의 최댓값(시드 0): 쿼리와 키를 나누어야 비로소 대칭이 깨집니다.",
               "The largest |S - Sᵀ| of the scores S of the three functions (seed 0): only separate queries and keys "
               "break the symmetry."},
              rows)};
}

std::vector<Figure> figures_of_roles() {
  const std::vector<std::string> words{"time", "flies", "like", "an", "arrow"};
  const std::vector<Tensor> scores = scores_by_function();
  const auto map = [&](std::string_view title, const Tensor& x) {
    return draw_matrix(title, x, words, words, amin(x).item(), amax(x).item());
  };
  return {{{"세 함수의 점수(시드 0). 앞의 둘은 대각선을 기준으로 대칭이고, 쿼리와 키를 나눈 셋째는 그렇지 않습니다.",
            "Scores of the three functions (seed 0). The first two are symmetric about the diagonal; with separate "
            "queries and keys they are not."},
           {},
           {map(said("One vector"), scores[0]), map(said("Separate content"), scores[1]),
            map(said("Query, key and value"), scores[2])}}};
}

// The same words in three roles: projections of seed 0.
std::string sentence_in_roles() {
  Generator generator(0);
  const Tensor x = words_of_sentence();
  const auto role = [&] { return json_of(matmul(x, randn({3, 3}, kFloat64, &generator))); };
  const std::string queries = role(), keys = role(), values = role();
  return fmt::format(
      "{{\"tokens\":[\"time\",\"flies\",\"like\",\"an\",\"arrow\"],\"queries\":{},\"keys\":{},\"values\":{}}}", queries,
      keys, values);
}

// The rows of the dot products whose largest entry is another word.
std::string largest_of_rows() {
  const Tensor x = words_of_sentence();
  const std::vector<int64_t> best = argmax(matmul(x, x.t()), -1).to_vector<int64_t>();
  constexpr std::string_view kNames[] = {"time", "flies", "like", "an", "arrow"};
  std::string out;
  for (std::size_t i = 0; i < best.size(); ++i)
    out += fmt::format("{:<6} -> {}\n", kNames[i], kNames[static_cast<std::size_t>(best[i])]);
  return out;
}

// Softmax by rows of q k^T, and of k q^T.
std::string transposed_scores() {
  Generator generator(0);
  const Tensor q = randn({4, 3}, kFloat64, &generator), k = randn({4, 3}, kFloat64, &generator);
  const Tensor forth = matmul(q, k.t()), back = matmul(k, q.t());
  return said("largest |q k^T - (k q^T)^T|: {:.1e}\nlargest |softmax(q k^T) - softmax(k q^T)|: {:.2f}\n",
              amax(abs(forth - back.t())).item(), amax(abs(softmax(forth) - softmax(back))).item());
}

}  // namespace

const Page k003_8_1{
    .tutorial = "003",
    .section = "8.1",
    .also = {"8.2"},
    .title = {"순환 신경망의 한계와 트랜스포머의 출발점",
              "The limits of recurrent networks, where the Transformer begins"},
    .about =
        {"순환 신경망은 단어를 하나씩 차례로 처리하므로 병렬로 계산할 수 없고, 앞 단어의 정보는 긴 거리를 지나며 "
         "사라집니다. 어텐션은 모든 단어 쌍을 한 번의 행렬 곱으로 직접 연결합니다. 이 페이지는 튜토리얼이 말로 "
         "설명하는 "
         "장거리 의존성 문제를 기울기로 직접 재어 보여 줍니다.",
         "Recurrent networks process one word after another, so they cannot compute in parallel, and what an early "
         "word "
         "said fades over a long distance. Attention connects all pairs of words directly, by one product of matrices. "
         "This page measures with gradients what the tutorial says in words about long-range dependencies."},
    .lines = {{.what = {"첫 토큰에 대한 기울기를 마지막 토큰에 대한 기울기와 비교합니다.",
                        "The gradient with respect to the first token, compared with that of the last one"},
               .pytorch = R"(x.requires_grad_()
(model(x)[:, -1] * direction).sum().backward()
size = x.grad.square().sum((0, 2)).sqrt()
ratio = size[0] / size[-1])",
               .snippet = "claims.h:reach"},
              {.what = {"RNN과 어텐션, 세 길이", "An RNN and attention, for three lengths"},
               .pytorch = R"(rnn = nn.RNN(32, 32, batch_first=True)
recurrent = lambda x: rnn(x)[0]
attention = lambda x: (x @ x.mT / 32).softmax(dim=-1) @ x)",
               .snippet = "003_claims:distances"}},
    .numbers = numbers_of_reach,
    .figures = figures_of_reach,
    .touch = {{.widget = "formula",
               .what = {"순환 신경망의 기울기는 단계마다 w배가 되어 거리 n에서 wⁿ만 남고, 가중치가 고른 어텐션에서는 "
                        "한 걸음에 1/n이 남습니다. 거리가 멀수록 w가 1에 가까워야 wⁿ이 1/n보다 커집니다.",
                        "In a recurrent network each step multiplies a gradient by w, which leaves wⁿ at the distance "
                        "n; attention with equal weights leaves 1/n in one step. The longer the distance, the closer "
                        "to 1 must w be for wⁿ to be the larger one."},
               .data = reach_as_formula}},
    .exercises =
        {{{"LSTM의 곡선은 왜 RNN의 곡선보다 천천히 내려갑니까?",
           "Why does the LSTM's curve fall more slowly than the RNN's?"},
          {"셀 상태가 망각 게이트의 값만 곱해지며 전달되기 때문입니다. 학습 전에는 게이트가 약 0.5이므로 역시 "
           "지수적으로 "
           "줄지만, 학습하면 1에 가까워질 수 있습니다.",
           "Its cell state is only multiplied by the forget gate. Before training the gate is about 0.5, so the curve "
           "still falls exponentially; training can move the gate towards 1."}},
         {{"어텐션의 곡선이 거리와 무관한데도 트랜스포머에 위치 인코딩이 필요한 이유는 무엇입니까?",
           "Attention reaches any distance equally. Why does the Transformer need positions all the same?"},
          {"거리와 무관하다는 것은 순서를 모른다는 뜻이기도 합니다. 단어의 순서를 섞으면 출력도 똑같이 섞일 뿐입니다 "
           "(8.3.1절).",
           "Reaching all distances equally also means not knowing the order: permuted words give the same outputs, "
           "permuted (section 8.3.1)."}}},
    .without = {kNoFault},
    .commands = "tapegrad tutorial 003 8.2.2\ntapegrad show attention-cost",
    .terms = "RNN LSTM GRU 장기 의존성 long-range dependency 병렬 Bahdanau 바흐다나우 기울기 소실"};

const Page k003_8_2_2{
    .tutorial = "003",
    .section = "8.2.2",
    .also = {"8.2.1"},
    .title = {"어텐션의 기본 개념: 유사도, 가중치, 문맥 벡터",
              "The idea of attention: similarity, weights, contextual vectors"},
    .about =
        {"단어마다 벡터가 하나씩 있으면 모든 쌍의 내적은 행렬 곱 한 번으로 얻는 어텐션 점수입니다. 소프트맥스는 각 "
         "행의 "
         "점수를 합이 1인 가중치로 바꿉니다. 문맥 벡터는 그 가중치로 모든 단어 벡터를 평균한 것입니다.",
         "With one vector per word, one product of matrices gives the dot products of all pairs, the attention scores. "
         "Softmax turns each row of scores into weights that sum to 1. A contextual vector is the mean of all word "
         "vectors with these weights."},
    .lines = {{.what = {"문장 하나의 다섯 단어, 세 차원", "The five words of a sentence, in three dimensions"},
               .pytorch = R"(similarity = x @ x.T              # x: [5, 3], one row per word
weights = similarity.softmax(dim=-1)
contexts = weights @ x)",
               .snippet = "003_words_and_masks:words"}},
    .numbers = numbers_of_words,
    .figures = figures_of_words,
    .touch = {{.widget = "words",
               .what = {"단어 벡터를 슬라이더로 움직여 보십시오. 유사도, 가중치, 문맥 벡터가 함께 바뀝니다. √d로 "
                        "나누기와 온도가 가중치를 얼마나 고르게 하는지도 비교하십시오.",
                        "Move the word vectors: similarity, weights and contexts follow. Compare how far the division "
                        "by √d and the temperature even out the weights."},
               .data = sentence_as_words}},
    .faults =
        {{.claim = {"내적을 두 단어 사이의 \"거리\"라고 부릅니다.",
                    "The dot product is called a distance between two words."},
          .proof =
              {"거리는 자기 자신과 0이어야 하고 가까울수록 작아야 합니다. 내적은 비슷할수록 커지며 벡터의 길이에도 "
               "좌우됩니다. 아래와 같이 like, an, arrow의 행에서는 자기 자신이 아닌 단어의 점수가 가장 큽니다.",
               "A distance is 0 to itself and small for what is close. A dot product grows with similarity and with "
               "the lengths of the vectors: in some rows below, another word has a larger score than the word "
               "itself."},
          .shown = largest_of_rows},
         {.claim =
              {"행렬 X의 열이 단어 벡터라고 설명하지만, 코드와 수식에서는 행이 단어 벡터입니다.",
               "The text says that the columns of X are the word vectors; in its code and formulas they are rows."},
          .proof =
              {"출력된 모양 (5, 3)은 단어 다섯 개가 행임을 뜻합니다. X의 열이 단어라면 모든 쌍의 내적은 X^T X입니다.",
               "The printed shape (5, 3) has the five words as rows. With words as columns, the dot products of all "
               "pairs would be X^T X."}}},
    .exercises =
        {{{"'time'의 가중치가 [0.5, 0.2, 0.1, 0.1, 0.1]이라면 문맥 벡터는 무엇입니까?",
           "What is the contextual vector of 'time' with the weights [0.5, 0.2, 0.1, 0.1, 0.1]?"},
          {"0.5 · time + 0.2 · flies + 0.1 · (like + an + arrow) = [0.36, 0.53, 0.45]입니다.",
           "0.5 time + 0.2 flies + 0.1 (like + an + arrow) = [0.36, 0.53, 0.45]."}},
         {{"유사도 행렬은 대칭인데 가중치 행렬은 왜 대칭이 아닙니까?",
           "The similarity matrix is symmetric. Why is the matrix of weights not?"},
          {"소프트맥스는 행마다 다른 합으로 나누기 때문입니다. 같은 점수라도 그 행의 다른 점수가 크면 가중치는 "
           "작아집니다.",
           "Softmax divides each row by its own sum. The same score gets a smaller weight in a row whose other scores "
           "are larger."}}},
    .commands = "tapegrad show attention-steps",
    .terms = "유사도 similarity 내적 dot product softmax 소프트맥스 문맥 벡터 context alignment score time flies"};

const Page k003_8_2_3{
    .tutorial = "003",
    .section = "8.2.3",
    .title = {"셀프 어텐션으로의 진화: 쿼리, 키, 값", "Towards self-attention: query, key and value"},
    .about =
        {"벡터 하나가 묻는 역할, 비교되는 역할, 정보를 전달하는 역할을 모두 맡으면 각 역할에 알맞은 표현을 배울 수 "
         "없습니다. "
         "그래서 학습되는 행렬 세 개로 쿼리, 키, 값을 따로 만듭니다. 이 절의 세 함수는 한 단계씩 역할을 나누어 갑니다.",
         "One vector that asks, is compared and carries information cannot learn what is best for each role. Three "
         "trained "
         "matrices therefore give each word a query, a key and a value. The three functions of this section separate "
         "the "
         "roles one by one."},
    .lines = {{.what = {"한 벡터가 세 역할을 모두 맡습니다.", "One vector has all three roles."},
               .pytorch = "weights = (words @ words.T).softmax(dim=-1)\nreturn weights @ words",
               .snippet = "roles.h:basic"},
              {.what = {"첫째 개선: 전달할 내용을 나눕니다. 점수는 아직 대칭입니다.",
                        "First improvement: content of its own. The scores are still symmetric."},
               .pytorch =
                   "compared = words @ similarity\nweights = (compared @ compared.T).softmax(dim=-1)\nreturn weights @ "
                   "(words @ content)",
               .snippet = "roles.h:improved"},
              {.what = {"둘째 개선: 쿼리와 키를 나눕니다.", "Second improvement: queries and keys."},
               .pytorch = R"(self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
...
weights = (self.q(x) @ self.k(x).mT).softmax(dim=-1)
return weights @ self.v(x))",
               .snippet = "roles.h:qkv"}},
    .numbers = numbers_of_roles,
    .figures = figures_of_roles,
    .touch = {{.widget = "words",
               .what = {"같은 다섯 단어의 쿼리와 키를 따로 움직여 보십시오. 쿼리를 바꾸면 그 단어의 행만, 키를 바꾸면 "
                        "그 단어의 열이 모든 행에서 바뀝니다. 역할이 나뉘어 있으므로 점수는 대칭이 아닙니다.",
                        "Move queries and keys of the same five words separately. A query changes the row of its word, "
                        "a key its column in every row. As the roles are apart, scores are not symmetric."},
               .data = sentence_in_roles}},
    .faults = {{.claim = {"쿼리와 키의 순서를 바꾸어 K Q^T를 계산해도 수학적으로 같은 유사도 행렬이라고 합니다.",
                          "K Q^T is said to be mathematically the same similarity matrix as Q K^T."},
                .proof = {"K Q^T는 Q K^T의 전치 행렬입니다. 소프트맥스는 행마다 적용되므로 가중치는 서로 다릅니다.",
                          "K Q^T is the transpose of Q K^T. Softmax acts on rows, so the weights differ."},
                .shown = transposed_scores}},
    .exercises =
        {{{"첫째 개선의 점수 행렬은 왜 대칭입니까? 그것이 왜 제한입니까?",
           "Why are the scores of the first improvement symmetric, and why is that a limit?"},
          {"S = (X W)(X W)^T이므로 S^T = S입니다. '동사는 주어를 보지만 주어는 동사를 보지 않는다'와 같은 한쪽 방향의 "
           "관계를 "
           "나타낼 수 없습니다.",
           "S = (X W)(X W)^T, so S^T = S. A relation in one direction, a verb that looks at its subject but not the "
           "reverse, cannot be expressed."}},
         {{"\"bank\"라는 단어의 두 뜻은 어느 단계에서 나뉩니까?",
           "At which step are the two meanings of \"bank\" told apart?"},
          {"입력 벡터는 두 문장에서 같습니다. 가중치가 money나 river의 값을 섞은 뒤의 문맥 벡터에서 비로소 달라집니다.",
           "The input vector is the same in both sentences. They differ after the weights have mixed in the values of "
           "money or of river: in the contextual vector."}}},
    .commands = "tapegrad show attention-steps --example journey\ntapegrad tutorial 004",
    .terms = "쿼리 query 키 key 값 value Q K V 셀프 어텐션 self-attention bank W_similarity W_content"};

}  // namespace tapegrad::tasks::tutorial
