// Tutorial 003, the deep dives of section 8.3.2: learned, relative and further positions, their comparison, and
// guidelines.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/rope.h>
#include <tapegrad/nn/sinusoidal_positions.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/relative_positions.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/show/toeplitz.h>

#include <span>

namespace tapegrad::tasks::tutorial {
namespace {

// Scores of one query at position `from` and one key at earlier distances, both rotated by RoPE.
std::vector<double> rotated_scores(int64_t from, double base) {
  Generator generator(3);
  const Tensor q = randn({64}, kFloat64, &generator), k = randn({64}, kFloat64, &generator);
  const Tensor queries = nn::rope(q.expand({1, 64}), from, base);
  const Tensor keys = nn::rope(k.expand({64, 64}), from - 63, base);  // of positions from - 63 .. from
  return flip(matmul(keys, queries[0]), {0}).to_vector<double>();
}

std::vector<Figure> figures_of_rope() {
  const auto curve = [](std::string name, int64_t from, double base) {
    drawing::Series series{.name = std::move(name), .x = {}, .y = rotated_scores(from, base)};
    for (std::size_t i = 0; i < series.y.size(); ++i) series.x.push_back(static_cast<double>(i));
    return series;
  };
  drawing::Series moved = curve(said("query at 1063"), 1063, 10000);
  moved.mark = drawing::Series::Mark::dashes;
  return {{{"RoPE: 같은 쿼리와 키의 점수를 거리의 함수로 그린 것. 쿼리가 위치 63에 있든 1063에 있든 두 곡선이 "
            "겹칩니다. 셋째 곡선은 "
            "NTK-aware 스케일링(4배)으로 느려진 회전입니다.",
            "RoPE: the score of one query and one key by distance. The curves for queries at positions 63 and 1063 "
            "coincide. The third "
            "one turns more slowly: NTK-aware scaling by 4."},
           draw(drawing::LineChart{.title = said("Score by distance, head of size 64"),
                                   .x_label = said("distance"),
                                   .y_label = said("score"),
                                   .series = {curve(said("query at 63"), 63, 10000), moved,
                                              curve("NTK-aware, x 4", 63, nn::ntk_base(10000, 4, 64))},
                                   .width = 540})}};
}

std::vector<Number> numbers_of_rope() {
  const std::vector<double> here = rotated_scores(63, 10000), there = rotated_scores(1063, 10000);
  const std::vector<double> slow = rotated_scores(63, nn::ntk_base(10000, 4, 64));
  std::string rows = "distance  query at 63  query at 1063  NTK-aware, x 4\n";
  for (const std::size_t distance : {0, 1, 2, 4, 8, 16, 32})
    rows +=
        fmt::format("{:>8} {:>12.4f} {:>14.4f} {:>15.4f}\n", distance, here[distance], there[distance], slow[distance]);
  return {own({"RoPE에서 같은 쿼리와 키의 점수. 둘째와 셋째 열이 같으므로 점수는 거리에만 좌우됩니다.",
               "Scores of one query and one key by RoPE. The second and third columns are equal: scores depend on the "
               "distance only."},
              rows)};
}

// Four words, with vectors and a table of learned positions as they are drawn before training.
std::string learned_as_positions() {
  Generator generator(0);
  const std::string vectors = json_of(randn({4, 4}, kFloat64, &generator));
  return fmt::format("{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"vectors\":{},\"positions\":{}}}", vectors,
                     json_of(0.02 * randn({4, 4}, kFloat64, &generator)));
}

// The same words, with a mixture: half of the sines, and a learned part.
std::string mixed_as_positions() {
  Generator generator(0);
  const std::string vectors = json_of(randn({4, 4}, kFloat64, &generator));
  const Tensor mixed = 0.5 * nn::sinusoidal_table(4, 4).to(kFloat64) + 0.5 * randn({4, 4}, kFloat64, &generator);
  return fmt::format("{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"vectors\":{},\"positions\":{}}}", vectors,
                     json_of(mixed));
}

std::vector<Number> numbers_of_order() {
  std::string rows;
  for (const std::string_view kind : nn::position_names())
    rows += fmt::format("{:<16} {:.2e}\n", kind, change_of_order(nn::positions_named(kind)));
  return {own({"두 단어를 맞바꾸었을 때 (자리를 바꾼 것 말고) 출력이 달라지는 크기: `--positions`의 모든 방식",
               "How much outputs change, beyond being exchanged, when two words are exchanged: all of `--positions`"},
              rows)};
}

// Multiplications for a Toeplitz matrix times values [n, 16], in full and by Fourier transforms, and their difference.
std::vector<Number> numbers_of_toeplitz() {
  std::string rows = "    n      in full     by FFT  difference\n";
  for (const int64_t n : {16, 64, 256, 512}) {
    Generator generator(0);
    Toeplitz bias(randn({2 * n - 1}, kFloat64, &generator));
    const Tensor values = randn({n, 16}, kFloat64, &generator);
    const double difference = amax(abs(bias.times(values) - matmul(bias.matrix(), values))).item();
    rows += fmt::format("{:>5} {:>12} {:>10} {:>11.0e}\n", n, n * n * 16, bias.multiplications(), difference);
  }
  return {own({"퇴플리츠 행렬과 값 [n, 16]의 곱에 드는 곱셈의 수와, 두 결과의 차이",
               "Multiplications for a Toeplitz matrix times values [n, 16], and the difference of both results"},
              rows)};
}

std::string toeplitz_as_formula() {
  return json_of(
      {{"n", {"log2 n (토큰 n개)", "log2 n (n tokens)"}, 4, 16, 1, 9, true},
       {"c", {"값의 열 c개", "c columns of values"}, 1, 128, 1, 16}},
      {{{"토큰 n", "tokens n"}, "\"n\""},
       {{"그대로: n²c", "in full: n²c"}, "[\"*\",\"n\",\"n\",\"c\"]"},
       {{"FFT: 약 8nc log2 2n", "by FFT: about 8nc log2 2n"}, "[\"*\",8,\"n\",\"c\",[\"log2\",[\"*\",2,\"n\"]]]"}});
}

std::string moved_scores() {
  const std::vector<double> here = rotated_scores(63, 10000), there = rotated_scores(1063, 10000);
  double most = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    most = std::max(most, here[i] > there[i] ? here[i] - there[i] : there[i] - here[i]);
  return said("largest difference of a score after moving by 1000 positions: {:.0e}\n", most);
}

// The topic relative-positions; a chart of the best tables for two wanted scores, one of products, two matrices.
std::vector<drawing::Drawing> drawings_of_topic(std::size_t first, std::size_t count) {
  ShowRequest request;
  request.length = 512;
  const std::vector<drawing::Drawing> all = show_relative_positions(request).drawings;
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

std::vector<Figure> figures_of_relative() {
  std::vector<Figure> figures = figures_of_rope();
  figures.push_back(
      {{"T5 편향의 두 형태가 원하는 점수에 가장 가까워지는 표. 튜토리얼의 표는 거리 15까지 거리마다 숫자가 하나씩 있고 "
        "그보다 먼 "
        "거리는 모두 하나를 나누어 씁니다. 논문의 표는 거리 8부터 구간이 점점 넓어집니다. 위의 점수에는 논문의 표가, "
        "거리 15까지의 "
        "한 곳만 가리키는 점수에는 튜토리얼의 표가 더 가깝습니다.",
        "The tables of both forms of T5's bias that come nearest to wanted scores. The tutorial's has one number per "
        "distance up to "
        "15, and one for all larger distances. The intervals of the paper's grow from distance 8 on. The paper's is "
        "nearer to the "
        "first of these scores; to a score that singles out one distance up to 15, the tutorial's would be."},
       {},
       drawings_of_topic(0, 2)});
  return figures;
}

std::string forms_of_t5() { return relative_positions::forms_of_t5(16, 0); }

std::vector<Figure> figures_of_toeplitz() {
  std::vector<Figure> figures = figures_of_rope();
  figures.push_back({{"퇴플리츠 행렬과 값 [n, 16]의 곱에 드는 곱셈의 수: 그대로 곱할 때와 FFT로 곱할 때.",
                      "Multiplications for the product of a Toeplitz matrix with values [n, 16]: in full, and by FFT."},
                     drawings_of_topic(2, 1).front(),
                     {}});
  figures.push_back({{"거리마다 하나인 편향은 대각선마다 값이 같습니다. q·k를 더한 점수는 그렇지 않습니다.",
                      "A bias per distance has equal values along each diagonal. With q·k added, scores have not."},
                     {},
                     drawings_of_topic(3, 2)});
  return figures;
}

std::string toeplitz_attention() { return relative_positions::attention_by_fft(16, 0); }

std::vector<Figure> figures_of_order() {
  std::vector<drawing::Drawing> charts;
  const std::span<const std::string_view> all = nn::position_names();
  for (const std::span<const std::string_view> half : {all.first(all.size() / 2), all.subspan(all.size() / 2)}) {
    drawing::BarChart chart{
        .title = said("Change of outputs when two words are exchanged"), .series = {{said("change")}}, .width = 560};
    for (const std::string_view kind : half) {
      chart.labels.emplace_back(kind);
      chart.series[0].y.push_back(change_of_order(nn::positions_named(kind)));
    }
    charts.push_back(draw(chart));
  }
  return {{{"학습 전의 인코더에서 두 단어를 맞바꾸었을 때 출력이 (자리를 바꾼 것 말고) 달라지는 크기. none과 index는 "
            "순서를 전혀 모르고 나머지는 "
            "모두 압니다.",
            "How much an untrained encoder's outputs change, beyond being exchanged, when two words are exchanged. "
            "none and index do not "
            "know the order at all; all others do."},
           {},
           charts}};
}

}  // namespace

const Page k003_8_3_2_1{
    .tutorial = "003",
    .section = "8.3.2/1",
    .also = {"8.3.2/2"},
    .title = {"딥다이브 1-2: 학습하는 위치와 상대 위치", "Deep dives 1 and 2: learned and relative positions"},
    .about = {"학습하는 위치는 표의 길이를 넘을 수 없으므로 더 긴 문장에는 보간을 씁니다. 상대 위치는 점수가 두 위치의 "
              "거리에만 좌우되게 "
              "합니다. 그림은 RoPE에서 쿼리와 키를 함께 천 칸 옮겨도 점수가 변하지 않음을 계산합니다.",
              "Learned positions end with their table, so longer sentences need interpolation. Relative positions make "
              "a score depend "
              "on the distance of two positions only. The figure computes for RoPE that scores stay the same when "
              "query and key move by a "
              "thousand positions together."},
    .lines = {{.what = {"학습하는 위치 임베딩", "Learned positions"},
               .pytorch = "table = nn.Embedding(8, 4)\nwith_learned = words + table(torch.arange(3))",
               .snippet = "003_transformer:learned"}},
    .numbers = numbers_of_rope,
    .figures = figures_of_relative,
    .touch =
        {{.widget = "positions",
          .what = {"학습하기 전의 위치 임베딩(표준편차 0.02)을 더하면 순서를 바꾸어도 문맥 벡터가 조금만 변합니다. "
                   "학습하면서 커집니다. 아래의 파동은 RoPE가 특성의 쌍을 회전하는 각도와 같은 주기를 가집니다.",
                   "With learned positions as they are before training (deviation 0.02), another order changes "
                   "contexts only a little; training makes them larger. RoPE turns pairs of features with the "
                   "periods of the waves below."},
          .data = learned_as_positions}},
    .faults =
        {{.claim = {"RoBERTa가 1024 토큰으로 확장되었다고 합니다.",
                    "RoBERTa is said to have been extended to 1024 tokens."},
          .proof = {"RoBERTa도 512 토큰입니다(Liu 외, 2019; 공개된 모델의 표는 514행인데 두 행은 쓰이지 않습니다).",
                    "It has 512, too (Liu et al. 2019; the published models' tables have 514 rows, two of which are "
                    "not used)."}},
         {.claim = {"GPT-3가 학습 중에 시퀀스 길이를 점차 늘렸다고 합니다.",
                    "GPT-3 is said to have raised its sequence length during training."},
          .proof = {"논문에서 점차 늘린 것은 배치 크기이며, 길이는 처음부터 2,048입니다(Brown 외, 2020, 부록 B).",
                    "What the paper raises is the batch size; the length is 2,048 from the start (Brown et al. 2020, "
                    "appendix B)."}},
         {.claim = {"T5의 식에서 편향도 √d로 나누고 거리를 잘라냅니다.",
                    "T5's formula also divides the bias by √d, and clips distances."},
          .proof = {"논문의 T5는 거리를 로그 간격의 구간으로 나누고 편향을 그대로 더합니다. tapegrad의 t5는 논문을 "
                    "따르되 점수를 언제나 "
                    "√d로 나눕니다.",
                    "The paper's T5 puts distances into logarithmic buckets and adds the bias as it is. tapegrad's t5 "
                    "follows the "
                    "paper, with scores always divided by √d."},
          .shown = forms_of_t5}},
    .exercises =
        {{{"RoPE의 점수가 거리에만 좌우된다는 것을 회전 행렬로 보이십시오.",
           "Show with rotations that RoPE's scores depend on distances only."},
          {"(R(m) q)·(R(n) k) = q·R(m)ᵀ R(n) k = q·R(n - m) k입니다. 회전은 R(m)ᵀ = R(-m)이고 R(a) R(b) = R(a + b)이기 "
           "때문입니다.",
           "(R(m) q)·(R(n) k) = q·R(m)ᵀ R(n) k = q·R(n - m) k, because R(m)ᵀ = R(-m) and R(a) R(b) = R(a + b)."}}},
    .commands =
        "tapegrad train copy --positions rope\ntapegrad train copy --positions t5\ntapegrad show relative-positions",
    .terms = "학습 가능 learned 보간 interpolation NTK 상대 위치 relative Shaw RoPE T5 ALiBi 회전"};

const Page k003_8_3_2_3{
    .tutorial = "003",
    .section = "8.3.2/3",
    .also = {"8.3.2/4", "8.3.2/5", "8.3.2/6"},
    .title = {"딥다이브 3-6: 합성곱, 재귀, 복소수, 혼합 위치",
              "Deep dives 3 to 6: convolutional, recurrent, complex and mixed positions"},
    .about = {"합성곱과 LSTM은 이웃한 단어를 차례로 읽어서 위치를 알아내고, 미분 방정식과 복소수는 위치의 연속 함수를 "
              "배웁니다. 합성과 동적 "
              "위치는 이들을 섞습니다. tapegrad는 이 모두를 `--positions`로 제공하며, 그림은 어느 것이 정말로 순서를 "
              "아는지 잽니다.",
              "Convolutions and an LSTM find positions by reading the words around in order, a differential equation "
              "and complex numbers "
              "learn continuous functions of the position. Composite and dynamic positions mix them. tapegrad has all "
              "of them as "
              "`--positions`, and the figure measures which of them really know the order."},
    .lines = {{.what = {"이름으로 위치 방식을 골라 두 단어를 맞바꾸어 봅니다.",
                        "Kinds of positions by name, and two words exchanged"},
               .pytorch = R"(for kind in ("none", "sinusoidal", "conv", "lstm", "ode"):
    encoder = Encoder(positions=kind).eval()
    print(kind, change_of_order(encoder)))",
               .snippet = "003_claims:kinds"},
              {.what = {"달라진 크기를 재는 함수", "The function that measures the change"},
               .pytorch = R"(straight, exchanged = encoder(ids), encoder(ids[:, there])
return (exchanged[:, there] - straight).abs().max())",
               .snippet = "claims.h:order"}},
    .numbers = numbers_of_order,
    .figures = figures_of_order,
    .touch =
        {{.widget = "positions",
          .what = {"딥다이브 6처럼 사인의 절반과 학습하는 위치의 절반을 섞어 더합니다. 단어를 바꾸어 문맥 벡터가 "
                   "달라지는지 확인하십시오.",
                   "A mixture as in deep dive 6: half of the sines and half of a learned table are added. Exchange "
                   "words and see contexts change."},
          .data = mixed_as_positions}},
    .faults = {{.claim = {"성능 표에서 CLEX를 복소수 인코딩이라고 부릅니다.",
                          "The table of results calls CLEX a complex encoding."},
                .proof = {"CLEX는 RoPE의 주파수를 미분 방정식으로 늘리는 방법입니다(Chen 외, 2023). 복소수 단어 "
                          "임베딩은 Wang 외, 2020입니다.",
                          "CLEX extends RoPE's frequencies by a differential equation (Chen et al. 2023). Complex word "
                          "embeddings are Wang et "
                          "al. 2020."}}},
    .exercises = {{{"위치를 쓰지 않고도 LSTM은 왜 순서를 압니까?",
                    "Why does an LSTM know the order without positions?"},
                   {"은닉 상태가 앞의 단어들을 읽은 순서에 좌우되기 때문입니다. 그 대신 병렬로 계산할 수 없습니다.",
                    "Its hidden state depends on the order in which it has read the words. In exchange it cannot "
                    "compute in parallel."}}},
    .commands = "tapegrad train copy --positions conv-multiscale\ntapegrad train copy --positions ode",
    .terms = "합성곱 convolution LSTM 재귀 Neural ODE 복소수 complex 위상 composite dynamic 하이브리드"};

