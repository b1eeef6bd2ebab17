// Tutorial 003, deep dives 1 to 4 of section 8.2.3: cost, kernels and singular values, energy, and rank.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/depth.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// Multiplications of one head of size 64, by the number of tokens: full attention, and the three forms of the table.
std::vector<Figure> figures_of_cost() {
  constexpr double kDim = 64, kKept = 256;
  drawing::Series full_cost{said("full: 2 n^2 d")}, linear{"Linformer: 4 n k d"}, features{"Performer: 4 n m d"};
  for (double n = 256; n <= 65536; n *= 2) {
    const auto add = [n](drawing::Series& to, double cost) {
      to.x.push_back(n);
      to.y.push_back(cost);
    };
    add(full_cost, 2 * n * n * kDim);
    add(linear, 4 * n * kKept * kDim);
    add(features, 4 * n * kKept * kDim);
  }
  features.mark = drawing::Series::Mark::dashes;
  return {{{"헤드 하나(차원 64, 투영 또는 특징 256개)의 곱셈 횟수, 세로축은 로그 눈금. Linformer와 Performer의 곡선은 "
            "겹칩니다. 둘 다 길이에 비례합니다.",
            "Multiplications of one head (size 64, 256 projected keys or features), logarithmic. The curves of "
            "Linformer and Performer coincide: both are proportional to the length."},
           draw(drawing::LineChart{.title = said("Cost of attention, by length"),
                                   .x_label = said("tokens"),
                                   .y_label = said("multiplications"),
                                   .series = {full_cost, linear, features},
                                   .log_y = true,
                                   .width = 540})}};
}

// Queries, times this, and keys of 64 random tokens.
struct RandomHead {
  Tensor queries, keys;
  explicit RandomHead(double scale) {
    Generator generator(0);
    queries = randn({64, 16}, kFloat64, &generator) * scale;
    keys = randn({64, 16}, kFloat64, &generator);
  }
  std::vector<double> values() const { return singular_values(queries, keys).to_vector<double>(); }
};

std::vector<Number> numbers_of_scale() {
  Generator generator(0);
  std::string rows = "  d  deviation  p(1 - p)  divided: deviation  p(1 - p)\n";
  for (const int64_t d : {4, 16, 64, 256}) {
    const Tensor q = randn({200, d}, kFloat64, &generator), k = randn({32, d}, kFloat64, &generator);
    const Tensor scores = matmul(q, k.t()), divided = scores / std::sqrt(static_cast<double>(d));
    const auto slope = [](const Tensor& x) {  // of the largest weight
      const Tensor p = amax(softmax(x), {-1});
      return mean(p * (1 - p)).item();
    };
    rows += fmt::format("{:>3} {:>10.2f} {:>9.3f} {:>19.2f} {:>9.3f}\n", d, std(scores).item(), slope(scores),
                        std(divided).item(), slope(divided));
  }
  return {own({"점수의 표준편차와, 가장 큰 가중치 p의 기울기 p(1 - p)의 평균을 헤드의 차원 d별로 잰 것(키 32개). "
               "나누지 않으면 d가 클수록 기울기가 사라집니다.",
               "The deviation of scores, and the mean slope p(1 - p) of the largest weight p, by the size d of a head "
               "(32 keys). Without the division the slope vanishes as d grows."},
              rows)};
}

std::string cost_as_formula() {
  return json_of({{"n", {"log2 n (토큰 n개)", "log2 n (n tokens)"}, 8, 17, 1, 12, true},
                  {"d", {"헤드의 차원 d", "size d of a head"}, 16, 256, 16, 64},
                  {"k", {"투영한 키 k개", "k projected keys"}, 32, 1024, 32, 256}},
                 {{{"토큰 n", "tokens n"}, "\"n\""},
                  {{"전체: 2n²d / 10⁶", "full: 2n²d / 10⁶"}, "[\"/\",[\"*\",2,\"n\",\"n\",\"d\"],1000000]"},
                  {{"Linformer: 4nkd / 10⁶", "Linformer: 4nkd / 10⁶"}, "[\"/\",[\"*\",4,\"n\",\"k\",\"d\"],1000000]"},
                  {{"비율 n / 2k", "ratio n / 2k"}, "[\"/\",\"n\",[\"*\",2,\"k\"]]"}},
                 1);
}

