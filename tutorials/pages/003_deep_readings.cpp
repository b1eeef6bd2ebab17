// Tutorial 003, deep dives 5 to 9 of section 8.2.3: stability, frequencies and information, and analogies.
#include <fmt/format.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

// The four scores of the page.
Tensor four_scores() { return tensor({2.0, 1.0, 0.5, 0.0}, kFloat64); }

// Scores of 32 random tokens, queries and keys of size 16.
Tensor scores_of_32() {
  Generator generator(0);
  const Tensor q = randn({32, 16}, kFloat64, &generator), k = randn({32, 16}, kFloat64, &generator);
  return matmul(q, k.t()) / 4;
}

std::vector<Number> numbers_of_information() {
  std::string rows = "scores x  entropy  low frequencies, %\n";
  for (const double scale : {0.0, 0.5, 1.0, 2.0, 4.0}) {
    const Tensor weights = softmax(scores_of_32() * scale);
    rows += fmt::format("{:>8} {:>8.3f} {:>19.1f}\n", scale, entropy(weights), 100 * low_frequencies(weights));
  }
  return {own(
      {"어텐션이 날카로워질수록 줄어드는 두 값: 행의 평균 엔트로피와, 낮은 쪽 4분의 1의 주파수가 제곱합에서 차지하는 "
       "비율(임의의 토큰 32개). 점수가 모두 0이면 엔트로피는 log 32 = 3.466입니다.",
       "What falls as attention gets sharper: the mean entropy of a row, and the share of squares in the lowest "
       "quarter of frequencies (32 random tokens). With all scores 0 the entropy is log 32 = 3.466."},
      rows)};
}

// Both measures, as curves over the sharpness.
std::vector<Figure> figures_of_information() {
  drawing::Series spread{said("entropy")}, low{said("low frequencies")};
  for (double scale = 0; scale <= 6; scale += 0.5) {
    const Tensor weights = softmax(scores_of_32() * scale);
    spread.x.push_back(scale), low.x.push_back(scale);
    spread.y.push_back(entropy(weights)), low.y.push_back(low_frequencies(weights));
  }
  const auto chart = [](std::string title, std::string label, drawing::Series series, double high) {
    return draw(drawing::LineChart{.title = std::move(title),
                                   .x_label = said("scores times"),
                                   .y_label = std::move(label),
                                   .series = {std::move(series)},
                                   .y_low = 0,
                                   .y_high = high,
                                   .width = 300,
                                   .height = 170});
  };
  return {
      {{"임의의 토큰 32개의 어텐션에서 점수에 곱한 수에 따른 가중치의 엔트로피와 저주파의 비율. 같은 모델도 점수의 "
        "크기에 "
        "따라 저역 통과 필터에 가깝기도 하고 그렇지 않기도 합니다.",
        "Entropy of the weights and share of low frequencies, by a factor on the scores of 32 random tokens. Whether "
        "attention is close to a low-pass filter depends on the size of its scores."},
       {},
       {chart(said("Entropy of the weights"), said("nats"), spread, 3.5),
        chart(said("Share of low frequencies"), said("share"), low, 1)}}};
}

std::string scores_as_choice() {
  return fmt::format("{{\"start\":\"{}\",\"words\":[\"k1\",\"k2\",\"k3\",\"k4\"],\"logits\":{}}}", "q",
                     json_of(four_scores()));
}

// Ranks of scores and of weights, by the size of queries and keys.
std::vector<Number> numbers_of_bond() {
  std::string rows = " r  rank of q k^T  rank of softmax(q k^T)\n";
  for (const int64_t r : {1, 2, 4, 8, 16}) {
    Generator generator(0);
    const Tensor q = randn({32, r}, kFloat64, &generator), k = randn({32, r}, kFloat64, &generator);
    const Tensor scores = bonded_scores(q, k);
    rows += fmt::format("{:>2} {:>14} {:>23}\n", r, rank(scores), rank(softmax(scores)));
  }
  return {own({"토큰 32개에서 본드 차원 r에 따른 점수와 가중치의 랭크(반올림 오차보다 큰 특잇값의 수)",
               "Ranks of scores and weights of 32 tokens by the bond dimension r: singular values above rounding"},
              rows)};
}

