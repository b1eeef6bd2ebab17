// Tutorial 001: positions, the causal mask, and questions of interviews.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/nn/sinusoidal_positions.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/programs/positions_and_masks.h>
#include <tapegrad/tutorials/programs/roles.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// The second sentence exchanges words 1 and 3 of the first, up to their endings.
const std::vector<std::string> kCatFirst{"나는", "고양이", "너는", "사람"};
const std::vector<std::string> kPersonFirst{"나는", "사람", "너는", "고양이"};
const std::vector<std::string> kEightFeatures{"1", "2", "3", "4", "5", "6", "7", "8"};

// Vectors of the four words, drawn once, in the order of the first sentence.
Tensor cat_first() {
  Generator generator(1);
  return randn({4, 8}, kFloat64, &generator);
}

Tensor exchanged(const Tensor& x) { return index_select(x, 0, tensor({0, 3, 2, 1})); }

Tensor with_positions(const Tensor& x) { return x + nn::sinusoidal_table(4, 8).to(kFloat64); }

std::vector<Figure> figures_of_blindness() {
  const Tensor x = cat_first(), y = exchanged(x);
  return {
      {{"위치 없이: 두 문장의 문맥 벡터. 둘째 그림의 행은 첫째 그림의 행과 순서만 다르며, 어텐션은 두 문장을 구별하지 "
        "못합니다.",
        "Without positions: the context vectors of both sentences. The second map has the rows of the first in "
        "another order; attention cannot tell the sentences apart."},
       {},

       {draw_matrix("나는 고양이(이고) 너는 사람(이다)", basic_self_attention(x), kCatFirst, kEightFeatures, -4, 4, 2,
                    {1, 3}),
        draw_matrix("나는 사람(이고) 너는 고양이(다)", basic_self_attention(y), kPersonFirst, kEightFeatures, -4, 4, 2,
                    {1, 3})}},
      {{"위치 인코딩을 더한 뒤: 같은 단어의 행이 두 문장에서 달라집니다.",
        "With sinusoidal positions added: the rows of the same word differ between the sentences."},
       {},
       {draw_matrix("나는 고양이(이고) 너는 사람(이다)", basic_self_attention(with_positions(x)), kCatFirst,
                    kEightFeatures, -4, 4, 2, {1, 3}),
        draw_matrix("나는 사람(이고) 너는 고양이(다)", basic_self_attention(with_positions(y)), kPersonFirst,
                    kEightFeatures, -4, 4, 2, {1, 3})}}};
}

std::vector<Number> numbers_of_blindness() {
  const Tensor x = cat_first(), y = exchanged(x);
  const auto both = [](const Tensor& first, const Tensor& second) {  // the word 고양이 is second, then fourth
    return rows_of(stack({basic_self_attention(first)[1], basic_self_attention(second)[3]}), 3);
  };
  return {own({"\"고양이\"의 문맥 벡터: 첫 문장과 둘째 문장에서, 위치 없이. 두 행이 같습니다.",
               "The context of \"고양이\" in the first and in the second sentence, without positions: equal rows."},
              both(x, y)),
          own({"위치를 더하면 두 행이 달라집니다.", "With positions added, the rows differ."},
              both(with_positions(x), with_positions(y)))};
}

std::string blindness() {
  const Tensor x = cat_first(), y = exchanged(x);
  const auto change = [](const Tensor& first, const Tensor& second) {
    return amax(abs(basic_self_attention(first) - exchanged(basic_self_attention(second)))).item();
  };
  return said(
      "one layer of attention, no positions:     {:.1e}\n                        with positions:   {:.1e}\n"
      "an encoder of two layers, no positions:   {:.1e}\n                          sinusoidal:     {:.1e}\n"
      "                          learned:        {:.1e}\n",
      change(x, y), change(with_positions(x), with_positions(y)), change_of_order(nn::Positions::none),
      change_of_order(nn::Positions::sinusoidal), change_of_order(nn::Positions::learned));
}

