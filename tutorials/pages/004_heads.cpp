// Tutorial 004, cells 37 to 42: batches, several heads, and products of stacks of matrices.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/self_attention.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/attention.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

Tensor journey_batch() { return stack({journey_vectors(), journey_vectors()}); }

// The tutorial's rows of one sentence, for both: they are the same.
Number of_both(std::string_view label, std::string_view one, const Tensor& ours) {
  return same(label, fmt::format("{0}\n{0}", one), rows_of(ours, 4));
}

Tensor two_heads() {
  return tensor({{0.2745, 0.6584, 0.2775, 0.8573},
                 {0.8993, 0.0390, 0.9268, 0.7388},
                 {0.7179, 0.7058, 0.9156, 0.4340},
                 {0.0772, 0.3565, 0.1479, 0.5331},
                 {0.4066, 0.2318, 0.4545, 0.9737},
                 {0.4606, 0.5159, 0.4220, 0.5786}})
      .reshape({1, 2, 3, 4});
}

nn::MultiHeadSelfAttention attention_of_cell_40() {
  manual_seed(123);
  return nn::MultiHeadSelfAttention({.d_in = 3, .d_out = 2, .num_heads = 2, .context_length = 6});
}

std::vector<Number> numbers_of_head_cells() {
  constexpr std::string_view kFirst = "1.3208 1.1631 1.2879\n1.1631 2.2150 1.8424\n1.2879 1.8424 2.0402";
  constexpr std::string_view kSecond = "0.4391 0.7003 0.5903\n0.7003 1.3737 1.0620\n0.5903 1.0620 0.9912";
  const Tensor batch = journey_batch(), a = two_heads();
  manual_seed(123);
  const Tensor one = CausalAttention(3, 2, 6, 0)(batch);
  manual_seed(123);
  const Tensor two = MultiHeadAttentionWrapper(3, 2, 6, 0, 2)(batch);
  const Tensor joined = attention_of_cell_40()(batch);
  const auto shape = [](const Tensor& x) { return plain(str(x.shape())); };
  return {same("cell 37: batch.shape", "2 6 3", shape(batch)),
          of_both("cell 38: CausalAttention",
                  "-0.4519 0.2216\n-0.5874 0.0058\n-0.6300 -0.0632\n-0.5675 -0.0843\n-0.5526 -0.0981\n"
                  "-0.5299 -0.1081",
                  one),
          same("cell 38: context_vecs.shape", "2 6 2", shape(one)),
          of_both("cell 39: MultiHeadAttentionWrapper",
                  "-0.4519 0.2216 0.4772 0.1063\n-0.5874 0.0058 0.5891 0.3257\n-0.6300 -0.0632 0.6202 0.3860\n"
                  "-0.5675 -0.0843 0.5478 0.3589\n-0.5526 -0.0981 0.5321 0.3428\n-0.5299 -0.1081 0.5077 0.3493",
                  two),
          same("cell 39: context_vecs.shape", "2 6 4", shape(two)),
          of_both("cell 40: MultiHeadAttention",
                  "0.3190 0.4858\n0.2943 0.3897\n0.2856 0.3593\n0.2693 0.3873\n0.2639 0.3928\n0.2575 0.4028", joined),
          same("cell 40: context_vecs.shape", "2 6 2", shape(joined)),
          same("cell 41: rows of a that PyTorch echoes",
               "0.8993 0.0390 0.9268 0.7388\n0.7179 0.7058 0.9156 0.4340\n0.0772 0.3565 0.1479 0.5331\n"
               "0.4066 0.2318 0.4545 0.9737\n0.4606 0.5159 0.4220 0.5786",
               rows_of(a.reshape({6, 4}).slice(0, 1, 6), 4)),
          same("cell 41: a @ a.transpose(2, 3)", fmt::format("{}\n{}", kFirst, kSecond),
               rows_of(matmul(a, a.transpose(2, 3)), 4)),
          same("cell 41: a.shape", "1 2 3 4", shape(a)),
          same("cell 42: the first head", kFirst, rows_of(matmul(a[0][0], a[0][0].t()), 4)),
          same("cell 42: the second head", kSecond, rows_of(matmul(a[0][1], a[0][1].t()), 4))};
}