std::vector<Figure> figures_of_bond() {
  Generator generator(0);
  const Tensor q = randn({32, 4}, kFloat64, &generator), k = randn({32, 4}, kFloat64, &generator);
  const auto curve = [](std::string name, const Tensor& x) {
    drawing::Series series{.name = std::move(name), .x = {}, .y = svdvals(x).to_vector<double>()};
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      series.x.push_back(static_cast<double>(i + 1));
      series.y[i] = std::max(series.y[i], 1e-16);  // 0 has no logarithm
    }
    return series;
  };
  return {{{"본드 차원 4에서 점수와 가중치의 특잇값(로그 눈금). 점수의 특잇값은 다섯째부터 반올림 오차이고, 소프트맥스 "
            "뒤에는 "
            "32개가 모두 남습니다.",
            "Singular values of scores and weights for a bond dimension of 4 (logarithmic). Those of the scores are "
            "rounding from the fifth on; after softmax all 32 are there."},
           draw(drawing::LineChart{.title = said("Singular values"),
                                   .x_label = said("number"),
                                   .y_label = said("value"),
                                   .series = {curve(said("Scores"), bonded_scores(q, k)),
                                              curve(said("Weights"), softmax(bonded_scores(q, k)))},
                                   .log_y = true,
                                   .width = 540})}};
}

std::string bond_as_words() {
  Generator generator(0);
  const Tensor q = randn({5, 2}, kFloat64, &generator), k = randn({5, 2}, kFloat64, &generator);
  return fmt::format(
      "{{\"tokens\":[\"t1\",\"t2\",\"t3\",\"t4\",\"t5\"],\"queries\":{0},\"keys\":{1},\"values\":{1},\"scale\":false}}",
      json_of(q), json_of(k));
}

// Entropies of softmax at three temperatures, and of the uniform distribution.
std::string entropies() {
  std::string out;
  for (const double temperature : {0.5, 1.0, 4.0})
    out += said("softmax, T = {:<3} entropy {:.3f}\n", temperature,
                entropy(softmax(four_scores() / temperature).unsqueeze(0)));
  return out + said("uniform          entropy {:.3f}\n", log(full({}, 4, kFloat64)).item());
}

// The share of low frequencies for the identity and for averaging.
std::string shares_at_extremes() {
  return said("each token attends to itself:  {:.2f}\nall tokens attend to all:      {:.2f}\n",
              low_frequencies(eye(32, kFloat64)), low_frequencies(full({32, 32}, 1.0 / 32, kFloat64)));
}

}  // namespace