std::string sentence_as_positions() {
  return fmt::format("{{\"tokens\":{},\"vectors\":{},\"positions\":{}}}", json_of(kCatFirst),
                     json_of(cat_first().to(kFloat32)), json_of(nn::sinusoidal_table(4, 8)));
}

std::vector<Figure> figures_of_masking_steps() {
  Generator generator(3);
  const Tensor scores = randn({3, 3}, kFloat32, &generator), hidden = !nn::causal_mask(3);
  const Tensor added = masked_fill(zeros({3, 3}), hidden, -INFINITY);
  const std::vector<std::string> three{"1", "2", "3"};
  return {{{"3 x 3 점수(시드 3)의 네 단계: 점수, 더할 마스크, 더한 점수, 가중치. 회색 칸은 음의 무한대입니다.",
            "Four steps for scores of 3 x 3 (seed 3): scores, the mask to be added, their sum, weights. Grey cells are "
            "minus infinity."},
           {},
           {draw_matrix(said("Scores S"), scores, three, three, -2, 2),
            draw_matrix(said("Causal mask M"), added, three, three, -2, 2),
            draw_matrix("S + M", scores + added, three, three, -2, 2),
            draw_matrix(said("Weights softmax(S + M)"), softmax(scores + added), three, three, 0, 1)}}};
}

std::vector<Number> numbers_of_masking_steps() {
  Generator generator(3);
  const Tensor scores = randn({3, 3}, kFloat32, &generator);
  const Tensor masked = masked_fill(scores, !nn::causal_mask(3), -INFINITY);
  return {
      own({"도식의 점수 S11부터 S33까지(시드 3)", "The scores S11 to S33 of the diagram (seed 3)"}, rows_of(scores, 4)),
      own({"가중치 W11부터 W33까지: W11은 1, 대각선 위는 0이고 각 행의 합은 1입니다.",
           "The weights W11 to W33: W11 is 1, those above the diagonal are 0, and each row adds up to 1."},
          rows_of(softmax(masked), 4))};
}

std::string three_as_mask() {
  Generator generator(3);
  return fmt::format("{{\"tokens\":[\"1\",\"2\",\"3\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
                     json_of(randn({3, 3}, kFloat32, &generator)), json_of(tril(ones({3, 3}))));
}

std::vector<Number> numbers_of_subsequent_mask() {
  manual_seed(0);
  const Tensor scores = randn({1, 5, 5}), mask = subsequent_mask(5);
  return {same("Causal mask (size=5), 1: True", "1 0 0 0 0\n1 1 0 0 0\n1 1 1 0 0\n1 1 1 1 0\n1 1 1 1 1",
               rows_of(mask.to(kFloat32), 0)),
          drawn("Original scores", "5 x 5", rows_of(scores[0], 4),
                {"튜토리얼은 시드를 정하지 않았고 점수를 싣지도 않았습니다. 오른쪽은 시드 0이며, PyTorch에서 "
                 "torch.manual_seed(0)을 먼저 부르면 같은 수가 나옵니다.",
                 "The tutorial sets no seed, and does not show the scores. Ours are of seed 0, and PyTorch draws the "
                 "same after torch.manual_seed(0)."}),
          drawn("Masked scores", "5 x 5", exponent_rows_of(masked_fill(scores, !mask, -1e9)[0], 2),
                {"튜토리얼처럼 -1e9로 가린 점수입니다. 아래 프로그램은 음의 무한대를 쓰며 가중치는 같습니다.",
                 "Masked with -1e9, as in the tutorial. The program uses minus infinity; the weights are the same."})};
}

