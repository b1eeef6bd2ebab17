// Tutorial 002: multi-head attention over padded sequences.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/padded_attention.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// bool [rows, length, 1]: true for the last counts[i] tokens of row i.
Tensor last_padded(const std::vector<int64_t>& counts, int64_t length) {
  std::vector<Tensor> rows;
  for (const int64_t count : counts) rows.push_back(arange(length) >= static_cast<double>(length - count));
  return stack(rows).unsqueeze(-1);
}

// The shapes of the tutorial's first `count` steps, as it prints them, for one batch.
Number shapes_of_steps(int64_t batch, int64_t length, int64_t width, std::size_t count, std::string_view steps_shown) {
  manual_seed(0);
  const PaddedAttention attention(width, 64, 4);
  const Tensor x = randn({batch, length, width});
  const Tensor mask = last_padded(std::vector<int64_t>(static_cast<std::size_t>(batch), length / 3), length);
  NamedTensors steps;
  static_cast<void>(attention(x, mask, &steps));
  const std::string outer = fmt::format("{} {}", batch, length), by_head = fmt::format("{} 4 {}", batch, length);
  const std::string wide = outer + " 64", split = by_head + " 16", square = fmt::format("{} {}", by_head, length);
  const std::vector<std::string> shapes{fmt::format("{} {}", outer, width),
                                        wide,
                                        wide,
                                        wide,
                                        split,
                                        split,
                                        split,
                                        square,
                                        square,
                                        outer + " 1",
                                        square,
                                        square,
                                        split,
                                        wide,
                                        wide};
  std::string printed, ours;
  for (std::size_t i = 0; i < count; ++i) {
    printed += shapes[i] + "\n";
    ours += plain(str(steps[i].tensor.shape())) + "\n";
  }
  return same(fmt::format("Batch {}, length {}, width {}: {}", batch, length, width, steps_shown), printed,
              plain(ours));
}

constexpr std::string_view kAllSteps =
    "x, q, k, v, three by head, score, scaled, mask, masked, softmax, result, merged, output";

std::vector<Number> numbers_of_comments() {
  manual_seed(0);
  const PaddedAttention attention(32, 64, 4);
  NamedTensors steps;
  static_cast<void>(attention(randn({2, 5, 32}), last_padded({1, 1}, 5), &steps));
  const auto shape = [&](std::string_view name) {
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.name == name; });
    return plain(str(found->tensor.shape()));
  };
  return {same("comment: q, k, v by head", "2 4 5 16", shape("q by head")),
          same("comment: mask", "2 5 1", shape("mask")),
          same("comment: masked score", "2 4 5 5", shape("masked score"))};
}

std::vector<Figure> figures_of_padded() {
  return {{{"튜토리얼의 마스크와 가중치, 키를 가리는 마스크와 가중치. 행은 쿼리, 열은 키입니다. 튜토리얼의 마스크는 행 "
            "전체를 똑같이 낮추므로 아무 키도 가리지 않습니다.",
            "The tutorial's mask and weights, a mask of keys and its weights. Rows are queries, columns keys. The "
            "tutorial's mask lowers whole rows, and so hides no key."},
           {},
           show_padded_attention({}).drawings}};
}

// Weights with the tutorial's mask, and with one of keys.
std::string share_of_padding() {
  Generator generator(0);
  const Tensor scores = randn({6, 6}, kFloat32, &generator);
  const Tensor padded = last_padded({2}, 6)[0];  // [6, 1]
  const Tensor theirs = softmax(scores + padded.to(kFloat32) * -1e9);
  const Tensor ours = softmax(masked_fill(scores, padded.reshape({1, 6}), -INFINITY));
  const auto share = [](const Tensor& weights) { return mean(sum(weights.slice(0, 0, 4).slice(1, 4, 6), {1})).item(); };
  return said(
      "weight that words give to padding\n  mask [B, 1, S, 1], the tutorial's:  {:.0f} %\n"
      "  mask [B, 1, 1, S]:                  {:.0f} %\n",
      100 * share(theirs), 100 * share(ours));
}

std::string deviation_by_scale() {
  Generator generator(0);
  const Tensor q = randn({500, 16}, kFloat64, &generator), k = randn({500, 16}, kFloat64, &generator);
  const double deviation = std(matmul(q, k.t())).item();
  return said(
      "scores of heads of 16 numbers: deviation {:.2f}\n  over sqrt(d_model) = 8:  {:.2f}\n"
      "  over sqrt(head_dim) = 4: {:.2f}\n",
      deviation, deviation / 8, deviation / 4);
}

