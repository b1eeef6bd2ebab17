// Tutorial 003, sections 8.3.1 and 8.3.2: why positions are needed, indices, and sines and cosines.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <numbers>

namespace tapegrad::tasks::tutorial {
namespace {

// I love deep learning, in four dimensions
Tensor embeddings_of_words() {
  return tensor({{0.2, 0.3, 0.1, 0.4}, {0.5, 0.2, 0.8, 0.1}, {0.3, 0.7, 0.2, 0.5}, {0.6, 0.4, 0.3, 0.2}}, kFloat64);
}

std::vector<Number> numbers_of_indices() {
  const Tensor x = embeddings_of_words(), positions = arange(4);
  const Tensor added = x + positions.unsqueeze(1), difference = added - x;
  std::vector<Number> out{
      same("1. Original embedding matrix",
           "0.20 0.30 0.10 0.40\n0.50 0.20 0.80 0.10\n0.30 0.70 0.20 0.50\n0.60 0.40 0.30 0.20", rows_of(x, 2)),
      same("2. Position indices", "0 1 2 3", rows_of(positions, 0)),
      same("3. Embeddings with position information added",
           "0.20 0.30 0.10 0.40\n1.50 1.20 1.80 1.10\n2.30 2.70 2.20 2.50\n3.60 3.40 3.30 3.20", rows_of(added, 2))};
  constexpr std::string_view kPrinted[] = {
      "0.2 0.3 0.1 0.4\n0.2 0.3 0.1 0.4\n0. 0. 0. 0.", "0.5 0.2 0.8 0.1\n1.5 1.2 1.8 1.1\n1. 1. 1. 1.",
      "0.3 0.7 0.2 0.5\n2.3 2.7 2.2 2.5\n2. 2. 2. 2.", "0.6 0.4 0.3 0.2\n3.6 3.4 3.3 3.2\n3. 3. 3. 3."};
  constexpr std::string_view kWords[] = {"I", "love", "deep", "learning"};
  for (int64_t i = 0; i < 4; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.push_back(same(fmt::format("4. {} ({}): original, position added, difference", kWords[at], i), kPrinted[at],
                       fmt::format("{}\n{}\n{}", numpy_rows(x[i]), numpy_rows(added[i]), numpy_rows(difference[i]))));
  }
  return out;
}

std::string changes_of_order() {
  std::string out;
  for (const std::string_view kind : {"none", "index", "learned", "sinusoidal"})
    out += fmt::format("{:<10} {:.1e}\n", kind, change_of_order(nn::positions_named(kind)));
  return out;
}

std::vector<Figure> figures_of_indices() {
  const Tensor x = embeddings_of_words(), added = x + arange(4).unsqueeze(1);
  const Tensor ones_of_features = ones({4}, kFloat64), zeros_of_features = zeros({4}, kFloat64);
  const auto normal = [&](const Tensor& y) { return layer_norm_std(y, ones_of_features, zeros_of_features); };
  const std::vector<std::string> words{"I", "love", "deep", "learning"}, features{"dim1", "dim2", "dim3", "dim4"};
  return {
      {{"임베딩과, 위치 번호를 더한 임베딩", "Embeddings, and embeddings with their index"},
       {},
       {draw_matrix(said("Embeddings"), x, words, features, 0, 4),
        draw_matrix(said("With the index added"), added, words, features, 0, 4)}},
      {{"두 행렬에 레이어 정규화를 적용한 결과입니다. 같습니다. 모든 특성에 더한 같은 수는 평균과 함께 사라집니다.",
        "Both after layer normalisation: they are equal. A number that is added to all features leaves with the mean."},
       {},
       {draw_matrix(said("Embeddings, normalised"), normal(x), words, features, -2, 2),
        draw_matrix(said("With the index, normalised"), normal(added), words, features, -2, 2)}}};
}

std::string words_with_learned() {
  Generator generator(0);
  const Tensor vectors = randn({4, 4}, kFloat64, &generator), places = randn({4, 4}, kFloat64, &generator);
  return fmt::format("{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"vectors\":{},\"positions\":{}}}",
                     json_of(vectors), json_of(places));
}

std::string waves_of_512() { return "{\"dim\":512,\"length\":100}"; }

std::vector<Number> numbers_of_waves() {
  constexpr int64_t kDim = 512;
  const Tensor pair = tensor({0, 128, 255}).to(kFloat64);
  const Tensor periods = pow(full({}, 10000, kFloat64), pair * 2 / kDim);
  const Tensor terms = 1 / periods;
  const auto row = [](const Tensor& x, int64_t i, int digits) { return rows_of(x[i], digits); };
  return {same("First dimension (i=0)", "1.00", row(periods, 0, 2)),
          same("Middle dimension (i=128)", "100.00", row(periods, 1, 2)),
          same("Last dimension (i=255)", "9646.62", row(periods, 2, 2)),
          same("10000^(2i/d_model), i=  0", "1.0000000000", row(periods, 0, 10)),
          same("10000^(2i/d_model), i=128", "100.0000000000", row(periods, 1, 10)),
          same("10000^(2i/d_model), i=255", "9646.6161991120", row(periods, 2, 10)),
          same("div_term, first (i=0)", "1.0000000000", row(terms, 0, 10)),
          same("div_term, middle (i=128)", "0.0100000000", row(terms, 1, 10)),
          same("div_term, last (i=255)", "0.0001036633", row(terms, 2, 10))};
}

drawing::Series wave(std::string name, const Tensor& positions, const Tensor& values) {
  return {.name = std::move(name),
          .x = positions.to_vector<double>(),
          .y = values.to_vector<double>(),
          .mark = drawing::Series::Mark::line};
}

drawing::Drawing waves(std::string title, std::vector<drawing::Series> series, double low = -1) {
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("position"),
                                 .y_label = said("value"),
                                 .series = std::move(series),
                                 .y_low = low,
                                 .y_high = low < 0 ? 1.0 : 0.0,
                                 .width = 330,
                                 .height = 170});
}