std::vector<Figure> figures_of_table() {
  const Tensor table = PositionalEncoding::table(32, 5000).reshape({5000, 32});
  std::vector<std::string> rows, columns;
  for (int i = 0; i < 50; ++i) rows.push_back(std::to_string(i));
  for (int i = 0; i < 32; ++i) columns.push_back(std::to_string(i));
  drawing::Series near{said("position 50")};
  for (int64_t t = 0; t < 100; ++t) {
    near.x.push_back(static_cast<double>(t));
    near.y.push_back(sum(table[50] * table[t]).item() / 16);
  }
  return {{{"d_model = 32일 때 앞 50개 위치의 인코딩. 행은 위치, 열은 차원입니다.",
            "The encoding of the first 50 positions for d_model = 32. Rows are positions, columns are dimensions."},
           draw_matrix(said("Positional encoding"), table.slice(0, 0, 50), rows, columns, -1, 1)},
          {{"위치 50의 인코딩과 다른 위치의 인코딩의 내적(16으로 나눔). 거리에만 달려 있으므로 좌우가 대칭입니다.",
            "Dot products of the encoding of position 50 with those of others (over 16). They depend on the distance "
            "alone, so both sides are alike."},
           draw(drawing::LineChart{.title = said("Similarity of positions"),
                                   .x_label = said("position"),
                                   .y_label = said("similarity"),
                                   .series = {near},
                                   .width = 520})}};
}

std::string waves_of_table() { return "{\"dim\":32,\"length\":50}"; }

// The largest error of a row of the table, against sines and cosines in float64.
std::string error_of_angles() {
  const Tensor table = PositionalEncoding::table(32, 5000);
  std::string out = said("position  largest error\n");
  for (const int64_t position : {10, 500, 4999}) {
    const std::vector<float> row = table[position].reshape({32}).to_vector<float>();
    double worst = 0;
    for (int i = 0; i < 16; ++i) {
      const double angle = static_cast<double>(position) / fixed::pow(10000., i / 16.);
      const auto at = static_cast<std::size_t>(2 * i);
      worst = std::max({worst, std::abs(row[at] - fixed::sin(angle)), std::abs(row[at + 1] - fixed::cos(angle))});
    }
    out += fmt::format("{:>8}  {:.0e}\n", position, worst);
  }
  return out;
}

struct KindOfPositions {
  std::string_view name;
  nn::Positions positions;
};
constexpr KindOfPositions kKindsOfPositions[] = {
    {"none", nn::Positions::none},       {"index", nn::Positions::index}, {"sinusoidal", nn::Positions::sinusoidal},
    {"learned", nn::Positions::learned}, {"RoPE", nn::Positions::rope},   {"ALiBi", nn::Positions::alibi}};

std::vector<Number> numbers_of_interview() {
  std::string changes;
  for (const auto& [name, positions] : kKindsOfPositions)
    changes += fmt::format("{:<12} {:.2e}\n", name, change_of_order(positions));
  return {own({"두 단어를 바꾸었을 때 인코더의 출력이 변한 크기(자리가 바뀐 것은 뺌)",
               "How much an encoder's outputs change when two words are exchanged, beyond the exchange"},
              changes)};
}

std::vector<Figure> figures_of_interview() {
  std::vector<std::string> labels;
  drawing::Series change{said("largest change")};
  for (const auto& [name, positions] : kKindsOfPositions) {
    labels.emplace_back(name);
    change.y.push_back(change_of_order(positions));
  }
  return {
      {{"학습 전의 인코더에서 두 단어를 바꾸었을 때, 자리만 바뀐 것 이상으로 변한 출력의 크기. 위치가 없으면 0이고, "
        "위치 번호를 더하는 방식도 레이어 정규화가 지우므로 0입니다.",
        "How much the outputs of an untrained encoder change when two words are exchanged, beyond the exchange: 0 "
        "without positions, and 0 with the index added, which layer normalisation removes."},
       draw(drawing::BarChart{
           .title = said("Does the model know the order?"), .labels = labels, .series = {change}, .width = 520})}};
}

}  // namespace