// [2, heads, 6, 6]
Tensor weights_of_cell_40() {
  const nn::MultiHeadSelfAttention attention = attention_of_cell_40();
  Tensor weights;
  static_cast<void>(attention(journey_batch(), {.weights = &weights}));
  return weights;
}

std::string cell_40_as_player() {
  return json_of_heads(weights_of_cell_40()[0], {"40번 셀", "cell 40"}, journey_words(), journey_words());
}

std::vector<Figure> figures_of_head_cells() {
  const std::vector<std::string>& words = journey_words();
  const Tensor a = two_heads(), products = matmul(a, a.transpose(2, 3)), weights = weights_of_cell_40();
  const std::vector<std::string> tokens{"1", "2", "3"};
  return {{{"41번 셀: 두 헤드의 점수. 앞의 두 축(배치, 헤드)은 그대로이고 마지막 두 축만 곱해집니다.",
            "Cell 41: the scores of two heads. The axes of batch and heads stay; the two last ones are multiplied."},
           {},
           {draw_matrix(said("First head"), products[0][0], tokens, tokens, 0, 2.5),
            draw_matrix(said("Second head"), products[0][1], tokens, tokens, 0, 2.5)}},
          {{"40번 셀의 가중치. 튜토리얼은 문맥 벡터만 출력하지만 두 헤드는 같은 문장을 다르게 봅니다. 미래는 모두 "
            "0입니다.",
            "The weights of cell 40, of which the tutorial prints only the contexts. The two heads look at the "
            "sentence differently; later words get 0."},
           {},
           {draw_matrix(said("Head 1"), weights[0][0], words, words, 0, 1),
            draw_matrix(said("Head 2"), weights[0][1], words, words, 0, 1)}}};
}

// A shorter sentence, and the cost of both ways.
std::string shorter_sentence() {
  manual_seed(123);
  const CausalAttention attention(3, 2, 6, 0);
  const Tensor batch = journey_batch(), all = attention(batch), first = attention(narrow(batch, 1, 0, 4));
  return said("largest change of the first 4 contexts: {:.0e}\n", amax(abs(narrow(all, 1, 0, 4) - first)).item());
}

}  // namespace