// The tutorial's four panels, with its numbers.
std::vector<drawing::Drawing> panels_of_the_tutorial() {
  const Tensor t = arange(0, 100, 1, kFloat64), near = arange(0, 20, 1, kFloat64);
  std::vector<drawing::Series> sines, shifts;
  for (const int length : {10, 20, 40, 80}) sines.push_back(wave(fmt::format("t / {}", length), t, sin(t / length)));
  for (const int shift : {0, 5, 10, 15})
    shifts.push_back(wave(shift == 0 ? "t" : fmt::format("t + {}", shift), near, sin((near + shift) / 100)));
  ShowRequest request;
  request.length = 20;
  request.dim = 32;
  return {
      waves(said("1. Sines"), sines),
      waves(said("2. A pair of t / 20"), {wave(said("sine"), t, sin(t / 20)), wave(said("cosine"), t, cos(t / 20))}),
      waves(said("3. Shifts of sin(t / 100)"), shifts, 0), show_positional_encoding(request).drawings.back()};
}

// Dot products of the encodings of two positions, by their distance.
drawing::Drawing products_by_distance() {
  const Tensor table = nn::sinusoidal_table(220, 512).to(kFloat64);
  const Tensor distance = arange(0, 100, 1, kFloat64);
  std::vector<drawing::Series> series;
  for (const int64_t from : {0, 50, 120}) {  // marks at different places, because the curves coincide
    const int64_t first = from / 10, step = from == 0 ? 1 : 14;
    const Tensor products = matmul(narrow(table, 0, from, 100), table[from]);
    series.push_back(
        wave(said("from position {}", from), distance.slice(0, first, 100, step), products.slice(0, first, 100, step)));
    if (from > 0) series.back().mark = drawing::Series::Mark::dots;
  }
  return draw(drawing::LineChart{.title = said("Dot product of two positions, d_model 512"),
                                 .x_label = said("distance"),
                                 .y_label = said("dot product"),
                                 .series = series});
}

std::vector<Figure> figures_of_waves() {
  return {
      {{"튜토리얼의 네 그림을 튜토리얼의 수로 그린 것: 10, 20, 40, 80의 사인, 20의 사인과 코사인, 100의 이동, 20 x 32 "
        "히트맵",
        "The tutorial's four panels with its numbers: sines of 10, 20, 40 and 80, a pair of 20, shifts of 100, a "
        "heatmap of "
        "20 x 32"},
       {},
       panels_of_the_tutorial()},
      {{"두 위치의 인코딩을 내적한 값은 거리에만 좌우됩니다. 어느 위치에서 시작해도 곡선이 겹칩니다.",
        "The dot product of the encodings of two positions depends on their distance only: the curves from different "
        "positions coincide."},
       products_by_distance()}};
}

std::string wavelengths() {
  std::string out;
  for (const int scale : {10, 20, 40, 80, 100})
    out += said("sin(t / {:>3}): wavelength {:.1f}\n", scale, 2 * std::numbers::pi * scale);
  return out + said("i = 255 of d_model 512: wavelength {:.0f}\n", 2 * std::numbers::pi * 9646.6161991120);
}

}  // namespace