const Page k001_2_1{
    .tutorial = "001",
    .section = "2.1",
    .also = {"1", "2"},
    .title = {"위치 인코딩이 필요한 이유", "Why positions are needed"},
    .about = {"셀프 어텐션은 단어들을 순서 없는 집합으로 다룹니다. 그래서 \"나는 고양이이고 너는 사람이다\"와 \"나는 "
              "사람이고 너는 고양이다\"의 출력은 순서만 바뀐 같은 벡터들입니다. 사인과 코사인으로 만든 위치 벡터를 "
              "더하면 두 문장의 출력이 달라집니다.",
              "Self-attention takes words as a set without order. The outputs for \"나는 고양이이고 너는 사람이다\" (I "
              "am a cat and you are a person) and for the sentence with cat and person exchanged are the same vectors "
              "in another order. With a vector of sines and cosines added for each position, they differ."},
    .lines = {{.what = {"위치를 더하는 모듈", "A module that adds positions"},
               .pytorch = R"(position = torch.arange(max_len).unsqueeze(1)
rate = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
pe = torch.zeros(max_len, d)
pe[:, 0::2] = torch.sin(position * rate)
pe[:, 1::2] = torch.cos(position * rate))",
               .snippet = "positions_and_masks.h:table"},
              {.what = {"네 차원, 다섯 위치", "Five positions in four dimensions"},
               .pytorch = "print(pe[:5])",
               .snippet = "001_positions_and_masks:positions"},
              {.what = {"순서를 모르는 어텐션", "Attention that does not know the order"},
               .pytorch = "contexts = (words @ words.T).softmax(dim=-1) @ words",
               .snippet = "roles.h:basic"}},
    .numbers = numbers_of_blindness,
    .figures = figures_of_blindness,
    .touch = {{.widget = "positions",
               .what = {"단어를 끌어 문장을 섞고, 위치를 켜고 끄면서 문맥 벡터를 비교하십시오. 위치가 없으면 각 단어의 "
                        "벡터는 어디에 놓여도 같습니다.",
                        "Shuffle the sentence with and without positions. Without them each word keeps its context "
                        "vector wherever it stands."},
               .data = sentence_as_positions}},
    .faults =
        {{.claim = {"어텐션이 두 문장을 구별하지 못한다는 주장은 옳지만 확인되지 않았습니다.",
                    "The claim that attention cannot distinguish the two sentences is right, but not demonstrated."},
          .proof = {"두 단어를 바꾼 문장의 출력을 다시 바꾸어 원래 출력과 비교합니다. 위치가 없으면 차이가 반올림 "
                    "오차뿐이고, 위치가 있으면 그렇지 않습니다.",
                    "The outputs of the sentence with two words exchanged, exchanged back, minus the outputs of "
                    "the sentence: rounding without positions, much more with them."},
          .shown = blindness}},
    .exercises =
        {{{"인과 마스크가 있는 디코더는 위치 인코딩 없이도 순서를 조금 알 수 있습니다. 왜 그렇습니까?",
           "A decoder with a causal mask knows a little of the order without positions. Why?"},
          {"t번째 단어는 t개의 단어만 보므로, 가중치가 나뉘는 개수에서 자기 위치를 짐작할 수 있습니다.",
           "The word at t sees t words, and from how many words share its weights it can estimate t."}},
         {{"사인만 쓰고 코사인을 쓰지 않으면 무엇을 잃습니까?", "What is lost with sines alone?"},
          {"위치 t+k의 벡터를 t의 벡터에서 회전으로 얻을 수 없게 됩니다. 회전에는 사인과 코사인 쌍이 필요합니다.",
           "The vector of t+k is a rotation of that of t only if both are there."}}},
    .commands = "tapegrad show positional-encoding\ntapegrad tutorial 003 8.3.2\ntapegrad compare positions --help",
    .terms =
        "포지셔널 인코딩 위치 인코딩 positional encoding 순서 order 집합 set 순열 permutation equivariant 고양이 사인 "
        "sine 코사인 "
        "cosine sinusoidal"};