const Page k003_8_2_3_5{
    .tutorial = "003",
    .section = "8.2.3/5.1",
    .also = {"8.2.3/5.2", "8.2.3/6.1"},
    .title = {"딥다이브 5와 6.1: 안정성, 주파수, 정보량", "Deep dives 5 and 6.1: stability, frequencies, information"},
    .about = {"어텐션을 되풀이되는 갱신으로, 저역 통과 필터로, 정보를 전하는 통로로 보는 세 가지 해석입니다. 각 "
              "해석에는 확인할 수 있는 주장이 "
              "있습니다. `attention copy --analyze`는 학습된 모델의 헤드마다 이 주장들이 성립하는지 계산합니다.",
              "Three readings of attention: as an update that repeats, as a low-pass filter, and as a channel of "
              "information. Each of "
              "them comes with a claim that can be checked. `attention copy --analyze` computes for every head of a "
              "trained model "
              "whether the claims hold."},
    .lines = {{.what = {"가중치의 엔트로피와 저주파의 비율",
                        "The entropy of weights, and their share of low frequencies"},
               .pytorch = R"(entropy = -(weights * weights.log()).sum(-1).mean()
moved = waves @ weights                    # waves: a cosine transform
low = moved[:n // 4].square().sum() / moved.square().sum())",
               .snippet = "claims.h:information"}},
    .numbers = numbers_of_information,
    .figures = figures_of_information,
    .touch =
        {{.widget = "choice",
          .what = {"쿼리 q가 키 넷에 점수 2, 1, 0.5, 0을 준 경우입니다. 온도를 올리면 가중치가 균등해져 엔트로피가 "
                   "log 4에 다가가고, 내리면 키 하나에 모여 0에 다가갑니다.",
                   "A query q with the scores 2, 1, 0.5 and 0 for four keys. A higher temperature evens out the "
                   "weights, and their entropy approaches log 4; a lower one gathers them on one key: entropy 0."},
          .data = scores_as_choice}},
    .faults =
        {{.claim = {"소프트맥스가 엔트로피 H(Y)를 최대화한다고 합니다.",
                    "Softmax is said to maximise the entropy H(Y)."},
          .proof = {"엔트로피가 가장 큰 것은 균등 분포입니다. 소프트맥스는 점수의 평균이 정해졌을 때 가중치의 "
                    "엔트로피가 가장 큰 "
                    "분포이며, 출력 Y의 엔트로피와는 다릅니다.",
                    "The largest entropy is that of equal weights. Softmax has the largest entropy of the weights for "
                    "a given mean "
                    "score, which is not the entropy of the output Y."},
          .shown = entropies},
         {.claim = {"저주파 성분이 정보의 80% 이상이라고 하지만 행렬에 따라 다릅니다.",
                    "Low frequencies are said to hold more than 80 %; that depends on the matrix."},
          .proof = {"낮은 쪽 4분의 1의 주파수가 제곱합에서 차지하는 비율을 두 극단에서 계산했습니다. 학습된 헤드에서는 "
                    "성립하지 않는다고 "
                    "`--analyze`가 보여 줍니다.",
                    "The share of squares in the lowest quarter of frequencies, at two extremes. For trained heads "
                    "`--analyze` "
                    "shows where it does not hold."},
          .shown = shares_at_extremes}},
    .exercises = {{{"온도를 높이면 가중치의 엔트로피는 어디로 다가갑니까?",
                    "Where does the entropy of the weights go as the temperature rises?"},
                   {"log n, 곧 균등 분포의 엔트로피로 다가갑니다.", "To log n, the entropy of equal weights."}}},
    .commands = "tapegrad train copy\ntapegrad attention copy --analyze",
    .terms = "리아푸노프 Lyapunov 안정성 주파수 푸리에 Fourier 엔트로피 entropy 상호 정보량 mutual information"};

const Page k003_8_2_3_7{
    .tutorial = "003",
    .section = "8.2.3/7.1",
    .also = {"8.2.3/7.2", "8.2.3/8.1", "8.2.3/8.2", "8.2.3/9"},
    .title = {"딥다이브 7-9: 비유와 연구 방향", "Deep dives 7 to 9: analogies and directions of research"},
    .about = {"신경과학, 텐서 네트워크, 미분 기하, 양자 어텐션은 방법이나 수치가 없는 비유이거나 연구 방향입니다. "
              "계산해 볼 수 있는 것은 8.1의 식 하나뿐이며, 점수 행렬이 랭크 r인 두 행렬의 곱이라는 뜻입니다. 그림은 그 "
              "랭크 때문에 점수 자체는 언제나 낮은 랭크이고, "
              "소프트맥스 뒤에는 "
              "그렇지 않음을 보여 줍니다.",
              "Neuroscience, tensor networks, geometry and quantum attention are analogies or directions of research, "
              "without a method "
              "or a number. What can be computed is the formula of 8.1: scores are a product of rank r. The figure "
              "shows that scores "
              "therefore always have a low rank, and weights after softmax do not."},
    .lines = {{.what = {"8.1의 식: 본드 지표에 대한 합", "The formula of 8.1: a sum over the bond index"},
               .pytorch = "scores = torch.einsum(\"ia,ja->ij\", q, k)\nrank = torch.linalg.matrix_rank(scores)",
               .snippet = "claims.h:bond"}},
    .numbers = numbers_of_bond,
    .figures = figures_of_bond,
    .touch =
        {{.widget = "words",
          .what = {"본드 차원 2의 쿼리와 키입니다. 점수 행렬은 언제나 랭크 2이므로, 두 열이 정해지면 나머지 열은 그 "
                   "둘의 합으로 나타낼 수 있습니다. 키 하나를 움직여 열 하나가 바뀌는 것을 보십시오.",
                   "Queries and keys of bond dimension 2. Scores always have rank 2: given two columns, every other "
                   "one is a combination of them. Move one key and see one column change."},
          .data = bond_as_words}},
    .exercises = {{{"8.1의 식에서 본드 차원 r은 보통의 어텐션에서 무엇입니까?",
                    "What is the bond dimension r of 8.1 in plain attention?"},
                   {"헤드의 차원입니다. A_ij = Σ Q_iα K_jα는 q k^T를 원소로 쓴 것입니다.",
                    "The size of a head: A_ij = Σ Q_iα K_jα is q k^T, element by element."}}},
    .without = {{Part::faults,
                 {"비유와 연구 방향에는 맞고 틀림을 확인할 수치가 없으므로 바로잡을 것도 없습니다.",
                  "Analogies and directions of research have no numbers that could be right or wrong, so there is "
                  "nothing to mend."}}},
    .commands = "tapegrad tutorial 003 8.2.3/2.1",
    .terms = "V4 전두엽 작업 기억 텐서 네트워크 MPO 리만 곡률 양자 STDP"};

}  // namespace tapegrad::tasks::tutorial