std::vector<Number> numbers_of_kernel() {
  std::string rows = "queries x       1       2       3       4       5  squares of 5, %\n";
  for (const double scale : {0.25, 1.0, 4.0}) {
    const std::vector<double> values = RandomHead(scale).values();
    double all = 0, first = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      all += values[i] * values[i];
      if (i < 5) first += values[i] * values[i];
    }
    rows += fmt::format("{:>9} {:>7.3f} {:>7.3f} {:>7.3f} {:>7.3f} {:>7.3f} {:>16.1f}\n", scale, values[0], values[1],
                        values[2], values[3], values[4], 100 * first / all);
  }
  return {own({"가장 큰 특잇값 다섯 개와, 그것이 제곱합에서 차지하는 비율. 쿼리가 클수록 비율이 작습니다.",
               "The five largest singular values, and their share of the sum of squares, which falls as queries grow."},
              rows)};
}

// The first five queries and keys, three numbers of each.
std::string kernel_as_words() {
  const RandomHead head(1);
  const auto cut = [](const Tensor& x) { return json_of(x.slice(0, 0, 5).slice(1, 0, 3)); };
  const std::string queries = cut(head.queries), keys = cut(head.keys);
  return fmt::format("{{\"tokens\":[\"t1\",\"t2\",\"t3\",\"t4\",\"t5\"],\"queries\":{0},\"keys\":{1},\"values\":{1}}}",
                     queries, keys);
}

std::vector<Figure> figures_of_kernel() {
  const auto curve = [](std::string name, double scale) {
    const std::vector<double> values = RandomHead(scale).values();
    drawing::Series series{std::move(name)};
    for (std::size_t i = 0; i < values.size(); ++i) {
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(values[i]);
    }
    return series;
  };
  return {{{"임의의 쿼리와 키로 만든 어텐션 행렬(64 x 64)의 특잇값, 로그 눈금. 쿼리가 클수록(날카로운 어텐션) 특잇값이 "
            "천천히 줄어듭니다.",
            "Singular values of attention matrices (64 x 64) of random queries and keys, logarithmic. The larger the "
            "queries, the sharper the attention, and the more slowly they fall."},
           draw(drawing::LineChart{.title = said("Singular values"),
                                   .x_label = said("number"),
                                   .y_label = said("value"),
                                   .series = {curve(said("queries x 1/4"), 0.25), curve(said("queries x 1"), 1),
                                              curve(said("queries x 4"), 4)},
                                   .log_y = true,
                                   .width = 540})}};
}

// The rank of untrained attention weights in floating point, and how many singular values hold 90 % of the squares.
std::string ranks() {
  std::string out = said("queries x  rank of 64  values that hold 90 % of the squares\n");
  for (const double scale : {0.25, 1.0, 4.0}) {
    const std::vector<double> values = RandomHead(scale).values();
    double all = 0, kept = 0;
    int64_t rank = 0, needed = 0;
    for (const double v : values) all += v * v, rank += v > 64 * 2.2e-16 * values[0] ? 1 : 0;
    for (const double v : values) {
      if (kept >= 0.9 * all) break;
      kept += v * v, ++needed;
    }
    out += fmt::format("{:>9} {:>11} {:>5}\n", scale, rank, needed);
  }
  return out;
}

// From one of 8 stored patterns with noise: energy and distance to the pattern before each update.
struct Recall {
  std::vector<double> energies, distances;
  Recall() {
    Generator generator(0);
    const Tensor patterns = randn({8, 16}, kFloat64, &generator);
    Tensor x = patterns[3] + 0.8 * randn({16}, kFloat64, &generator);
    for (int update = 0; update <= 6; ++update) {
      energies.push_back(energy(patterns, x));
      distances.push_back(sqrt(sum(square(x - patterns[3]))).item());
      x = recalled(patterns, x);
    }
  }
};

std::vector<Number> numbers_of_energy() {
  const Recall recall;
  std::string rows = "updates   energy  distance\n";
  for (std::size_t i = 0; i < recall.energies.size(); ++i)
    rows += fmt::format("{:>7} {:>8.4f} {:>9.4f}\n", i, recall.energies[i], recall.distances[i]);
  return {own({"갱신할 때마다의 에너지와, 저장한 패턴까지의 거리",
               "Energy after each update, and the distance to the stored pattern"},
              rows)};
}