const Page k001_2_2{
    .tutorial = "001",
    .section = "2.2",
    .title = {"인과 마스크(룩어헤드 마스크)", "The causal mask (look-ahead mask)"},
    .about =
        {"디코더는 목표 문장 전체를 한꺼번에 받지만 t번째 단어를 맞힐 때는 그 앞의 단어만 보아야 합니다. 점수에 0과 "
         "음의 무한대로 된 행렬을 더하면 미래의 가중치가 0이 됩니다. 그림은 튜토리얼의 도식에 실제 수를 넣은 "
         "것입니다.",
         "A decoder gets the whole target sentence at once, but may use only earlier words to predict the word at "
         "t. A matrix of zeros and minus infinity is added to the scores, and later words get the weight 0. The "
         "figure is the tutorial's diagram with real numbers."},
    .lines = {{.what = {"마스크와 가려진 점수", "The mask, and masked scores"},
               .pytorch = "mask = torch.ones(5, 5).tril().bool()\n"
                          "weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)",
               .snippet = "001_positions_and_masks:masked"},
              {.what = {"더하는 방식의 마스크", "A mask that is added"},
               .pytorch = "weights = (q @ k.mT + mask).softmax(dim=-1)   # mask: 0 or -inf",
               .snippet = "roles.h:masked"}},
    .numbers = numbers_of_masking_steps,
    .figures = figures_of_masking_steps,
    .touch = {{.widget = "mask",
               .what = {"3 x 3 마스크의 칸을 눌러 보십시오. 첫 행의 유일한 칸을 가리면 어떻게 됩니까?",
                        "Click the cells of the 3 x 3 mask. What happens if the only cell of the first row is hidden?"},
               .data = three_as_mask}},
    .faults =
        {{.claim = {"가중치가 0에 \"가깝게\" 된다고 하지만, 글과 도식의 -∞로는 정확히 0이 됩니다.",
                    "Weights are said to come \"close to\" 0; with the -∞ of text and diagram they are exactly 0."},
          .proof = {"exp(-∞) = 0입니다. 코드의 -1e9도 float32에서는 정확히 0을 줍니다. 000의 3절 페이지가 "
                    "확인합니다.",
                    "exp(-∞) is 0, and so is exp of -1e9 in float32; the page of 000, section 3, checks both."}}},
    .exercises =
        {{{"마스크 없이 학습한 디코더는 손실이 매우 낮은데도 왜 생성을 못합니까?",
           "Why does a decoder that was trained without the mask fail to generate, at a very low loss?"},
          {"학습할 때는 다음 단어를 입력에서 그대로 베끼면 되지만, 생성할 때는 베낄 다음 단어가 아직 없습니다.",
           "In training it copies the next word from its input; in generation that word is not there yet."}},
         {{"도식에서 W11은 점수와 관계없이 얼마입니까?", "What is W11 of the diagram, whatever the scores?"},
          {"1입니다. 볼 수 있는 키가 하나뿐이므로 소프트맥스는 exp(s)/exp(s)입니다.",
           "1: with one visible key softmax is exp(s)/exp(s)."}}},
    .commands = "tapegrad show causal-mask --length 3\ntapegrad tutorial 004 31",
    .terms = "인과 마스크 causal masking look-ahead 룩어헤드 자기회귀 autoregressive 상삼각행렬 upper triangular 치팅"};

