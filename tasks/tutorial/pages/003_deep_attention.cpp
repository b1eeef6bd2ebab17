// Tutorial 003, the deep dives of section 8.2.3: cost, kernels and singular values, energy, rank, dynamics,
// information, and analogies.
#include <fmt/format.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/drawing/charts.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/show/show.h>
#include <tapegrad/tasks/tutorial/numbers.h>
#include <tapegrad/tasks/tutorial/pages.h>
#include <tapegrad/tasks/tutorial/pages/depth.h>

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
            "겹칩니다. 둘 다 길이에 "
            "비례합니다.",
            "Multiplications of one head (size 64, 256 projected keys or features), logarithmic. The curves of "
            "Linformer and "
            "Performer coincide: both are proportional to the length."},
           draw(drawing::LineChart{.title = said("Cost of attention, by length"),
                                   .x_label = said("tokens"),
                                   .y_label = said("multiplications"),
                                   .series = {full_cost, linear, features},
                                   .log_y = true,
                                   .width = 540})}};
}

// The singular values of untrained attention weights: 64 tokens, queries and keys of size 16.
Tensor singular_values(double scale) {
  Generator generator(0);
  const Tensor q = randn({64, 16}, kFloat64, &generator) * scale, k = randn({64, 16}, kFloat64, &generator);
  return svdvals(softmax(matmul(q, k.t()) / 4));
}