std::string scores_with_padding() {
  Generator generator(0);
  const Tensor allowed = (!last_padded({2}, 6)[0]).to(kFloat32).reshape({1, 6}).expand({6, 6});
  return fmt::format(
      "{{\"tokens\":[\"w1\",\"w2\",\"w3\",\"w4\",\"PAD\",\"PAD\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
      json_of(randn({6, 6}, kFloat32, &generator)), json_of(allowed));
}

// The first sentence of the page's last lines of code.
std::string ids_as_mask() {
  Generator generator(0);
  const Tensor words = (tensor({5, 8, 3, 0, 0}) != 0).to(kFloat32);
  return fmt::format(
      "{{\"tokens\":[\"5\",\"8\",\"3\",\"PAD\",\"PAD\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
      json_of(randn({5, 5}, kFloat32, &generator)), json_of(words.expand({5, 5})));
}

std::vector<Number> numbers_of_sizes() {
  std::vector<Number> numbers;
  const Tensor ragged = last_padded({2, 1, 4, 0}, 10);
  numbers.push_back(same("Mask shape", "4 10 1", plain(str(ragged.shape()))));
  numbers.push_back(
      same("Mask of the first sequence, 1: True", "0 0 0 0 0 0 0 0 1 1", rows_of(ragged[0].squeeze().to(kFloat32), 0)));
  numbers.push_back(shapes_of_steps(4, 10, 32, 15, kAllSteps));
  numbers.push_back(shapes_of_steps(2, 5, 32, 15, kAllSteps));
  numbers.push_back(shapes_of_steps(8, 20, 64, 6, "x, q, k, v, q and k by head; then the print breaks off"));
  manual_seed(0);
  const PaddedAttention attention(32, 64, 4);
  const Tensor output = attention(randn({4, 10, 32}), ragged);
  numbers.push_back(
      drawn("Output, first token", "-0.0995 0.0652 0.1418", rows_of(output[0][0].slice(0, 0, 5), 4),
            {"튜토리얼은 시드를 정하지 않았고 출력이 셋째 수에서 끊겨 있습니다. 오른쪽은 시드 0에서 키를 가린 "
             "결과의 다섯 수입니다.",
             "The tutorial sets no seed, and its output breaks off after three numbers. Ours are five "
             "numbers of seed 0, with keys masked."}));
  return numbers;
}

std::vector<Figure> figures_of_ragged() {
  std::vector<std::string> sentences{"1", "2", "3", "4"}, places;
  for (int i = 1; i <= 10; ++i) places.push_back(std::to_string(i));
  const Tensor ragged = last_padded({2, 1, 4, 0}, 10).squeeze(-1).to(kFloat32);
  return {
      {{"길이가 다른 네 문장의 마스크(1: 패딩). 첫 문장은 튜토리얼이 출력한 것처럼 끝의 둘이 패딩이고, 넷째 문장에는 "
        "패딩이 없습니다.",
        "The mask of four sentences of different lengths (1: padding). The first ends with two tokens of padding, "
        "as the tutorial prints; the fourth has none."},
       draw_matrix(said("Padding, one sentence per row"), ragged, sentences, places, 0, 2, 0)}};
}

// What the tutorial's slice gives for each drawn length.
std::string slice_of_zero() {
  std::string out = said("pad_length  masked by mask[i, -pad_length:]\n");
  for (const int64_t count : {2, 1, 0}) {
    // Python's index -0 is 0: the slice begins at the start.
    const Tensor row = zeros({10}), masked = row.slice(0, count == 0 ? 0 : 10 - count, 10);
    out += said("{:>10}  {} of 10 tokens\n", count, masked.size(0));
  }
  return out;
}

}  // namespace

