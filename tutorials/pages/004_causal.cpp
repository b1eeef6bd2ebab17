// Tutorial 004, cells 28 to 36: the causal mask after and before the softmax, and dropout of weights.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr std::string_view kRenormalised =
    "1.0000 0.0000 0.0000 0.0000 0.0000 0.0000\n0.5517 0.4483 0.0000 0.0000 0.0000 0.0000\n"
    "0.3800 0.3097 0.3103 0.0000 0.0000 0.0000\n0.2758 0.2460 0.2462 0.2319 0.0000 0.0000\n"
    "0.2175 0.1983 0.1984 0.1888 0.1971 0.0000\n0.1935 0.1663 0.1666 0.1542 0.1666 0.1529";

Tensor masked_scores() { return masked_fill(journey_scores(), !nn::causal_mask(6), -INFINITY); }
Tensor causal_weights() { return softmax(masked_scores() / std::sqrt(2.0)); }

std::vector<Number> numbers_of_causal() {
  const Tensor weights = softmax(journey_scores() / std::sqrt(2.0)), past = tril(ones({6, 6})), kept = weights * past;
  return {same("cell 28: attn_weights",
               "0.1921 0.1646 0.1652 0.1550 0.1721 0.1510\n0.2041 0.1659 0.1662 0.1496 0.1665 0.1477\n"
               "0.2036 0.1659 0.1662 0.1498 0.1664 0.1480\n0.1869 0.1667 0.1668 0.1571 0.1661 0.1564\n"
               "0.1830 0.1669 0.1670 0.1588 0.1658 0.1585\n0.1935 0.1663 0.1666 0.1542 0.1666 0.1529",
               rows_of(weights, 4)),
          same("cell 29: mask_simple",
               "1. 0. 0. 0. 0. 0.\n1. 1. 0. 0. 0. 0.\n1. 1. 1. 0. 0. 0.\n1. 1. 1. 1. 0. 0.\n1. 1. 1. 1. 1. 0.\n"
               "1. 1. 1. 1. 1. 1.",
               numpy_rows(past)),
          same("cell 30: masked_simple",
               "0.1921 0.0000 0.0000 0.0000 0.0000 0.0000\n0.2041 0.1659 0.0000 0.0000 0.0000 0.0000\n"
               "0.2036 0.1659 0.1662 0.0000 0.0000 0.0000\n0.1869 0.1667 0.1668 0.1571 0.0000 0.0000\n"
               "0.1830 0.1669 0.1670 0.1588 0.1658 0.0000\n0.1935 0.1663 0.1666 0.1542 0.1666 0.1529",
               rows_of(kept, 4)),
          same("cell 31: masked_simple_norm", kRenormalised, rows_of(kept / sum(kept, -1, true), 4)),
          same("cell 32: masked",
               "0.2899 -inf -inf -inf -inf -inf\n0.4656 0.1723 -inf -inf -inf -inf\n"
               "0.4594 0.1703 0.1731 -inf -inf -inf\n0.2642 0.1024 0.1036 0.0186 -inf -inf\n"
               "0.2183 0.0874 0.0882 0.0177 0.0786 -inf\n0.3408 0.1270 0.1290 0.0198 0.1290 0.0078",
               rows_of(masked_scores(), 4)),
          same("cell 33: attn_weights", kRenormalised, rows_of(causal_weights(), 4))};
}