const Page k003_8_3_1{
    .tutorial = "003",
    .section = "8.3.1",
    .also = {"8.3"},
    .title = {"순차 정보의 중요성: 위치 번호와 학습하는 위치", "Why order matters: indices and learned positions"},
    .about = {"어텐션은 단어의 집합만 보므로 순서를 알려면 위치 정보를 따로 넣어야 합니다. 튜토리얼은 위치 번호를 "
              "임베딩의 모든 "
              "특성에 더하는 방법과 위치마다 벡터를 학습하는 방법을 비교합니다. 이 페이지는 앞의 방법이 레이어 "
              "정규화를 쓰는 모델에서 "
              "아무 효과도 없음을 계산으로 보여 줍니다.",
              "Attention sees a set of words, so order has to be put in separately. The tutorial compares adding the "
              "index to "
              "every feature with learning one vector per position. This page shows by computation that the first does "
              "nothing at "
              "all in a model with layer normalisation."},
    .lines = {{.what = {"위치 번호 더하기, 그리고 레이어 정규화", "Adding the index, and layer normalisation"},
               .pytorch = R"(index = torch.arange(3).float()[:, None]
with_index = words + index
torch.allclose(norm(words), norm(with_index), atol=1e-5)   # True)",
               .snippet = "003_transformer:index"},
              {.what = {"학습하는 위치 임베딩", "Learned positions"},
               .pytorch = "table = nn.Embedding(8, 4)\nwith_learned = words + table(torch.arange(3))",
               .snippet = "003_transformer:learned"}},
    .numbers = numbers_of_indices,
    .figures = figures_of_indices,
    .touch = {{.widget = "positions",
               .what = {"두 단어의 자리를 바꾸어 보십시오. 위치를 더하지 않으면 문맥 벡터가 단어를 따라다닐 뿐이고, "
                        "자리마다 다른 벡터(여기서는 시드 0으로 뽑은, 학습 전의 위치 임베딩)를 더하면 달라집니다.",
                        "Exchange two words. Without positions their contexts just move with them; with a vector per "
                        "place (here untrained position embeddings of seed 0) they change."},
               .data = words_with_learned}},
    .faults =
        {{.claim =
              {"위치 번호의 문제점으로 긴 입력과 상대 거리만 들지만, 가장 큰 문제는 빠져 있습니다.",
               "Long inputs and relative distances are named as the problems of indices; the largest one is missing."},
          .proof =
              {"모든 특성에 같은 수를 더하면 행의 평균만 바뀌고, 바로 다음의 레이어 정규화가 그 평균을 뺍니다. 아래는 "
               "두 "
               "단어를 맞바꾸었을 때 인코더의 출력이 (자리를 바꾼 것 말고) 달라진 크기입니다. index는 none과 같으므로 "
               "`--positions index`로 학습한 모델은 순서를 모릅니다.",
               "The same number in all features moves only the mean of the row, and the layer normalisation that "
               "follows "
               "subtracts the mean. Below: how much an encoder's outputs change when two words are exchanged, beyond "
               "being exchanged. index equals none: a model trained with `--positions index` does not know the order."},
          .shown = changes_of_order}},
    .exercises =
        {{{"위치 번호가 순서를 알려 주려면 무엇을 바꾸어야 합니까?", "What would make an index give the order?"},
          {"특성 하나에만 더하거나 특성마다 값이 다른 벡터를 곱해 더하면 됩니다. 레이어 정규화는 모든 특성에 공통인 "
           "부분만 "
           "없앱니다. 사인과 코사인이 바로 그런 벡터입니다.",
           "Add it to one feature only, or along a direction that differs between features: layer normalisation "
           "removes "
           "only what all features share. Sines and cosines are such a vector."}},
         {{"학습하는 위치 임베딩은 학습 때보다 긴 문장에서 왜 실패합니까?",
           "Why do learned positions fail for sentences longer than those of training?"},
          {"그 위치의 행은 한 번도 기울기를 받지 않아 초깃값 그대로이며, 표보다 긴 위치에는 행이 아예 없습니다.",
           "The rows of those positions never got a gradient and still have their initial values; beyond the table "
           "there "
           "are no rows."}}},
    .commands = "tapegrad show positional-encoding\ntapegrad compare positions",
    .terms = "위치 position index 임베딩 embedding 순서 permutation 순열 dog bites man"};

