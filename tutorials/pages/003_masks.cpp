// Tutorial 003, section 8.2.5: the causal mask and the padding mask.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

Tensor scores_of_words() {
  return tensor({{0.9, 0.7, 0.3, 0.2}, {0.6, 0.8, 0.9, 0.4}, {0.2, 0.5, 0.7, 0.9}, {0.4, 0.3, 0.8, 0.6}});
}

constexpr std::string_view kScoresAsPrinted =
    "0.90 0.70 0.30 0.20\n0.60 0.80 0.90 0.40\n0.20 0.50 0.70 0.90\n"
    "0.40 0.30 0.80 0.60";

std::vector<Number> numbers_of_masks() {
  const Tensor scores = scores_of_words(), past = nn::causal_mask(4);
  const Tensor masked = masked_fill(scores, !past, -INFINITY);
  const Tensor as_added = masked_fill(ones({4, 4}), !past, -INFINITY);
  const Tensor words = nn::padding_mask(tensor({{1, 2, 3, 4}, {1, 2, 5, 0}, {3, 4, 6, 7}, {8, 9, 10, 11}}));
  const Tensor kept = masked_fill(scores, !words[0][0], -INFINITY);
  return {
      same("1. Original attention score matrix", kScoresAsPrinted, rows_of(scores, 2)),
      same("2. Lower triangular mask (1: allowed, 0: blocked)",
           "1.00 0.00 0.00 0.00\n1.00 1.00 0.00 0.00\n1.00 1.00 1.00 0.00\n1.00 1.00 1.00 1.00",
           rows_of(past.to(kFloat32), 2)),
      same("3. Mask converted to -inf",
           "1.0e+00 -inf -inf -inf\n1.0e+00 1.0e+00 -inf -inf\n1.0e+00 1.0e+00 1.0e+00 -inf\n"
           "1.0e+00 1.0e+00 1.0e+00 1.0e+00",
           exponent_rows_of(as_added, 1)),
      same("4. Attention scores with mask applied",
           "1.9 -inf -inf -inf\n1.6 1.8 -inf -inf\n1.2 1.5 1.7 -inf\n1.4 1.3 1.8 1.6", rows_of(scores + as_added, 1)),
      same("5. Final attention weights (after softmax)",
           "1.00 0.00 0.00 0.00\n0.45 0.55 0.00 0.00\n0.25 0.34 0.41 0.00\n0.22 0.20 0.32 0.26",
           rows_of(softmax(masked), 2)),
      same("2. Create padding mask (1: valid token, 0: padding token)",
           "1. 1. 1. 1.\n1. 1. 1. 0.\n1. 1. 1. 1.\n1. 1. 1. 1.", numpy_rows(words.reshape({4, 4}).to(kFloat32))),
      same("3. Original attention scores (first sentence)", kScoresAsPrinted, rows_of(scores, 2)),
      same("4. Scores with padding mask applied (first sentence)",
           "9.0e-01 7.0e-01 3.0e-01 2.0e-01\n6.0e-01 8.0e-01 9.0e-01 4.0e-01\n2.0e-01 5.0e-01 7.0e-01 9.0e-01\n"
           "4.0e-01 3.0e-01 8.0e-01 6.0e-01",
           exponent_rows_of(kept, 1)),
      same("5. Final attention weights (first sentence)",
           "0.35 0.29 0.19 0.17\n0.23 0.28 0.31 0.19\n0.17 0.22 0.27 0.33\n0.22 0.20 0.32 0.26",
           rows_of(softmax(kept), 2)),
  };
}

std::vector<Figure> figures_of_masks() {
  return {{{"인과 마스크: 어텐션 점수, 마스크, 마스크를 적용한 점수, 가중치. 행은 쿼리이고 열은 키입니다.",
            "The causal mask: scores, mask, masked scores and weights. Rows are queries, columns are keys."},
           {},
           show_causal_mask({}).drawings},
          {{"패딩 마스크: 튜토리얼은 패딩이 없는 첫째 문장만 출력합니다. 오른쪽 아래는 패딩이 있는 둘째 문장의 "
            "가중치이며, 마지막 열이 모두 0입니다.",
            "The padding mask: the tutorial prints only the first sentence, which has no padding. The last map has the "
            "weights of the second sentence, whose last column is 0."},
           {},
           show_padding_mask({}).drawings}};
}

std::string words_as_mask() {
  return fmt::format(
      "{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
      json_of(scores_of_words()), json_of(tril(ones({4, 4}))));
}

// The weights with 1 added to allowed scores, and without.
std::string same_weights() {
  const Tensor scores = scores_of_words(), past = nn::causal_mask(4);
  const Tensor plainly = softmax(masked_fill(scores, !past, -INFINITY));
  const Tensor added = softmax(scores + masked_fill(ones({4, 4}), !past, -INFINITY));
  return said("largest difference of a weight: {:.1e}\n", amax(abs(plainly - added)).item());
}

}  // namespace