std::vector<Figure> figures_of_causal() {
  const std::vector<std::string>& words = journey_words();
  const Tensor weights = softmax(journey_scores() / std::sqrt(2.0)), kept = weights * tril(ones({6, 6}));
  const drawing::Series sums{
      .name = said("after the softmax"), .x = {}, .y = sum(kept, -1).to(kFloat64).to_vector<double>()};
  const drawing::Series ones_of{
      .name = said("before it"), .x = {}, .y = sum(causal_weights(), -1).to(kFloat64).to_vector<double>()};
  return {
      {{"28번, 30번, 31번, 33번 셀. 소프트맥스 뒤에 가리고 다시 나눈 결과와 소프트맥스 앞에서 가린 결과는 같습니다.",
        "Cells 28, 30, 31 and 33. Masked after the softmax and divided again, the weights are those that were "
        "masked before it."},
       {},
       {draw_matrix(said("28. No mask"), weights, words, words, 0, 1),
        draw_matrix(said("30. Mask after the softmax"), kept, words, words, 0, 1),
        draw_matrix(said("31. Divided by the row sums"), kept / sum(kept, -1, true), words, words, 0, 1),
        draw_matrix(said("33. Mask before the softmax"), causal_weights(), words, words, 0, 1)}},
      {{"가린 뒤 각 행의 합. 소프트맥스 뒤에 가리면 앞 단어일수록 합이 작아져 문맥 벡터가 0에 가까워집니다.",
        "Sums of the rows after masking. Masked after the softmax, early words keep the least, and their context "
        "vectors shrink."},
       draw(drawing::BarChart{
           .title = said("Row sums of the weights"), .labels = words, .series = {sums, ones_of}, .width = 480})}};
}

std::string journey_as_mask() {
  return fmt::format("{{\"tokens\":{},\"scores\":{},\"allowed\":{},\"when\":\"before\"}}", json_of(journey_words()),
                     json_of(journey_scores() / std::sqrt(2.0)), json_of(tril(ones({6, 6}))));
}

// How far apart the two ways are, in this example and for scores that are far apart.
std::string two_ways() {
  const auto distance = [](const Tensor& scores, double& least) {
    const Tensor kept = softmax(scores) * tril(ones(scores.shape())), sums = sum(kept, -1, true);
    least = amin(sums).item();
    const Tensor before = softmax(masked_fill(scores, !nn::causal_mask(scores.size(0)), -INFINITY));
    return amax(abs(where(sums > 0, kept / sums, zeros(scores.shape())) - before)).item();
  };
  double near_sum = 0, far_sum = 0;
  const double near = distance(journey_scores() / std::sqrt(2.0), near_sum);
  const double far = distance(tensor({{0.0F, 200.0F}, {0.0F, 200.0F}}), far_sum);
  return said(
      "scores            smallest row sum  largest difference\n"
      "of the tutorial   {:<16.4f}  {:.0e}\n[0, 200] twice    {:<16.4f}  {:.0f}\n",
      near_sum, near, far_sum, far);
}

std::vector<Number> numbers_of_dropout() {
  const nn::Dropout half(0.5);
  const Tensor weights = causal_weights();
  manual_seed(123);
  const Tensor of_ones = half(ones({6, 6}));
  manual_seed(123);
  const Tensor of_weights = half(weights);
  return {same("cell 35: dropout(example)",
               "2. 2. 0. 2. 2. 0.\n0. 0. 0. 2. 0. 2.\n2. 2. 2. 2. 0. 2.\n0. 2. 2. 0. 0. 2.\n0. 2. 0. 2. 0. 2.\n"
               "0. 2. 2. 2. 2. 0.",
               numpy_rows(of_ones)),
          same("cell 36: dropout(attn_weights)",
               "2.0000 0.0000 0.0000 0.0000 0.0000 0.0000\n0.0000 0.0000 0.0000 0.0000 0.0000 0.0000\n"
               "0.7599 0.6194 0.6206 0.0000 0.0000 0.0000\n0.0000 0.4921 0.4925 0.0000 0.0000 0.0000\n"
               "0.0000 0.3966 0.0000 0.3775 0.0000 0.0000\n0.0000 0.3327 0.3331 0.3084 0.3331 0.0000",
               rows_of(of_weights, 4))};
}