const Page k002_1{
    .tutorial = "002",
    .section = "1",
    .title = {"패딩 마스크가 있는 멀티헤드 어텐션", "Multi-head attention with a padding mask"},
    .about =
        {"한 모듈이 단계마다 텐서의 모양을 출력하며, 배치 4, 길이 10, 헤드 4개의 흐름을 따라갈 수 있습니다. "
         "tapegrad의 모듈은 같은 단계를 이름 붙은 텐서로 돌려주고 모양은 모두 같습니다. 다만 튜토리얼의 마스크는 키가 "
         "아니라 쿼리에 걸려 아무것도 가리지 못하고 스케일도 다르므로, 그 두 곳은 일부러 다르게 했습니다.",
         "A module prints the shape of each step, so one can follow a batch of 4, length 10, through 4 heads. "
         "tapegrad's module returns the same steps as named tensors, and all shapes agree. The tutorial's mask "
         "acts on queries and so hides nothing, and its scale is another one, so these two places differ on "
         "purpose."},
    .lines = {{.what = {"점수에서 출력까지. 주석의 두 줄이 튜토리얼의 것입니다.",
                        "From scores to the output; the tutorial has the two lines in comments"},
               .pytorch = R"(score = q @ k.transpose(-1, -2) / head_dim ** 0.5
#       tutorial: / d_model ** 0.5
score = score.masked_fill(padding.reshape(B, 1, 1, S), -torch.inf)
#       tutorial: score + padding[:, None] * -1e9
result = (score.softmax(-1) @ v).transpose(1, 2).reshape(B, S, -1)
return dense(result))",
               .snippet = "padded_attention.h:steps"}},
    .numbers = numbers_of_comments,
    .figures = figures_of_padded,
    .touch =
        {{.widget = "mask",
          .what = {"튜토리얼처럼 마지막 두 행을 가려 보고, 다음에는 마지막 두 열을 가려 보십시오. 어느 쪽에서 PAD의 "
                   "가중치가 0이 됩니까?",
                   "Mask the two last rows, as the tutorial does, then the two last columns. In which case does "
                   "PAD get the weight 0?"},
          .data = scores_with_padding}},
    .faults = {{.claim = {"mask[:, None]의 모양 [B, 1, S, 1]은 키가 아니라 쿼리를 가립니다.",
                          "mask[:, None], of shape [B, 1, S, 1], masks queries and not keys."},
                .proof = {"한 행의 모든 점수에서 같은 수를 빼면 소프트맥스는 변하지 않습니다. 그래서 단어들은 여전히 "
                          "패딩에 가중치를 줍니다.",
                          "Softmax does not change if one number is subtracted from all scores of a row, so words go "
                          "on giving weight to padding."},
                .shown = share_of_padding},
               {.claim = {"점수를 헤드의 차원이 아니라 d_model의 제곱근으로 나눕니다.",
                          "Scores are divided by the root of d_model, not of the size of a head."},
                .proof = {"점수는 head_dim개의 곱을 더한 것이므로 표준편차는 √head_dim입니다. √d_model로 나누면 헤드가 "
                          "많을수록 가중치가 평평해집니다.",
                          "A score sums head_dim products and has deviation √head_dim. Over √d_model, weights get "
                          "flatter with more heads."},
                .shown = deviation_by_scale}},
    .exercises =
        {{{"튜토리얼의 마스크를 한 줄만 고쳐 바르게 만드십시오.", "Mend the tutorial's mask in one line."},
          {"mask[:, None] 대신 mask.transpose(1, 2)[:, None]을 더합니다. 모양이 [B, 1, 1, S]가 되어 모든 헤드와 "
           "쿼리에서 같은 키를 가립니다.",
           "Add mask.transpose(1, 2)[:, None], of shape [B, 1, 1, S], which hides the same keys for all heads "
           "and queries."}},
         {{"패딩 위치의 출력은 어떻게 해야 합니까?", "What should happen to outputs at padding?"},
          {"보통 그대로 두고 손실에서 뺍니다. 키가 가려져 있으므로 다른 단어에 영향을 주지 않습니다.",
           "They are usually left and kept out of the loss; as keys they are hidden, so no word sees them."}}},
    .commands = "tapegrad show padded-attention\ntapegrad show padding-mask",
    .terms =
        "패딩 마스크 padding mask 멀티헤드 multi-head reshape transpose 배치 크기 시퀀스 길이 d_model head_dim 스케일"};