const Page k004_37{
    .tutorial = "004",
    .section = "37-42",
    .title = {"배치와 멀티헤드 어텐션", "Batches and multi-head attention"},
    .about = {"같은 문장 둘을 쌓아 배치를 만들고, 인과 마스크와 드롭아웃이 있는 헤드 하나를 모듈로 씁니다. 헤드를 여러 "
              "개 나란히 두어 이어 붙이거나, 큰 행렬 하나로 투영한 뒤 헤드로 나눌 수 있습니다. 뒤의 방법은 헤드 축을 "
              "따라 도는 행렬 곱을 쓰므로 반복문이 없습니다.",
              "Two copies of the sentence make a batch, and one head with causal mask and dropout becomes a module. "
              "Several heads are either placed side by side and joined, or come from one large projection that is cut "
              "into heads. The second way needs no loop, as products of matrices run along the axis of heads."},
    .lines = {{.what = {"헤드 하나, 나란한 두 헤드, 나뉜 두 헤드",
                        "One head, two side by side, two from one projection"},
               .pytorch = R"(batch = torch.stack((inputs, inputs))          # [2, 6, 3]
one = CausalAttention(3, 2, 6, 0.0)
two = MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)
joined = MultiHeadAttention(3, 2, 6, 0.0, num_heads=2))",
               .snippet = "004_attention_step_by_step:heads"},
              {.what = {"인과 어텐션 모듈(38번 셀)", "The causal module (cell 38)"},
               .pytorch = R"(scores = q @ k.transpose(1, 2)
later = self.mask[:tokens, :tokens].bool()
scores = scores.masked_fill(later, -torch.inf)
weights = self.dropout((scores / k.shape[-1] ** 0.5).softmax(-1))
return weights @ v)",
               .snippet = "attention.h:causal"},
              {.what = {"헤드를 이어 붙이는 모듈(39번 셀)", "Heads side by side (cell 39)"},
               .pytorch = "return torch.cat([head(x) for head in self.heads], dim=-1)",
               .snippet = "attention.h:wrapper"},
              {.what = {"행렬 묶음의 곱(41-42번 셀)", "Products of stacks of matrices (cells 41 and 42)"},
               .pytorch = "scores = a @ a.transpose(2, 3)   # [1, 2, 3, 4] -> [1, 2, 3, 3]",
               .snippet = "004_attention_step_by_step:products"}},
    .numbers = numbers_of_head_cells,
    .figures = figures_of_head_cells,
    .touch =
        {{.widget = "attention",
          .what = {"40번 셀의 두 헤드입니다. 단어를 하나씩 골라 두 헤드의 행을 비교하십시오. 뒤의 단어일수록 더 많은 "
                   "단어에 가중치를 나누어 줍니다.",
                   "The two heads of cell 40. Choose one word after another and compare the rows of both heads: "
                   "later words share their weights among more words."},
          .data = cell_40_as_player}},
    .faults =
        {{.claim = {"38번 셀의 주석은 문맥 길이보다 긴 입력에서 \"마스크 생성\"이 오류를 낸다고 합니다.",
                    "A comment of cell 38 says that making the mask fails for inputs above context_length."},
          .proof = {"마스크는 이미 만들어져 있고 작게 잘릴 뿐입니다. 오류는 모양이 맞지 않는 masked_fill에서 납니다. "
                    "짧은 문장은 마스크의 한 구석만 쓰며 앞 단어의 결과는 변하지 않습니다.",
                    "The mask exists already and is only cut; the error comes from masked_fill, whose shapes "
                    "disagree. A shorter sentence uses a corner of it, and early words keep their contexts."},
          .shown = shorter_sentence}},
    .exercises =
        {{{"39번 셀의 첫 두 열이 38번 셀과 같은 이유는 무엇입니까?",
           "Why are the first two columns of cell 39 those of cell 38?"},
          {"같은 시드에서 첫 헤드가 같은 난수를 먼저 뽑기 때문입니다. 둘째 헤드는 그다음 난수를 받습니다.",
           "With the same seed, the first head draws the same numbers first; the second head gets the next."}},
         {{"40번 셀에서 헤드의 차원은 1입니다. 점수는 무엇으로 나뉩니까?",
           "A head of cell 40 has size 1. What are scores divided by?"},
          {"√1 = 1, 곧 나누지 않는 것과 같습니다. 기준은 d_out이 아니라 헤드의 차원입니다.",
           "By √1 = 1: not at all. What counts is the size of a head, not d_out."}},
         {{"view 앞에 contiguous()가 필요한 이유는 무엇입니까?", "Why is contiguous() needed before view?"},
          {"transpose는 데이터를 옮기지 않고 스트라이드(stride)만 바꾸므로, 이어 붙일 축이 메모리에서 떨어져 있습니다. "
           "tapegrad의 reshape은 필요할 때만 복사합니다.",
           "transpose changes strides and moves no data, so the axes to be joined lie apart in memory. "
           "tapegrad's reshape copies only where that is needed."}}},
    .commands = "tapegrad attention copy\ntapegrad tutorial 003 8.2.4\ntapegrad tutorial 000 4",
    .terms =
        "배치 batch 멀티헤드 multi-head 헤드 head concat cat stack view contiguous transpose register_buffer "
        "out_proj CausalAttention"};

}  // namespace tapegrad::tasks::tutorial