std::vector<Figure> figures_of_dropout() {
  const std::vector<std::string>& words = journey_words();
  const nn::Dropout half(0.5);
  const Tensor weights = causal_weights();
  manual_seed(123);
  const Tensor dropped = half(weights);
  drawing::Series scaled{said("kept weights doubled")}, bare{said("not doubled")};
  Tensor total = zeros({6, 6});
  manual_seed(0);
  for (int n = 1; n <= 400; ++n) {
    total = total + half(weights);
    if (n % 10 != 0) continue;
    const double mean_sum = mean(sum(total / n, -1)).item();
    scaled.x.push_back(n), scaled.y.push_back(mean_sum);
    bare.x.push_back(n), bare.y.push_back(mean_sum / 2);
  }
  return {{{"36번 셀: 드롭아웃 전과 후의 가중치. 둘째 행은 모두 0이 되었습니다.",
            "Cell 36: weights before and after dropout. The second row has lost all."},
           {},
           {draw_matrix(said("Causal weights"), weights, words, words, 0, 1),
            draw_matrix(said("After dropout"), dropped, words, words, 0, 2)}},
          {{"드롭아웃을 되풀이한 가중치의 평균에서 행의 합. 남은 값을 1/(1-p)배로 키우면 1에 머물고, 키우지 않으면 "
            "절반이 됩니다.",
            "Row sums of weights averaged over many dropouts: 1 if what is kept grows by 1/(1-p), one half if not."},
           draw(drawing::LineChart{.title = said("Mean row sum after dropout of one half"),
                                   .x_label = said("draws"),
                                   .y_label = said("sum"),
                                   .series = {scaled, bare},
                                   .y_low = 0,
                                   .y_high = 1.3,
                                   .width = 520})}};
}

// What remains of ones for several rates.
std::string factors_of_dropout() {
  std::string out = said("rate   1 / rate   1 / (1 - rate)   kept ones become\n");
  for (const double rate : {0.5, 0.2, 0.1}) {
    manual_seed(123);
    out += fmt::format("{:<4}   {:>8.4f}   {:>14.4f}   {:>16.4f}\n", rate, 1 / rate, 1 / (1 - rate),
                       amax(nn::Dropout(rate)(ones({100}))).item());
  }
  return out;
}

std::string dropout_as_formula() {
  return json_of({{"p", {"드롭아웃 비율 p", "rate p of dropout"}, 0, 0.9, 0.05, 0.5},
                  {"w", {"가중치 w", "weight w"}, 0, 1, 0.01, 0.44},
                  {"n", {"행에서 볼 수 있는 토큰 n개", "n visible tokens of a row"}, 1, 6, 1, 2}},
                 {{{"남은 것에 곱하는 수 1/(1-p)", "factor of what is kept, 1/(1-p)"}, "[\"/\",1,[\"-\",1,\"p\"]]"},
                  {{"w의 기댓값", "expected value of w"}, "[\"*\",[\"-\",1,\"p\"],[\"/\",\"w\",[\"-\",1,\"p\"]]]"},
                  {{"w의 표준편차 w√(p/(1-p))", "deviation of w, w√(p/(1-p))"},
                   "[\"*\",\"w\",[\"sqrt\",[\"/\",\"p\",[\"-\",1,\"p\"]]]]"},
                  {{"행이 모두 0일 확률 pⁿ", "chance that a row is all 0, pⁿ"}, "[\"^\",\"p\",\"n\"]"}},
                 4);
}

}  // namespace