const Page k002_2{
    .tutorial = "002",
    .section = "2",
    .also = {"3"},
    .title = {"길이가 다른 패딩과 여러 입력 크기", "Ragged padding, and inputs of several sizes"},
    .about = {"네 문장의 패딩 길이를 무작위로 뽑아 마스크를 만들고, 이어서 세 가지 입력 크기로 모양을 확인합니다. 첫 "
              "문장의 마스크는 끝의 두 토큰이 True입니다. 실제로는 마스크를 토큰 번호에서 만드는 것이 안전하며, 마지막 "
              "코드가 그렇게 합니다.",
              "Lengths of padding are drawn for four sentences, and then three sizes of inputs are tried. The mask of "
              "the first sentence is True for its two last tokens. In practice a mask is safer made from token ids, as "
              "the last lines of code do."},
    .lines = {{.what = {"세 크기의 모양을 출력합니다.", "Print the shapes for several sizes"},
               .pytorch = R"(for b, s, d in ((2, 5, 32), (8, 20, 64), (1, 100, 32)):
    padding = torch.zeros(b, s, 1, dtype=torch.bool)
    padding[:, -(s // 3):] = True
    MultiHeadAttention(d, 64, 4)(torch.randn(b, s, d), padding))",
               .snippet = "002_padding:shapes"},
              {.what = {"토큰 번호에서 만든 패딩 마스크", "A padding mask from token ids"},
               .pytorch = "ids = torch.tensor([[5, 8, 3, 0, 0], [7, 2, 9, 4, 0]])\n"
                          "words = (ids != 0)[:, None, None, :]",
               .snippet = "002_padding:by_ids"}},
    .numbers = numbers_of_sizes,
    .figures = figures_of_ragged,
    .touch = {{.widget = "mask",
               .what = {"토큰 번호 5, 8, 3, 0, 0에서 만든 마스크입니다. 튜토리얼의 mask[i, -0:]처럼 모든 칸을 "
                        "가리면 어떤 문장도 볼 토큰이 없습니다. 한 행을 모두 가려 확인하십시오.",
                        "The mask made from the ids 5, 8, 3, 0, 0. The tutorial's mask[i, -0:] hides every token of a "
                        "sentence: hide a whole row to see what is left."},
               .data = ids_as_mask}},
    .faults =
        {{.claim = {"pad_length로 0이 뽑히면 문장 전체가 패딩이 됩니다.",
                    "If 0 is drawn for pad_length, the whole sentence becomes padding."},
          .proof = {"파이썬에서 -0은 0이므로 mask[i, -0:]은 처음부터 끝까지입니다. 다섯 번에 한 번 일어납니다.",
                    "In Python -0 is 0, so mask[i, -0:] is the whole row. It happens once in five draws."},
          .shown = slice_of_zero},
         {.claim = {"설명 글은 마스크가 패딩을 가린다고 하지만 2번 셀의 결과로는 확인되지 않습니다.",
                    "The text says that the mask hides padding, which the output of cell 2 does not show."},
          .proof =
              {"모양만 출력하므로 가중치는 보이지 않습니다. 1번 셀의 페이지에서 보듯이 실제로는 가려지지 않습니다.",
               "Only shapes are printed. As the page of cell 1 shows, nothing is hidden."}}},
    .exercises = {{{"세 쓰임(패딩, 미래, BERT)에서 마스크의 모양은 각각 무엇입니까?",
                    "What shapes do the masks have for padding, for later tokens, and in BERT?"},
                   {"패딩은 [B, 1, 1, S], 미래는 [S, S], BERT는 패딩 마스크뿐입니다. 둘을 함께 쓰면 [B, 1, S, S]로 "
                    "확장됩니다.",
                    "[B, 1, 1, S] for padding, [S, S] for later tokens, and BERT has padding alone. Both together "
                    "broadcast to [B, 1, S, S]."}},
                  {{"길이 100인 문장 하나와 길이 5인 문장 아흔아홉 개를 한 배치로 만들면 무엇이 낭비됩니까?",
                    "What is wasted if one sentence of 100 tokens and 99 of 5 make one batch?"},
                   {"10,000칸 가운데 9,405칸이 패딩입니다. 길이가 비슷한 문장끼리 모으면 줄일 수 있습니다.",
                    "9,405 of 10,000 places are padding. Batches of sentences of similar lengths avoid it."}}},
    .commands = "tapegrad show padded-attention --length 10\ntapegrad show padding-mask",
    .terms = "패딩 padding PAD pad_length 마스크 mask True False 가변 길이 ragged BERT 양방향"};

}  // namespace tapegrad::tasks::tutorial