std::vector<Figure> figures_of_energy() {
  const Recall recall;
  const auto chart = [](std::string title, std::string name, const std::vector<double>& values) {
    drawing::Series series{.name = name, .x = {}, .y = values};
    for (std::size_t i = 0; i < values.size(); ++i) series.x.push_back(static_cast<double>(i));
    return draw(drawing::LineChart{.title = std::move(title),
                                   .x_label = said("update"),
                                   .y_label = std::move(name),
                                   .series = {series},
                                   .width = 300,
                                   .height = 170});
  };
  return {{{"연속형 홉필드 네트워크: 저장한 패턴 8개 가운데 하나에 잡음을 더해 시작하고, 어텐션 x ← softmax(P x) P를 "
            "되풀이합니다. 에너지는 매번 내려가고 상태는 패턴으로 돌아옵니다.",
            "A continuous Hopfield network: from one of 8 stored patterns with noise, attention x <- softmax(P x) P is "
            "repeated. The energy falls at each update, and the state returns to the pattern."},
           {},
           {chart(said("Energy x.x / 2 - log sum exp(P x)"), said("energy"), recall.energies),
            chart(said("Distance"), said("distance to the pattern"), recall.distances)}}};
}

// Patterns of three numbers, and states near them: one update of each.
std::string patterns_as_words() {
  Generator generator(1);
  const Tensor patterns = randn({4, 3}, kFloat64, &generator) * 2,
               states = patterns + randn({4, 3}, kFloat64, &generator) * 0.5;
  return fmt::format(
      "{{\"tokens\":[\"p1\",\"p2\",\"p3\",\"p4\"],\"queries\":{},\"keys\":{},\"values\":{},\"scale\":false}}",
      json_of(states), json_of(patterns), json_of(patterns));
}

// The likeness of 12 random tokens after layers of attention without projections, alone and with residual connections.
std::vector<Number> numbers_of_rank() {
  Generator generator(0);
  Tensor bare = randn({1, 12, 16}, kFloat64, &generator), kept = bare;
  const auto attend = [](const Tensor& x) { return matmul(softmax(matmul(x, x.t()) / 16), x); };
  std::string rows = "layers   alone  with residual connections\n";
  for (int layer = 0; layer <= 8; ++layer) {
    if (layer % 2 == 0) rows += fmt::format("{:>6} {:>7.3f} {:>12.3f}\n", layer, likeness(bare), likeness(kept));
    bare = attend(bare);
    kept = kept + attend(kept);
  }
  return {own({"토큰의 평균 코사인 유사도: 어텐션만 되풀이할 때와, 잔차 연결이 있을 때",
               "The mean cosine of two tokens: attention alone, repeated, and with residual connections"},
              rows)};
}

std::string tokens_as_words() {
  Generator generator(0);
  return fmt::format("{{\"tokens\":[\"t1\",\"t2\",\"t3\",\"t4\"],\"vectors\":{}}}",
                     json_of(randn({4, 3}, kFloat64, &generator)));
}

std::vector<Figure> figures_of_rank() {
  return {{{"학습 전의 24층 인코더에서 서로 다른 두 토큰의 평균 코사인 유사도. 층이 깊을수록 토큰이 서로 닮아 갑니다. "
            "1이면 모든 토큰이 같은 방향입니다.",
            "Mean cosine of two different tokens in an untrained encoder of 24 layers. Tokens grow alike with the "
            "depth; at 1 all would have one direction."},
           chart_by_layer(said("Likeness of tokens, by layer"), said("mean cosine"), likeness)}};
}

}  // namespace