std::vector<Figure> figures_of_kernel() {
  const auto curve = [](std::string name, double scale) {
    const std::vector<double> values = singular_values(scale).to_vector<double>();
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
            "queries, the "
            "sharper the attention, and the more slowly they fall."},
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
  std::string out = "queries x  rank of 64  values that hold 90 % of the squares\n";
  for (const double scale : {0.25, 1.0, 4.0}) {
    const std::vector<double> values = singular_values(scale).to_vector<double>();
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

// One Hopfield update moves a state towards a stored pattern; its energy falls.
std::vector<Figure> figures_of_energy() {
  Generator generator(0);
  const Tensor patterns = randn({8, 16}, kFloat64, &generator);
  drawing::Series energy{said("energy")}, distance{said("distance to the pattern")};
  Tensor x = patterns[3] + 0.8 * randn({16}, kFloat64, &generator);
  for (int step = 0; step <= 6; ++step) {
    const Tensor scores = matmul(patterns, x);
    energy.x.push_back(step);
    energy.y.push_back((0.5 * sum(square(x)) - logsumexp(scores, -1)).item());
    distance.x.push_back(step);
    distance.y.push_back(sqrt(sum(square(x - patterns[3]))).item());
    x = matmul(softmax(scores), patterns);
  }
  const auto chart = [](std::string title, drawing::Series series) {
    return draw(drawing::LineChart{.title = std::move(title),
                                   .x_label = said("update"),
                                   .y_label = series.name,
                                   .series = {series},
                                   .width = 300,
                                   .height = 170});
  };
  return {{{"연속형 홉필드 네트워크: 저장한 패턴 8개 가운데 하나에 잡음을 더해 시작하고, 어텐션 x ← softmax(P x) P를 "
            "되풀이합니다. "
            "에너지는 매번 내려가고 상태는 패턴으로 돌아옵니다.",
            "A continuous Hopfield network: from one of 8 stored patterns with noise, attention x <- softmax(P x) P is "
            "repeated. The "
            "energy falls at each update, and the state returns to the pattern."},
           {},
           {chart(said("Energy x.x / 2 - log sum exp(P x)"), energy), chart(said("Distance"), distance)}}};
}

// The mean cosine of two different tokens of a sequence; x [B, T, C].
double likeness(const Tensor& x) {
  const Tensor unit = x / sqrt(sum(square(x), {-1}, true));
  const auto tokens = static_cast<double>(x.size(1));
  return ((mean(sum(matmul(unit, unit.transpose(1, 2)), {1, 2})) - tokens) / (tokens * (tokens - 1))).item();
}

std::vector<Figure> figures_of_rank() {
  return {{{"학습 전의 24층 인코더에서 서로 다른 두 토큰의 평균 코사인 유사도. 층이 깊을수록 토큰이 서로 닮아 갑니다. "
            "1이면 모든 토큰이 "
            "같은 방향입니다.",
            "Mean cosine of two different tokens in an untrained encoder of 24 layers. Tokens grow alike with the "
            "depth; at 1 all "
            "would have one direction."},
           chart_by_layer(said("Likeness of tokens, by layer"), said("mean cosine"), likeness)}};
}

// Entropies of softmax at three temperatures, and of the uniform distribution.
std::string entropies() {
  const Tensor scores = tensor({2.0, 1.0, 0.5, 0.0}, kFloat64);
  std::string out;
  for (const double temperature : {0.5, 1.0, 4.0}) {
    const Tensor p = softmax(scores / temperature);
    out += fmt::format("softmax, T = {:<3} entropy {:.3f}\n", temperature, -sum(p * log(p)).item());
  }
  return out + fmt::format("uniform          entropy {:.3f}\n", log(full({}, 4, kFloat64)).item());
}

// The share of an attention matrix's squares in the lowest quarter of frequencies, for the identity and for averaging.
std::string low_frequencies() {
  const auto share = [](const Tensor& a) {  // by a cosine transform of the rows' axis
    const int64_t n = a.size(0);
    const Tensor t = arange(0, static_cast<double>(n), 1, kFloat64);
    const Tensor waves =
        cos(matmul(t.unsqueeze(1), (t + 0.5).unsqueeze(0)) * (3.141592653589793 / static_cast<double>(n)));
    const Tensor unit = waves / sqrt(sum(square(waves), {1}, true));
    const Tensor moved = matmul(unit, a);
    return sum(square(narrow(moved, 0, 0, n / 4))).item() / sum(square(moved)).item();
  };
  return fmt::format("each token attends to itself:  {:.2f}\nall tokens attend to all:      {:.2f}\n",
                     share(eye(32, kFloat64)), share(full({32, 32}, 1.0 / 32, kFloat64)));
}

}  // namespace

const Page k003_8_2_3_1{
    .tutorial = "003",
    .section = "8.2.3/1",
    .title = {"딥다이브 1: 수학적 원리와 계산 복잡도", "Deep dive 1: the mathematics, and the cost"},
    .about = {"점수와 가중 평균은 각각 n² d번의 곱셈이므로 비용은 길이의 제곱에 비례합니다. 점수를 헤드 차원의 "
              "제곱근으로 나누는 것은 "
              "소프트맥스가 한곳에 쏠려 기울기가 사라지는 일을 막습니다. 그림은 곱셈의 횟수를 세고, `show "
              "attention-cost`는 시간과 "
              "메모리를 잽니다.",
              "Scores and weighted means take n² d multiplications each, so the cost grows with the square of the "
              "length. Dividing "
              "scores by the root of the head's size keeps softmax from settling on one key, where its gradient "
              "vanishes. The figure "
              "counts multiplications, and `show attention-cost` measures time and memory."},
    .figures = figures_of_cost,
    .exercises = {{{"길이가 두 배가 되면 어텐션과 피드포워드 네트워크의 비용은 각각 몇 배가 됩니까?",
                    "When the length doubles, how do the costs of attention and of the feed-forward network grow?"},
                   {"점수와 가중 평균은 네 배, 피드포워드 네트워크와 투영은 두 배가 됩니다.",
                    "Scores and weighted means cost four times as much, the feed-forward network and the projections "
                    "twice as much."}},
                  {{"tapegrad가 잰 전체 어텐션의 시간 기울기는 얼마입니까?",
                    "What slope did tapegrad measure for full attention?"},
                   {"4,096토큰부터 1.98입니다(tasks/show/README.md). 이론값은 2입니다.",
                    "1.98 from 4,096 tokens on (tasks/show/README.md); the theory says 2."}}},
    .commands = "tapegrad show attention-cost",
    .terms = "계산 복잡도 complexity O(n^2) 스케일링 scaling 딥다이브 deep dive"};

const Page k003_8_2_3_2{
    .tutorial = "003",
    .section = "8.2.3/2.1",
    .also = {"8.2.3/2.2"},
    .title = {"딥다이브 2: 비대칭 커널과 특잇값", "Deep dive 2: an asymmetric kernel, and singular values"},
    .about =
        {"exp(q·k / √d)는 쿼리와 키가 다른 투영이므로 대칭이 아닌 커널로 볼 수 있습니다. 어텐션 행렬의 특잇값은 "
         "정보가 몇 개의 방향에 "
         "모이는지 알려 줍니다. 몇 개의 특잇값이 90%를 설명한다는 주장은 쿼리의 크기, 곧 어텐션이 얼마나 "
         "날카로운지에 달려 "
         "있습니다.",
         "exp(q·k / √d) can be read as a kernel that is not symmetric, because queries and keys are different "
         "projections. The "
         "singular values of the weights show over how many directions the information is spread. The claim that a "
         "few of them "
         "explain 90 % depends on the size of the queries, which makes attention sharp or flat."},
    .figures = figures_of_kernel,
    .faults =
        {{.claim = {"특잇값 몇 개에 0.9 이상이 모인다고 하지만 어떤 조건에서 관측했는지 밝히지 않습니다.",
                    "A few singular values are said to hold 0.9 or more, without the conditions of the observation."},
          .proof = {"아래는 임의의 쿼리와 키로 센 것입니다. 학습된 모델에서는 `attention copy --analyze`가 헤드마다 "
                    "판정합니다.",
                    "Counted below for random queries and keys; for trained models `attention copy --analyze` decides "
                    "head by "
                    "head."},
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
    .about =
        {"저장한 패턴을 키와 값으로, 상태를 쿼리로 놓으면 연속형 홉필드 네트워크의 갱신은 어텐션 한 번과 "
         "같습니다(Ramsauer 외, 2021). "
         "그 에너지는 갱신할 때마다 내려갑니다. 그림은 잡음이 섞인 상태가 저장한 패턴으로 돌아오는 과정을 계산합니다.",
         "With stored patterns as keys and values and the state as query, one update of a continuous Hopfield network "
         "is one "
         "attention (Ramsauer and others, 2021). Its energy falls at every update. The figure computes how a state "
         "with "
         "noise returns "
         "to the stored pattern."},
    .figures = figures_of_energy,
    .faults =
        {{.claim = {"3.1의 에너지 식은 수가 아니라 벡터이고, 출력이 V에 대한 최솟값이라는 말도 성립하지 않습니다.",
                    "The energy of 3.1 is a vector, not a number, and the output is not its minimum over V."},
          .proof = {"식에 V_j가 그대로 곱해져 있으며 V에 대해 일차이므로 최솟값이 없습니다. 위의 그림은 홉필드 "
                    "네트워크의 에너지 "
                    "x·x / 2 - log Σ exp(p·x)를 씁니다.",
                    "The formula multiplies by V_j, and it is linear in V, so it has no minimum. The figure above uses "
                    "the energy of "
                    "the Hopfield network, x·x / 2 - log Σ exp(p·x)."}}},
    .exercises = {{{"미분 방정식 τ dx/dt = -x + softmax(P x) P의 고정점은 무엇입니까?",
                    "What are the fixed points of τ dx/dt = -x + softmax(P x) P?"},
                   {"x = softmax(P x) P인 점, 곧 위에서 되풀이한 갱신이 멈추는 점입니다. 갱신 한 번은 오일러 방법으로 "
                    "τ만큼 나아간 것과 "
                    "같습니다.",
                    "The points with x = softmax(P x) P, where the repeated update stops. One update is one step of "
                    "Euler's method of "
                    "length τ."}}},
    .commands = "tapegrad attention copy --analyze",
    .terms = "에너지 energy 홉필드 Hopfield 연상 기억 associative memory"};

const Page k003_8_2_3_4{
    .tutorial = "003",
    .section = "8.2.3/4.1",
    .also = {"8.2.3/4.2", "8.2.3/6.2"},
    .title = {"딥다이브 4: 랭크 붕괴와 효율적인 어텐션, 6.2: 깊이에 따른 신호",
              "Deep dive 4: rank collapse and efficient attention; 6.2: the signal over the depth"},
    .about = {"어텐션은 토큰을 평균하므로 층을 쌓을수록 토큰들이 닮아 갈 수 있고, 잔차 연결이 이를 늦춥니다. 그림은 "
              "학습 전 24층에서 이를 "
              "직접 잽니다. Linformer, Performer, Reformer는 길이의 제곱에 비례하는 비용을 줄이는 세 가지 길입니다.",
              "Attention takes means, so tokens can grow alike from layer to layer, which residual connections slow "
              "down. The figure "
              "measures this in 24 untrained layers. Linformer, Performer and Reformer are three ways around the cost "
              "that grows with "
              "the square of the length."},
    .figures = figures_of_rank,
    .faults =
        {{.claim = {"표에서 Performer의 복잡도가 O(n log n)입니다.", "The table gives Performer O(n log n)."},
          .proof = {"특징의 수가 정해져 있으면 O(n)입니다(Choromanski 외, 2021). `show attention-cost`가 잰 기울기는 "
                    "0.99입니다.",
                    "For a fixed number of features it is O(n) (Choromanski et al. 2021); `show attention-cost` "
                    "measured the "
                    "slope 0.99."}},
         {.claim =
              {"깊은 층에서 가중치의 랭크가 0.1n 이하이고 이는 효율적인 압축이라고 하지만, 관측의 조건이 없습니다.",
               "In deep layers the weights are said to have a rank of at most 0.1n, an efficient compression, "
               "without the conditions of the observation."},
          .proof =
              {"무작위 쿼리와 키의 가중치는 아래처럼 랭크가 가득 차 있고, 제곱합의 90 %를 담는 특잇값의 수는 쿼리의 "
               "크기에 달려 있습니다. 랭크 붕괴는 압축이 아니라 토큰들의 차이가 사라지는 현상입니다(Dong 외, 2021).",
               "Weights of random queries and keys have full rank, as below, and how many singular values hold "
               "90 % of the squares depends on the size of the queries. Rank collapse is not compression: the "
               "differences between tokens vanish (Dong et al. 2021)."},
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
    .figures = figures_of_energy,
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
          .shown = low_frequencies}},
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
              "계산할 수 있는 것은 8.1의 "
              "식으로, 점수 행렬이 랭크 r의 곱이라는 뜻입니다. 그림은 그 랭크 때문에 점수 자체는 언제나 낮은 랭크이고, "
              "소프트맥스 뒤에는 "
              "그렇지 않음을 보여 줍니다.",
              "Neuroscience, tensor networks, geometry and quantum attention are analogies or directions of research, "
              "without a method "
              "or a number. What can be computed is the formula of 8.1: scores are a product of rank r. The figure "
              "shows that scores "
              "therefore always have a low rank, and weights after softmax do not."},
    .figures = figures_of_kernel,
    .exercises = {{{"8.1의 식에서 본드 차원 r은 보통의 어텐션에서 무엇입니까?",
                    "What is the bond dimension r of 8.1 in plain attention?"},
                   {"헤드의 차원입니다. A_ij = Σ Q_iα K_jα는 q k^T를 원소로 쓴 것입니다.",
                    "The size of a head: A_ij = Σ Q_iα K_jα is q k^T, element by element."}}},
    .commands = "tapegrad tutorial 003 8.2.3/2.1",
    .terms = "V4 전두엽 작업 기억 텐서 네트워크 MPO 리만 곡률 양자 STDP"};

}  // namespace tapegrad::tasks::tutorial