const Page k004_28{
    .tutorial = "004",
    .section = "28-33",
    .title = {"인과 마스크: 소프트맥스 뒤에서, 그리고 앞에서", "The causal mask: after the softmax, and before it"},
    .about =
        {"미래의 단어를 보지 못하게 하려면 주대각선 위의 가중치가 0이어야 합니다. 소프트맥스 뒤에서 0을 곱하면 행의 "
         "합이 1보다 작아지므로 다시 나누어야 하고, 소프트맥스 앞에서 점수를 음의 무한대로 바꾸면 그럴 필요가 "
         "없습니다. 두 길의 결과는 같지만 안전하고 짧은 것은 뒤의 길입니다.",
         "To hide later words, weights above the diagonal must be 0. Multiplied by 0 after the softmax, rows no "
         "longer sum to 1 and have to be divided again; scores of minus infinity before the softmax need no "
         "repair. Both ways lead to the same weights, but the second is shorter and always works."},
    .lines = {{.what = {"돌아가는 길(28-31번 셀): 소프트맥스 뒤에서 가리고 다시 나눕니다.",
                        "The detour (cells 28 to 31): mask after the softmax, then divide again."},
               .pytorch = R"(weights = (scores / 2 ** 0.5).softmax(dim=-1)
kept = weights * torch.ones(6, 6).tril()
kept = kept / kept.sum(dim=-1, keepdim=True))",
               .snippet = "004_attention_step_by_step:after"},
              {.what = {"곧은 길(32-33번 셀): 소프트맥스 앞에서 음의 무한대로 가립니다.",
                        "The straight way (cells 32 and 33): minus infinity before the softmax."},
               .pytorch = R"(later = torch.ones(6, 6).triu(1).bool()
masked = scores.masked_fill(later, -torch.inf)
weights = (masked / 2 ** 0.5).softmax(dim=-1))",
               .snippet = "004_attention_step_by_step:before"}},
    .numbers = numbers_of_causal,
    .figures = figures_of_causal,
    .touch =
        {{.widget = "mask",
          .what = {"칸을 눌러 가리거나 열어 보십시오. 마스크를 소프트맥스 앞과 뒤로 옮기면 행의 합이 어떻게 되는지, "
                   "다시 나누면 무엇과 같아지는지 볼 수 있습니다.",
                   "Click cells to mask or open them. Move the mask before or after the softmax, watch the row "
                   "sums, and divide again."},
          .data = journey_as_mask}},
    .faults = {{.claim = {"31번 셀처럼 다시 나누는 방법이 실패할 수 있다는 말이 없습니다.",
                          "It is not said that dividing again, as in cell 31, can fail."},
                .proof = {"가려진 미래의 점수가 아주 크면 남은 가중치가 float32에서 모두 0이 되어 나눌 수 없습니다. "
                          "소프트맥스 앞에서 가리면 문제가 없습니다.",
                          "If a masked score is far larger, what remains underflows to 0 in float32, and there is "
                          "nothing to divide by. Masking before the softmax has no such case."},
                .shown = two_ways}},
    .exercises =
        {{{"31번 셀이 소프트맥스 뒤에서 가리고도 미래의 정보를 흘리지 않는 이유를 식으로 보이십시오.",
           "Show by a formula why cell 31 leaks nothing, although it masks after the softmax."},
          {"exp(s_j)/Z를 남은 것들의 합 Σ exp(s_k)/Z로 나누면 전체 합 Z가 지워지고, 남은 점수만의 소프트맥스가 "
           "됩니다. 미래의 점수는 Z에만 들어 있었습니다.",
           "exp(s_j)/Z over the sum of the kept exp(s_k)/Z cancels Z, the only place where later scores "
           "occur; a softmax of the kept scores remains."}},
         {{"스케일과 마스크의 순서를 바꾸면 결과가 달라집니까?", "Does the order of scaling and masking matter?"},
          {"아니요. 음의 무한대를 √d로 나누어도 음의 무한대입니다. 33번 셀은 마스크 뒤에 나눕니다. 다만 -1e9처럼 "
           "유한한 수라면 나눈 만큼 작아집니다.",
           "No: minus infinity over √d is minus infinity; cell 33 divides after masking. A finite number like "
           "-1e9 would shrink."}}},
    .commands = "tapegrad show causal-mask\ntapegrad tutorial 003 8.2.5\ntapegrad tutorial 000 3",
    .terms =
        "코잘 causal 인과 마스크 mask tril triu masked_fill 재정규화 renormalise 정보 누수 leakage keepdim "
        "브로드캐스팅 broadcasting"};