const Page k003_8_2_3_1{
    .tutorial = "003",
    .section = "8.2.3/1",
    .title = {"딥다이브 1: 수학적 원리와 계산 복잡도", "Deep dive 1: the mathematics, and the cost"},
    .about =
        {"점수와 가중 평균은 각각 n² d번의 곱셈이므로 비용은 길이의 제곱에 비례합니다. 점수를 헤드 차원의 제곱근으로 "
         "나누는 것은 소프트맥스가 한곳에 쏠려 기울기가 사라지는 일을 막습니다. 그림은 곱셈의 횟수를 세고, `show "
         "attention-cost`는 시간과 메모리를 잽니다.",
         "Scores and weighted means take n² d multiplications each, so the cost grows with the square of the length. "
         "Dividing scores by the root of the head's size keeps softmax from settling on one key, where its gradient "
         "vanishes. The figure counts multiplications, and `show attention-cost` measures time and memory."},
    .lines = {{.what = {"첫 절의 식 그대로", "The formula of the first section, as it is"},
               .pytorch = "weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1)\nreturn weights @ v",
               .snippet = "claims.h:scaled"}},
    .numbers = numbers_of_scale,
    .figures = figures_of_cost,
    .touch = {{.widget = "formula",
               .what = {"길이를 두 배로 늘릴 때마다 두 비용이 몇 배가 되는지 보십시오. 길이가 2k보다 짧으면 "
                        "Linformer가 오히려 비쌉니다.",
                        "See how both costs grow each time the length doubles. Below 2k tokens Linformer is the more "
                        "expensive one."},
               .data = cost_as_formula}},
    .exercises = {{{"길이가 두 배가 되면 어텐션과 피드포워드 네트워크의 비용은 각각 몇 배가 됩니까?",
                    "When the length doubles, how do the costs of attention and of the feed-forward network grow?"},
                   {"점수와 가중 평균은 네 배, 피드포워드 네트워크와 투영은 두 배가 됩니다.",
                    "Scores and weighted means cost four times as much, the feed-forward network and the projections "
                    "twice as much."}},
                  {{"tapegrad가 잰 전체 어텐션의 시간 기울기는 얼마입니까?",
                    "What slope did tapegrad measure for full attention?"},
                   {"4,096토큰부터 1.98입니다(tutorials/show/README.md). 이론값은 2입니다.",
                    "1.98 from 4,096 tokens on (tutorials/show/README.md); the theory says 2."}}},
    .without = {kNoFault},
    .commands = "tapegrad show attention-cost",
    .terms = "계산 복잡도 complexity O(n^2) 스케일링 scaling 딥다이브 deep dive"};

const Page k003_8_2_3_2{
    .tutorial = "003",
    .section = "8.2.3/2.1",
    .also = {"8.2.3/2.2"},
    .title = {"딥다이브 2: 비대칭 커널과 특잇값", "Deep dive 2: an asymmetric kernel, and singular values"},
    .about = {"exp(q·k / √d)는 쿼리와 키가 다른 투영이므로 대칭이 아닌 커널로 볼 수 있습니다. 어텐션 행렬의 특잇값은 "
              "정보가 몇 개의 방향에 모이는지 알려 줍니다. 몇 개의 특잇값이 90 %를 설명하는지는 쿼리의 크기, 곧 "
              "어텐션이 얼마나 날카로운지에 달려 있습니다.",
              "exp(q·k / √d) can be read as a kernel that is not symmetric, because queries and keys are different "
              "projections. The singular values of the weights show over how many directions the information is "
              "spread. The claim that a few of them explain 90 % depends on the size of the queries, which makes "
              "attention sharp or flat."},
    .lines = {{.what = {"가중치의 특잇값", "The singular values of weights"},
               .pytorch =
                   "weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1)\nreturn torch.linalg.svdvals(weights)",
               .snippet = "claims.h:spectrum"}},
    .numbers = numbers_of_kernel,
    .figures = figures_of_kernel,
    .touch = {{.widget = "words",
               .what = {"쿼리와 키가 다르므로 점수 행렬은 대칭이 아닙니다. 온도를 내리면 어텐션이 날카로워져 행들이 "
                        "서로 달라지고, 올리면 모든 행이 같아져 랭크 1에 가까워집니다.",
                        "Queries are not keys, so scores are not symmetric. A lower temperature makes attention sharp "
                        "and its rows different; a higher one makes all rows alike, close to rank 1."},
               .data = kernel_as_words}},
    .faults =
        {{.claim = {"특잇값 몇 개에 0.9 이상이 모인다고 하지만 어떤 조건에서 관측했는지 밝히지 않습니다.",
                    "A few singular values are said to hold 0.9 or more, without the conditions of the observation."},
          .proof = {"아래는 임의의 쿼리와 키로 센 것입니다. 학습된 모델에서는 `attention copy --analyze`가 헤드마다 "
                    "판정합니다.",
                    "Counted below for random queries and keys; for trained models `attention copy --analyze` decides "
                    "head by head."},
          .shown = ranks}},
    .exercises =
        {{{"쿼리와 키의 차원이 16인데 가중치 행렬의 계수(랭크)는 왜 16을 넘을 수 있습니까?",
           "Queries and keys have size 16. Why can the weights have a rank above 16?"},
          {"q k^T의 랭크는 16 이하이지만 소프트맥스의 지수 함수가 원소마다 적용되어 랭크를 올리기 때문입니다.",
           "q k^T has a rank of at most 16, but softmax's exponential acts on each element, which raises the rank."}}},
    .commands = "tapegrad train copy\ntapegrad attention copy --analyze",
    .terms = "커널 kernel SVD 특잇값 singular value 랭크 rank KSVD"};