const Page k003_8_3_2_7{
    .tutorial = "003",
    .section = "8.3.2/7",
    .also = {"8.3.2/8", "8.3.2/9"},
    .title = {"딥다이브 7-9: 성능 비교, 연구 동향, 선택 가이드라인",
              "Deep dives 7 to 9: results, research, and guidelines"},
    .about = {"튜토리얼의 GLUE 비교표에는 모델, 조건, 출처가 없습니다. tapegrad는 같은 모델과 같은 학습으로 모든 "
              "인코딩을 비교하고 다섯 시드의 "
              "평균과 표준편차를 적습니다. 그 결과 학습 때보다 긴 입력으로 일반화하는 인코딩은 없었습니다.",
              "The tutorial's table of GLUE results names no model, no conditions and no source. tapegrad compares all "
              "encodings with one "
              "model and one way of training, and gives means and deviations of five seeds. The result: no encoding "
              "generalises to inputs "
              "longer than those of training."},
    .lines = {{.what = {"RoPE의 점수는 두 위치를 함께 옮겨도 같습니다.",
                        "A score by RoPE is the same after both positions move together"},
               .pytorch = R"(score = lambda m, n: (rope(q, m) * rope(k, n)).sum()
assert (score(63, 60) - score(1063, 1060)).abs() < 1e-9)",
               .snippet = "003_claims:rope"}},
    .numbers = numbers_of_toeplitz,
    .figures = figures_of_toeplitz,
    .touch =
        {{.widget = "formula",
          .what = {"토큰이 몇 개일 때부터 FFT가 이득인지 찾아보십시오. 열의 수 c는 두 비용에 똑같이 곱해집니다.",
                   "Find from how many tokens on the FFT pays. The number of columns c multiplies both costs alike."},
          .data = toeplitz_as_formula}},
    .faults =
        {{.claim =
              {"고정 길이에서 학습 가능한 위치가 과적합 위험이 낮다고 하지만, 딥다이브 1은 과적합을 단점으로 듭니다.",
               "Learned positions are said to have little risk of overfitting, which deep dive 1 lists as their "
               "drawback."},
          .proof = {"같은 글 안의 두 문장이 서로 어긋납니다. `compare positions`에서 학습하는 위치는 학습한 길이에서 "
                    "가장 빨리 배우고, 더 긴 "
                    "입력에서는 하나도 맞히지 못합니다(tutorials/compare/README.md).",
                    "The two sentences of the text contradict each other. In `compare positions` learned positions "
                    "learn fastest at the "
                    "lengths of training, and get no longer input right (tutorials/compare/README.md)."}},
         {.claim = {"회전 불변성 때문에 RoPE의 길이 확장성이 우수하다고 합니다.",
                    "RoPE is said to extend to longer inputs because of invariance."},
          .proof = {"점수는 거리에만 좌우되지만, 학습에서 보지 못한 거리의 점수는 배운 적이 없습니다. 네 자리 덧셈에서 "
                    "정확도는 "
                    "0.002입니다.",
                    "Scores depend on distances only, but those of distances beyond training were never learned. On "
                    "sums of four digits "
                    "the accuracy is 0.002."},
          .shown = moved_scores},
         {.claim = {"부록은 상대 위치 편향이 퇴플리츠 행렬이므로 FFT로 O(n log n)에 계산할 수 있다고 합니다.",
                    "The appendix says that a bias by distance is a Toeplitz matrix, and can be computed in O(n log n) "
                    "by FFT."},
          .proof = {"편향 행렬의 곱에는 맞습니다. 어텐션에서는 편향에 q·k가 더해지므로 점수가 퇴플리츠 행렬이 아니고, "
                    "FFT로는 어텐션이 "
                    "빨라지지 않습니다. 점수가 거리에만 좌우되거나 exp(q·k) 대신 특징의 곱을 쓸 때에만 가능합니다(Luo "
                    "외, 2021).",
                    "That holds for products of the matrix. Attention adds q·k to the bias, so its scores are not a "
                    "Toeplitz matrix, and "
                    "FFT does not make it faster. It does if scores depend on distances alone, or if products of "
                    "features replace "
                    "exp(q·k) (Luo et al. 2021)."},
          .shown = toeplitz_attention}},
    .exercises = {{{"퇴플리츠(Toeplitz) 행렬과 벡터의 곱을 FFT로 O(n log n)에 계산하려면 무엇을 해야 합니까?",
                    "How does one multiply a Toeplitz matrix with a vector in O(n log n)?"},
                   {"크기 2n의 순환 행렬에 넣습니다. 순환 행렬의 곱은 합성곱이므로 FFT, 원소별 곱, 역 FFT입니다.",
                    "Put it into a circulant matrix of size 2n, whose product is a convolution: FFT, product of "
                    "elements, inverse FFT."}}},
    .commands = "tapegrad compare positions\ntapegrad show relative-positions",
    .terms = "GLUE 비교 comparison 가이드라인 guideline Toeplitz 퇴플리츠 FFT SO(2) Wirtinger 양자 생체 모방"};

}  // namespace tapegrad::tasks::tutorial