const Page k001_3{
    .tutorial = "001",
    .section = "3",
    .title = {"코드: PositionalEncoding과 subsequent_mask", "The code: PositionalEncoding and subsequent_mask"},
    .about =
        {"5,000개 위치의 표를 버퍼로 가진 모듈과 인과 마스크를 만드는 함수입니다. 모듈은 시간을 첫 축, 배치를 둘째 "
         "축으로 받는데, tapegrad의 다른 모듈은 배치를 앞에 둡니다. 마스크는 참이 보이는 자리이며, 000의 마스크와 "
         "뜻이 반대입니다.",
         "A module with a table of 5,000 positions as a buffer, and a function that makes the causal mask. The "
         "module takes time as its first axis and the batch as its second; tapegrad's own modules have the batch "
         "first. The mask is true where a key is visible, the opposite of 000's."},
    .lines = {{.what = {"마스크: 참은 보이는 자리입니다.", "The mask: true is visible"},
               .pytorch = "mask = torch.triu(torch.ones(1, 5, 5), diagonal=1) == 0\nprint(mask)",
               .snippet = "001_positions_and_masks:mask"},
              {.what = {"점수, 가려진 점수, 가중치", "Scores, masked scores, weights"},
               .pytorch = "scores = torch.randn(1, 5, 5)\nmasked = scores.masked_fill(mask == 0, -1e9)",
               .snippet = "001_positions_and_masks:masked"}},
    .numbers = numbers_of_subsequent_mask,
    .figures = figures_of_table,
    .touch =
        {{.widget = "positions",
          .what = {"표의 열 하나씩을 파동으로 봅니다. 짝수 열은 사인, 그다음 홀수 열은 같은 주파수의 코사인입니다.",
                   "Single columns of the table as waves: an even column is a sine, the odd one after it the cosine of "
                   "the same frequency."},
          .data = waves_of_table}},
    .faults =
        {{.claim = {"forward의 입력은 [시간, 배치, 특성]인데, 배치를 앞에 둔 텐서를 넣어도 오류가 나지 않습니다.",
                    "forward expects [time, batch, features], and a tensor with the batch first raises no error."},
          .proof = {"표의 모양이 [시간, 1, 특성]이므로 [배치, 시간, 특성]을 넣으면 문장마다 한 위치를 받고 단어는 모두 "
                    "같은 위치가 됩니다.",
                    "The table is [time, 1, features]; with [batch, time, features] each sentence gets one "
                    "position, the same for all of its words."}},
         {.claim = {"먼 위치의 각도는 float32로 정확하지 않습니다.",
                    "The angles of far positions are not exact in float32."},
          .proof = {"첫 차원의 각도는 위치 자체이고 정수이므로 정확하지만, 나머지 차원의 각도는 반올림되며 그 "
                    "오차는 위치에 비례해 커집니다. 위치 4,999에서는 약 5e-5입니다.",
                    "The first pair's angle is the position itself, an integer; the others are rounded, and "
                    "the error grows with the position: about 5e-5 at position 4,999."},
          .shown = error_of_angles}},
    .exercises = {{{"d_model이 홀수이면 튜토리얼의 코드는 어디에서 실패합니까?",
                    "Where does the tutorial's code fail for an odd d_model?"},
                   {"코사인을 넣을 열이 하나 모자라므로 pe[:, 1::2] 대입에서 모양 오류가 납니다.",
                    "In the assignment to pe[:, 1::2], which has one column fewer than there are cosines."}},
                  {{"입력이 5,000보다 길면 어떻게 됩니까?", "What happens to inputs longer than 5,000?"},
                   {"표가 모자라 더하기에서 모양 오류가 납니다. tapegrad의 SinusoidalPositions는 표의 길이와 입력의 "
                    "길이를 함께 알려 줍니다.",
                    "The addition fails, as the table is too short. tapegrad's SinusoidalPositions names both "
                    "lengths."}}},
    .commands = "tapegrad show positional-encoding --length 50 --dim 32\ntapegrad show causal-mask --length 5",
    .terms = "PositionalEncoding subsequent_mask max_len div_term register_buffer masked_fill -1e9 시간 배치 축"};