const Page k004_34{
    .tutorial = "004",
    .section = "34-36",
    .title = {"어텐션 가중치의 드롭아웃", "Dropout of attention weights"},
    .about =
        {"드롭아웃은 학습할 때 가중치를 무작위로 0으로 만들어 몇몇 단어에만 기대지 않게 합니다. 남은 가중치는 "
         "1/(1-p)배로 커지므로 기댓값이 변하지 않습니다. 마스크와 달리 순서를 지키는 규칙이 아니라 과적합을 줄이는 "
         "방법이며, 생성할 때는 꺼집니다.",
         "In training, dropout sets random weights to 0, so that a model cannot rely on a few words alone. What "
         "is kept grows by 1/(1-p), which leaves the expected value unchanged. Unlike the mask it does not "
         "enforce an order; it reduces overfitting, and it is off when text is generated."},
    .lines = {{.what = {"같은 시드로 두 번: 1로 채운 행렬과 가중치", "Twice with one seed: ones, and the weights"},
               .pytorch = R"(dropout = nn.Dropout(0.5)
torch.manual_seed(123)
print(dropout(torch.ones(6, 6)))
torch.manual_seed(123)
print(dropout(weights)))",
               .snippet = "004_attention_step_by_step:dropout"}},
    .numbers = numbers_of_dropout,
    .figures = figures_of_dropout,
    .touch =
        {{.widget = "formula",
          .what = {"비율 p를 움직여도 가중치의 기댓값은 그대로이지만 표준편차가 커집니다. 36번 셀의 둘째 행처럼 두 "
                   "토큰만 보는 행이 모두 0이 될 확률은 p가 0.5일 때 4분의 1입니다.",
                   "Moving the rate p leaves the expected weight as it is, but its deviation grows. A row that sees "
                   "two tokens, as the second one of cell 36, is all 0 with the chance 1/4 at p = 0.5."},
          .data = dropout_as_formula}},
    .faults =
        {{.claim = {"35번 셀의 주석은 남은 값이 1/0.5 = 2배가 된다고 적습니다.",
                    "A comment of cell 35 says that kept values grow by 1/0.5 = 2."},
          .proof = {"0.5는 드롭아웃 비율이 아니라 1에서 비율을 뺀 값이어야 합니다. 비율이 0.5일 때만 둘이 "
                    "같습니다. 바로 다음 줄의 식 1/(1-p)가 옳습니다.",
                    "The factor is 1/(1-p), as the next line says; 1/p is the same only for one half."},
          .shown = factors_of_dropout},
         {.claim = {"같은 시드라도 컴퓨터에 따라 다른 칸이 지워질 수 있다는 말이 없습니다.",
                    "It is not said that the same seed can drop other cells on other machines."},
          .proof = {"PyTorch는 인텔 MKL이 있으면 다른 난수열로 드롭아웃을 뽑습니다. tapegrad는 둘 다 알고 있으며, "
                    "위의 수치는 MKL을 쓰지 않는 난수열의 것입니다.",
                    "With Intel's MKL, PyTorch draws dropout from another stream. tapegrad knows both; the "
                    "numbers above are those of the stream without MKL."}}},
    .exercises =
        {{{"36번 셀의 둘째 행은 모두 0입니다. 그 단어의 문맥 벡터는 무엇이며, 왜 학습이 망가지지 않습니까?",
           "The second row of cell 36 is all 0. What is that word's context, and why does training survive?"},
          {"영벡터입니다. 잔차 연결이 있으면 그 단어는 이번 단계에 원래 벡터 그대로 지나가며, 다음 단계에는 다른 "
           "칸이 지워집니다.",
           "Zero. With a residual connection the word passes unchanged in this step, and the next step drops "
           "other cells."}},
         {{"드롭아웃을 소프트맥스 앞의 점수에 적용하면 무엇이 다릅니까?",
           "What differs if dropout acts on the scores before the softmax?"},
          {"점수 0은 \"보지 않음\"이 아니라 보통의 점수입니다. 가중치는 0이 되지 않고 다만 달라집니다.",
           "A score of 0 is an ordinary score, not \"do not look\": weights change, but none becomes 0."}}},
    .commands = "tapegrad show attention-steps --example journey",
    .terms = "드롭아웃 dropout 과적합 overfitting inverted 정규화 regularization 시드 seed MKL mt19937"};

}  // namespace tapegrad::tasks::tutorial