const Page k003_8_2_3_3{
    .tutorial = "003",
    .section = "8.2.3/3.1",
    .also = {"8.2.3/3.2"},
    .title = {"딥다이브 3: 에너지와 홉필드 네트워크", "Deep dive 3: energy, and Hopfield networks"},
    .about = {"저장한 패턴을 키와 값으로, 상태를 쿼리로 놓으면 연속형 홉필드 네트워크의 갱신은 어텐션 한 번과 "
              "같습니다(Ramsauer 외, 2021). 그 에너지는 갱신할 때마다 내려갑니다. 그림은 잡음이 섞인 상태가 저장한 "
              "패턴으로 돌아오는 과정을 계산합니다.",
              "With stored patterns as keys and values and the state as query, one update of a continuous Hopfield "
              "network is one attention (Ramsauer and others, 2021). Its energy falls at every update. The figure "
              "computes how a state with noise returns to the stored pattern."},
    .lines = {{.what = {"갱신 한 번과 에너지", "One update, and the energy"},
               .pytorch = R"(new = (patterns @ x).softmax(dim=-1) @ patterns
energy = x @ x / 2 - (patterns @ x).logsumexp(dim=-1))",
               .snippet = "claims.h:hopfield"},
              {.what = {"잡음이 섞인 패턴에서 시작해 되풀이합니다.", "Repeated, from a pattern with noise"},
               .pytorch = R"(x = patterns[3] + 0.8 * torch.randn(16)
for update in range(3):
    x = (patterns @ x).softmax(dim=-1) @ patterns)",
               .snippet = "003_claims:recall"}},
    .numbers = numbers_of_energy,
    .figures = figures_of_energy,
    .touch = {{.widget = "words",
               .what = {"키와 값은 저장한 패턴 넷, 쿼리는 그 근처의 상태입니다. 문맥 벡터가 갱신된 상태이며, 온도를 "
                        "내리면 가장 가까운 패턴이 되고 올리면 패턴들의 평균이 됩니다.",
                        "Keys and values are four stored patterns, queries are states near them. Contexts are the "
                        "updated states: the nearest pattern at a low temperature, the mean of all at a high one."},
               .data = patterns_as_words}},
    .faults =
        {{.claim = {"3.1의 에너지 식은 수가 아니라 벡터이고, 출력이 V에 대한 최솟값이라는 말도 성립하지 않습니다.",
                    "The energy of 3.1 is a vector, not a number, and the output is not its minimum over V."},
          .proof = {"식에 V_j가 그대로 곱해져 있으며 V에 대해 일차이므로 최솟값이 없습니다. 위의 그림은 홉필드 "
                    "네트워크의 에너지 x·x / 2 - log Σ exp(p·x)를 씁니다.",
                    "The formula multiplies by V_j, and it is linear in V, so it has no minimum. The figure above uses "
                    "the energy of the Hopfield network, x·x / 2 - log Σ exp(p·x)."}}},
    .exercises = {{{"미분 방정식 τ dx/dt = -x + softmax(P x) P의 고정점은 무엇입니까?",
                    "What are the fixed points of τ dx/dt = -x + softmax(P x) P?"},
                   {"x = softmax(P x) P인 점, 곧 위에서 되풀이한 갱신이 멈추는 점입니다. 갱신 한 번은 오일러 방법으로 "
                    "τ만큼 나아간 것과 같습니다.",
                    "The points with x = softmax(P x) P, where the repeated update stops. One update is one step of "
                    "Euler's method of length τ."}}},
    .commands = "tapegrad attention copy --analyze",
    .terms = "에너지 energy 홉필드 Hopfield 연상 기억 associative memory"};