const Page k003_8_2_5{
    .tutorial = "003",
    .section = "8.2.5",
    .title = {"병렬 학습을 위한 마스킹: 인과 마스크와 패딩 마스크",
              "Masking for training in parallel: causal mask and padding mask"},
    .about =
        {"디코더는 문장의 모든 위치를 한꺼번에 학습하므로, 각 단어가 자기보다 뒤에 있는 단어를 보지 못하게 막아야 "
         "합니다. 막을 점수를 소프트맥스 앞에서 음의 무한대로 바꾸면 그 가중치는 정확히 0이 되고 나머지 가중치의 합은 "
         "1로 유지됩니다. 인과 마스크는 미래의 단어를, 패딩 마스크는 길이를 맞추려고 채운 토큰을 가립니다.",
         "A decoder trains on all positions of a sentence at once, so each word must be kept from seeing the words "
         "after it. Scores that are set to minus infinity before the softmax get exactly the weight 0, and the other "
         "weights of the row still sum to 1. The causal mask hides later words, the padding mask hides tokens that "
         "only fill a sentence up to the common length."},
    .lines = {{.what = {"인과 마스크: 대각선과 그 아래만 남깁니다.",
                        "The causal mask keeps the diagonal and what is below."},
               .pytorch = R"(past = torch.ones(4, 4).tril().bool()
masked = scores.masked_fill(~past, float("-inf"))
weights = masked.softmax(dim=-1))",
               .snippet = "003_words_and_masks:causal"},
              {.what = {"패딩 마스크: 토큰 번호 0이 패딩이며, 키(열)를 가립니다.",
                        "The padding mask: token 0 is padding, and keys (columns) are hidden."},
               .pytorch = R"(words = (ids != 0)[:, None, None, :]   # one row for all heads and queries
weights = scores.masked_fill(~words, float("-inf")).softmax(dim=-1))",
               .snippet = "003_words_and_masks:padding"},
              {.what = {"더하는 방식의 마스크를 받는 어텐션", "Attention with a mask that is added"},
               .pytorch = "weights = (q @ k.mT + mask).softmax(dim=-1)   # mask: 0 or -inf\noutput = weights @ v",
               .snippet = "roles.h:masked"}},
    .numbers = numbers_of_masks,
    .figures = figures_of_masks,
    .touch =
        {{.widget = "mask",
          .what = {"튜토리얼의 점수에 걸린 인과 마스크입니다. 칸을 눌러 가리거나 열고, 마스크를 소프트맥스 뒤로 옮겨 "
                   "행의 합을 비교하십시오. 마지막 열을 모두 가리면 패딩 마스크가 됩니다.",
                   "The causal mask over the tutorial's scores. Click cells to hide or open them, move the mask behind "
                   "the softmax, and compare the row sums. With the last column hidden it is a padding mask."},
          .data = words_as_mask}},
    .faults =
        {{.claim = {"넷째 단계에서 0.90이 1.9가 됩니다. 허용된 자리에 0이 아니라 1을 더했기 때문입니다.",
                    "In step 4, 0.90 becomes 1.9: the mask adds 1, not 0, to allowed scores."},
          .proof = {"소프트맥스는 한 행의 모든 점수에 같은 수를 더해도 변하지 않으므로 가중치는 같습니다. 그러나 점수 "
                    "자체는 달라지며, 더하는 마스크의 값은 0과 음의 무한대여야 합니다.",
                    "Softmax does not change when the same number is added to all scores of a row, so the weights "
                    "agree. The scores are wrong all the same: an additive mask holds 0 and minus infinity."},
          .shown = same_weights},
         {.claim = {"패딩 마스크의 출력은 첫째 문장의 것인데, 이 문장에는 패딩이 없습니다.",
                    "The printed stages of the padding mask are those of a sentence without padding."},
          .proof = {"그래서 3단계와 4단계의 수가 모두 같고 가려진 칸이 하나도 없습니다. 위의 그림은 패딩이 있는 둘째 "
                    "문장도 보여 줍니다.",
                    "Steps 3 and 4 therefore have the same numbers, and nothing is masked. The figure above adds the "
                    "second sentence, which has padding."}}},
    .exercises =
        {{{"마스크를 소프트맥스 뒤에 곱하면 무엇이 달라집니까?",
           "What changes if the mask is multiplied in after the softmax?"},
          {"행의 합이 1보다 작아지므로 다시 나누어야 합니다. 다시 나눈 결과는 소프트맥스 앞에서 음의 무한대로 가린 "
           "결과와 같습니다. 튜토리얼 004의 30-31번 셀이 이 우회로를 보여 줍니다.",
           "Rows no longer sum to 1 and have to be divided by their sum. After that they equal the rows that were "
           "masked with minus infinity before the softmax; cells 30 and 31 of tutorial 004 take this detour."}},
         {{"모든 키가 가려진 행의 가중치는 무엇이어야 합니까?",
           "What should the weights of a row be whose keys are all masked?"},
          {"정의에 따르면 0/0이고 PyTorch의 softmax는 NaN을 냅니다. tapegrad는 0을 주며 기울기도 0이므로, 빈 문장이 "
           "학습 전체를 망치지 않습니다.",
           "By the definition they are 0/0, and PyTorch's softmax gives NaN. tapegrad gives zeros, with zero "
           "gradients, so an empty sentence cannot spoil a whole training step."}}},
    .commands = "tapegrad show causal-mask\ntapegrad show padding-mask\ntapegrad show padded-attention",
    .terms = "마스킹 mask look-ahead 룩어헤드 미래 정보 유출 leakage PAD tril triu"};

}  // namespace tapegrad::tasks::tutorial