const Page k003_8_3_2{
    .tutorial = "003",
    .section = "8.3.2",
    .title = {"위치 인코딩의 설계: 사인과 코사인", "The design of positional encoding: sines and cosines"},
    .about =
        {"위치 t를 주파수가 서로 다른 사인과 코사인의 쌍들로 나타냅니다. 첫째 쌍은 빠르게 돌고 마지막 쌍은 거의 "
         "움직이지 않으며, "
         "그 사이의 주파수는 등비수열을 이룹니다. 한 쌍에서 위치를 옮기는 일은 회전이므로 두 위치의 내적은 거리에만 "
         "좌우됩니다.",
         "A position t becomes pairs of a sine and a cosine of different frequencies. The first pair turns fast, the "
         "last one "
         "hardly moves, and the frequencies between them form a geometric sequence. Moving by some positions rotates "
         "each "
         "pair, so the dot product of two positions depends on their distance only."},
    .lines = {{.what = {"임의의 길이에 대한 인코딩 표", "The table for any length"},
               .pytorch = R"(t = torch.arange(50)[:, None]
rate = 10000 ** (-torch.arange(0, 4, 2) / 4)
waves = torch.stack([(t * rate).sin(), (t * rate).cos()], -1).flatten(1))",
               .snippet = "003_transformer:sinusoidal"}},
    .numbers = numbers_of_waves,
    .figures = figures_of_waves,
    .touch = {{.widget = "positions",
               .what = {"차원을 0에서 511까지 움직여 보십시오. 처음 차원은 빠르게 돌고 마지막 차원은 거의 움직이지 "
                        "않습니다. 첫 위치를 옮겨도 파동의 모양은 그대로이고 위상만 달라집니다.",
                        "Move the dimension from 0 to 511: the first turns quickly, the last hardly moves. Another "
                        "first place changes the phase of a wave, and not its form."},
               .data = waves_of_512}},
    .faults =
        {{.claim = {"\"파장 10\"이라는 곡선의 파장은 10이 아니고, 10000^(2i/d)도 주기가 아닙니다.",
                    "The curve called \"wavelength=10\" does not have this wavelength, nor is 10000^(2i/d) a period."},
          .proof = {"sin(t / s)는 2π s만큼 지나야 되풀이됩니다. 마지막 차원의 주기는 9,647이 아니라 약 60,611입니다.",
                    "sin(t / s) repeats after 2 pi s. The last dimension's period is about 60,611, not 9,647."},
          .shown = wavelengths},
         {.claim = {"주석의 div_term[256]은 없는 원소이며, i의 범위도 d_model - 1까지가 아닙니다.",
                    "div_term[256] of the comment does not exist, and i does not run to d_model - 1."},
          .proof = {"d_model이 512이면 쌍은 256개이고 번호는 0부터 255까지입니다. 마지막 값은 0.0001036633입니다.",
                    "With d_model 512 there are 256 pairs, numbered 0 to 255; the last term is 0.0001036633."}},
         {.claim = {"위치 인코딩이 \"bank\"의 두 뜻을 구별하는 데 도움을 준다고 합니다.",
                    "Positions are said to help distinguish the two meanings of \"bank\" apart."},
          .proof =
              {"같은 위치에 있으면 두 문장의 bank는 같은 벡터로 시작하고, 다른 위치에 있으면 뜻이 같아도 다른 벡터가 "
               "됩니다. "
               "뜻을 나누는 것은 주변 단어의 값을 섞는 어텐션입니다.",
               "At the same position, both start with the same vector; at different positions, the same meaning gets "
               "different vectors. What separates meanings is attention, which mixes in the words around."}}},
    .exercises = {{{"위치를 k만큼 옮기는 선형 변환을 한 쌍에 대해 쓰십시오.",
                    "Write the linear map that moves one pair by k positions."},
                   {"주파수가 w이면 회전 행렬 [[cos wk, sin wk], [-sin wk, cos wk]]를 (sin wt, cos wt)에 곱합니다. "
                    "RoPE는 이 회전을 "
                    "쿼리와 키에 직접 적용합니다.",
                    "With frequency w: the rotation [[cos wk, sin wk], [-sin wk, cos wk]] times (sin wt, cos wt). RoPE "
                    "applies this "
                    "rotation to queries and keys themselves."}},
                  {{"차원이 4인 인코딩에서 위치 0의 벡터는 무엇입니까?",
                    "What is the encoding of position 0 in four dimensions?"},
                   {"[0, 1, 0, 1]입니다. 사인은 0, 코사인은 1입니다.", "[0, 1, 0, 1]: sines are 0, cosines 1."}}},
    .commands = "tapegrad show positional-encoding --length 20 --dim 32\ntapegrad train copy --positions sinusoidal",
    .terms =
        "포지셔널 인코딩 위치 인코딩 positional encoding 사인 코사인 sinusoidal 파장 wavelength 주기 period div_term "
        "주파수"};

}  // namespace tapegrad::tasks::tutorial