const Page k003_8_2_3_4{
    .tutorial = "003",
    .section = "8.2.3/4.1",
    .also = {"8.2.3/4.2", "8.2.3/6.2"},
    .title = {"딥다이브 4: 랭크 붕괴와 효율적인 어텐션, 6.2: 깊이에 따른 신호",
              "Deep dive 4: rank collapse and efficient attention; 6.2: the signal over the depth"},
    .about = {"어텐션은 토큰을 평균하므로 층을 쌓을수록 토큰들이 닮아 갈 수 있고, 잔차 연결이 이를 늦춥니다. 그림은 "
              "학습 전 24층에서 이를 직접 잽니다. Linformer, Performer, Reformer는 길이의 제곱에 비례하는 비용을 "
              "줄이는 세 가지 길입니다.",
              "Attention takes means, so tokens can grow alike from layer to layer, which residual connections slow "
              "down. The figure measures this in 24 untrained layers. Linformer, Performer and Reformer are three ways "
              "around the cost that grows with the square of the length."},
    .lines = {{.what = {"토큰의 유사도", "The likeness of tokens"},
               .pytorch = R"(unit = x / x.norm(dim=-1, keepdim=True)
n = x.size(1)
cosine = ((unit @ unit.mT).sum((1, 2)).mean() - n) / (n * (n - 1)))",
               .snippet = "claims.h:likeness"},
              {.what = {"어텐션을 여덟 번 되풀이합니다. 잔차 연결이 없을 때와 있을 때",
                        "Attention, repeated eight times, without and with residual connections"},
               .pytorch = R"(attend = lambda y: (y @ y.mT / 16).softmax(dim=-1) @ y
for layer in range(8):
    bare, kept = attend(bare), kept + attend(kept))",
               .snippet = "003_claims:collapse"}},
    .numbers = numbers_of_rank,
    .figures = figures_of_rank,
    .touch = {{.widget = "words",
               .what = {"문맥 벡터는 처음의 벡터보다 서로 닮았습니다. 온도를 올리면 가중치가 모두 1/4에 가까워지고 네 "
                        "문맥 벡터가 같아집니다. 이것이 랭크 붕괴입니다.",
                        "Contexts are more alike than the vectors. A higher temperature moves all weights towards 1/4 "
                        "and makes the four contexts equal: rank collapse."},
               .data = tokens_as_words}},
    .faults =
        {{.claim = {"표에서 Performer의 복잡도가 O(n log n)입니다.", "The table gives Performer O(n log n)."},
          .proof = {"특징의 수가 정해져 있으면 O(n)입니다(Choromanski 외, 2021). `show attention-cost`가 잰 기울기는 "
                    "0.99입니다.",
                    "For a fixed number of features it is O(n) (Choromanski et al. 2021); `show attention-cost` "
                    "measured the slope 0.99."}},
         {.claim =
              {"깊은 층에서 가중치의 랭크가 0.1n 이하이고 이는 효율적인 압축이라고 하지만, 관측의 조건이 없습니다.",
               "In deep layers the weights are said to have a rank of at most 0.1n, an efficient compression, without "
               "the conditions of the observation."},
          .proof =
              {"무작위 쿼리와 키의 가중치는 아래처럼 랭크가 가득 차 있고, 제곱합의 90 %를 담는 특잇값의 수는 쿼리의 "
               "크기에 달려 있습니다. 랭크 붕괴는 압축이 아니라 토큰들의 차이가 사라지는 현상입니다(Dong 외, 2021).",
               "Weights of random queries and keys have full rank, as below, and how many singular values hold 90 % of "
               "the squares depends on the size of the queries. Rank collapse is not compression: the differences "
               "between tokens vanish (Dong et al. 2021)."},
          .shown = ranks},
         {.claim = {"신호 대 잡음비 e^(-0.2 l)은 ResNet-50의 값이며 어텐션의 것이 아닙니다.",
                    "The signal-to-noise ratio e^(-0.2 l) is quoted for ResNet-50, not for attention."},
          .proof =
              {"어텐션에는 이 비의 정의가 없습니다. 대신 위의 그림처럼 토큰의 유사도를 층마다 잴 수 있습니다.",
               "It is not defined for attention. What can be measured is the likeness of tokens by layer, as above."}}},
    .exercises = {{{"가중치가 모두 1/n이면 한 층 뒤 어텐션 출력의 랭크는 얼마입니까?",
                    "With all weights 1/n, what is the rank of the attention's output?"},
                   {"모든 토큰이 같은 평균이 되므로 1입니다. 잔차 연결이 있으면 원래의 차이가 남습니다.",
                    "1: all tokens become the same mean. With a residual connection the original differences stay."}}},
    .commands =
        "tapegrad show attention-cost\ntapegrad show performer-error\ntapegrad train copy --attention linformer",
    .terms = "랭크 붕괴 rank collapse Linformer Performer Reformer 효율적 SNR 신호 대 잡음비 깊이 depth"};

}  // namespace tapegrad::tasks::tutorial