const Page k001_4{
    .tutorial = "001",
    .section = "4",
    .also = {"5"},
    .title = {"면접 질문 세 가지와 더 읽을 것", "Three questions of interviews, and what to read next"},
    .about =
        {"튜토리얼은 위치 인코딩의 필요성, 인과 마스크를 쓰는 자리, 위치를 더하는 까닭을 묻습니다. 아래 연습 문제에 "
         "우리의 답이 있고, 그림은 첫 질문의 답을 여섯 방식에 대해 재어 보여 줍니다. 더 읽을 것으로는 Vaswani "
         "외(2017)의 원논문과 튜토리얼 003을 권합니다.",
         "The tutorial asks why positions are needed, where the causal mask is used, and why positions are added. "
         "Our answers are in the exercises below, and the figure measures the first one for six kinds of "
         "positions. To read on, take the paper of Vaswani and others (2017), and tutorial 003."},
    .lines = {{.what = {"첫 질문의 답을 재는 함수: 두 단어를 바꾸어 넣고, 출력을 다시 바꾸어 비교합니다.",
                        "A function that measures the first answer: two words are exchanged, and the outputs exchanged "
                        "back"},
               .pytorch = R"(straight, exchanged = encoder(ids), encoder(ids[:, there])
change = (exchanged[:, there] - straight).abs().max())",
               .snippet = "claims.h:order"}},
    .numbers = numbers_of_interview,
    .figures = figures_of_interview,
    .touch = {{.widget = "positions",
               .what = {"첫 질문의 답을 직접 확인해 보십시오. 위치를 더하지 않으면 단어를 바꾸어도 어느 단어의 벡터도 "
                        "변하지 않고, 위치를 더하면 모두 변합니다.",
                        "Check the first answer yourself: without positions no word's vector changes when words are "
                        "exchanged, with positions all of them do."},
               .data = sentence_as_positions}},
    .faults =
        {{.claim =
              {"이어 붙이기(concatenation)는 파라미터를 늘리고, 정보를 특정한 방식으로만 결합하게 만들 수 있다고 "
               "합니다.",
               "Concatenation is said to add parameters, and to force one way of combining both kinds of information."},
          .proof = {"[x; p]의 투영 W는 W1 x + W2 p이고, 더하기는 W1 = W2인 특별한 경우입니다. 곧 이어 붙이기는 "
                    "결합 방식을 제한하지 않으며, 더 일반적이고 더 비쌉니다. 더하기로 충분한 까닭은 차원이 커서 두 "
                    "정보가 거의 직교하는 부분공간에 "
                    "놓일 수 있기 때문입니다.",
                    "A projection of [x; p] is W1 x + W2 p, of which addition is the case W1 = W2; concatenation "
                    "is the more general and more expensive one. Addition suffices because there is room in many "
                    "dimensions for two nearly orthogonal subspaces."}}},
    .exercises =
        {{{"위치 인코딩은 왜 필요하며, 사인과 코사인 말고 어떤 방법이 있습니까?",
           "Why are positions needed, and what is there besides sines and cosines?"},
          {"어텐션의 출력은 입력의 순서를 바꾸면 같은 순서로 바뀔 뿐이므로 순서를 따로 알려 주어야 합니다. 학습하는 "
           "위치 "
           "벡터(BERT, GPT-2), 쿼리와 키를 돌리는 RoPE(Llama), 점수에 거리를 더하는 ALiBi와 T5의 방식이 있으며 모두 "
           "`--positions`로 고를 수 있습니다.",
           "If its inputs change places, the outputs of attention change places and nothing else, so the order has to "
           "be given. Learned vectors (BERT, GPT-2), RoPE, which rotates queries and keys (Llama), and distances added "
           "to "
           "scores (ALiBi, T5) do it, too; `--positions` chooses."}},
         {{"인과 마스크는 인코더와 디코더 중 어디에 쓰며 그 이유는 무엇입니까?",
           "Is the causal mask used in the encoder or in the decoder, and why?"},
          {"디코더의 셀프 어텐션에만 씁니다. 디코더는 다음 단어를 맞히는 법을 배우므로 답을 보면 안 됩니다. 인코더의 "
           "입력은 이미 모두 주어진 문장이고, 크로스 어텐션이 보는 것도 그 문장이므로 가릴 미래가 없습니다.",
           "In the decoder's self-attention alone: the decoder learns to predict the next word and must not see it. "
           "The encoder's input is given as a whole, and cross-attention looks at that input, so there is no future to "
           "hide."}},
         {{"위치를 이어 붙이지 않고 더하는 이유는 무엇입니까?", "Why are positions added and not concatenated?"},
          {"차원과 파라미터를 늘리지 않고도 투영 행렬이 두 정보를 필요한 만큼 섞거나 갈라낼 수 있기 때문입니다. 점수 "
           "(x + p)W(x' + p')에는 단어끼리, 단어와 위치, 위치끼리의 항이 모두 들어 있습니다.",
           "Projections can mix and separate both without a wider model: the score (x + p)W(x' + p') has terms of word "
           "and word, word and position, and position and position."}}},
    .commands = "tapegrad tutorial 003 8.3.2\ntapegrad tutorial 003 8.4.3",
    .terms = "면접 interview 질문 question RoPE ALiBi BERT GPT-2 T5 더하기 concatenate 이어 붙이기"};

}  // namespace tapegrad::tasks::tutorial
