// Tutorial 000: the causal mask of a GPT, and the whole model.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/self_attention.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

const std::vector<std::string> kFiveTokens{"t1", "t2", "t3", "t4", "t5"};

Tensor scores_of_five() {
  Generator generator(0);
  return randn({5, 5}, kFloat32, &generator);
}

std::vector<Figure> figures_of_gpt_mask() {
  const Tensor hidden = triu(ones({5, 5}), 1);
  return {
      {{"튜토리얼의 마스크(1: 가림)와 tapegrad의 마스크(1: 보임). 뜻이 반대이므로 하나를 뒤집으면 다른 하나가 됩니다. "
        "행은 쿼리, 열은 키입니다.",
        "The tutorial's mask (1: hidden) and tapegrad's (1: visible); each is the negation of the other. Rows are "
        "queries, columns keys."},
       {},

       {draw_matrix("triu(ones(5, 5), 1)", hidden, kFiveTokens, kFiveTokens, 0, 2, 0),
        draw_matrix("nn::causal_mask(5)", nn::causal_mask(5).to(kFloat32), kFiveTokens, kFiveTokens, 0, 2, 0)}}};
}

std::vector<Number> numbers_of_gpt_mask() {
  std::string sizes = "tokens  float32  bool\n";
  for (const double n : {256., 1024., 4096.}) {
    const double cells = 12 * n * n / (1 << 20);
    sizes += fmt::format("{:>6} {:>8.2f} {:>5.2f}\n", n, 4 * cells, cells);
  }
  const Tensor theirs = triu(ones({5, 5}), 1), ours = nn::causal_mask(5).to(kFloat32);
  return {own({"튜토리얼의 마스크와 tapegrad의 마스크의 합: 모든 칸이 1이므로 하나는 다른 하나를 뒤집은 것입니다.",
               "The tutorial's mask plus tapegrad's: 1 everywhere, so each is the negation of the other."},
              rows_of(theirs + ours, 0)),
          own({"12층이 저마다 저장하는 마스크의 크기(MiB): 버퍼로 저장하면 체크포인트가 이만큼 커집니다.",
               "MiB of the masks of 12 layers, each with its own: as buffers they make checkpoints larger by this."},
              sizes)};
}

std::string five_as_mask() {
  return fmt::format("{{\"tokens\":{},\"scores\":{},\"allowed\":{},\"when\":\"before\"}}", json_of(kFiveTokens),
                     json_of(scores_of_five()), json_of(tril(ones({5, 5}))));
}

std::vector<Number> numbers_of_gpt_steps() {
  const Tensor weights = softmax(masked_fill(scores_of_five(), !nn::causal_mask(5), -INFINITY));
  manual_seed(0);
  const Tensor dropped = dropout(weights, 0.1);
  return {own({"다섯 토큰의 가중치(시드 0): 대각선 위는 정확히 0입니다.",
               "The weights of five tokens (seed 0): exactly 0 above the diagonal."},
              rows_of(weights, 4)),
          own({"행의 합: 드롭아웃 전과 뒤. 지워지지 않은 가중치는 1/0.9배가 되므로 합은 1 근처에서 흔들립니다.",
               "Row sums before and after dropout. Weights that are kept grow by 1/0.9, so sums vary around 1."},
              rows_of(stack({sum(weights, {-1}), sum(dropped, {-1})}), 4))};
}

std::vector<Figure> figures_of_gpt_steps() {
  const Tensor scores = scores_of_five(), hidden = !nn::causal_mask(5);
  const Tensor weights = softmax(masked_fill(scores, hidden, -INFINITY));
  manual_seed(0);
  const Tensor dropped = dropout(weights, 0.1), values = randn({5, 4});
  const std::vector<std::string> four{"1", "2", "3", "4"};
  return {
      {{"다섯 토큰, 헤드 하나의 다섯 단계(시드 0): 점수, 마스크를 적용한 점수, 소프트맥스, 드롭아웃 10 %, 가중합",
        "Five steps of one head over five tokens (seed 0): scores, masked scores, softmax, dropout of 10 %, "
        "weighted sum"},
       {},
       {draw_matrix(said("1. Scores"), scores, kFiveTokens, kFiveTokens, -2, 2),
        draw_matrix(said("2. Masked scores"), masked_fill(scores, hidden, -INFINITY), kFiveTokens, kFiveTokens, -2, 2),
        draw_matrix(said("3. Weights"), weights, kFiveTokens, kFiveTokens, 0, 1),
        draw_matrix(said("4. After dropout"), dropped, kFiveTokens, kFiveTokens, 0, 1),
        draw_matrix(said("5. Contexts"), matmul(dropped, values), kFiveTokens, four, -2, 2)}}};
}

// The weight that later tokens get, in the row where it is largest, if their scores are lowered by this much.
double leak_of(double lowered) {
  const Tensor scores = scores_of_five(), hidden = !nn::causal_mask(5);
  const Tensor weights = softmax(where(hidden, scores - lowered, scores));
  return amax(sum(where(hidden, weights, zeros({5, 5})), {-1})).item();
}

std::vector<Number> numbers_of_infinity() {
  std::string leaks;
  for (const double lowered : {0., 10., 50., 100., 120., 1e9})
    leaks += fmt::format("{:>10} {:.1e}\n", lowered, leak_of(lowered));
  return {own({"점수에서 뺀 수와, 그때 미래의 토큰이 받는 가중치(가장 큰 행)",
               "What is subtracted from scores, and the weight that later tokens then get (largest row)"},
              leaks)};
}

std::vector<Figure> figures_of_infinity() {
  drawing::Series leak{said("weight of later tokens")};
  for (const double lowered : {0., 1., 2., 5., 10., 20., 40., 60., 80., 100., 120.}) {
    leak.x.push_back(lowered);
    leak.y.push_back(leak_of(lowered));
  }
  return {{{"점수에서 빼는 수에 따라 미래의 토큰이 받는 가중치(가장 큰 행, 로그 눈금). 100쯤부터는 float32에서 정확히 "
            "0입니다.",
            "The weight of later tokens by how much their scores are lowered (largest row, logarithmic). From about "
            "100 on it is exactly 0 in float32."},
           draw(drawing::LineChart{.title = said("What leaks through a finite mask"),
                                   .x_label = said("lowered by"),
                                   .y_label = said("weight"),
                                   .series = {leak},
                                   .log_y = true,
                                   .width = 520})}};
}

std::string finite_mask() {
  const Tensor scores = scores_of_five(), hidden = !nn::causal_mask(5);
  const auto by = [&](double value) { return softmax(masked_fill(scores, hidden, value)); };
  const Tensor right = by(-INFINITY), all_hidden = softmax(full({3}, -1e9)), none = softmax(full({3}, -INFINITY));
  return said(
      "largest difference of a weight, -1e9 against -inf: {:.0e}\n"
      "                                  -10 against -inf: {:.0e}\n"
      "a row that is masked everywhere, -1e9: {}\n"
      "                                 -inf: {}\n",
      amax(abs(by(-1e9) - right)).item(), amax(abs(by(-10) - right)).item(), rows_of(all_hidden, 4), rows_of(none, 4));
}

nn::GPTModel small_gpt() {
  manual_seed(123);
  return nn::GPTModel(
      {.vocab_size = 16, .context_length = 8, .emb_dim = 32, .n_heads = 4, .n_layers = 2, .drop_rate = 0.0});
}

std::vector<Number> numbers_of_gpt() {
  const nn::GPTConfig sizes;
  const int64_t tokens = sizes.vocab_size * sizes.emb_dim, places = sizes.context_length * sizes.emb_dim;
  const int64_t all = sizes.parameter_count(), norm = 2 * sizes.emb_dim;
  std::string parts;
  for (const auto& [name, count] : {std::pair{"token embeddings", tokens},
                                    {"position embeddings", places},
                                    {"12 blocks", all - 2 * tokens - places - norm},
                                    {"last layer norm", norm},
                                    {"output layer", tokens},
                                    {"all", all}})
    parts += fmt::format("{:<20} {:>11}\n", name, count);
  nn::GPTModel model = small_gpt();
  const Tensor change = abs(model(tensor({{3, 4, 5, 6, 7}})) - model(tensor({{3, 4, 9, 6, 7}})));
  return {own({"가장 작은 GPT-2의 크기로 만든 모델의 파라미터 수",
               "Parameters of a model with the sizes of the smallest GPT-2"},
              parts),
          own({"작은 GPT에서 셋째 토큰을 바꾸었을 때 위치별 로짓의 가장 큰 변화: 앞의 두 위치는 0입니다.",
               "The largest change of a logit by position when the third token of a small GPT is another one: 0 before "
               "it."},
              rows_of(amax(change[0], {-1}), 4))};
}

std::vector<Figure> figures_of_gpt() {
  nn::GPTModel model = small_gpt();
  const drawing::FlowChart parts = chart_of(architecture::architecture_of(model, said("A small GPT")));
  const Tensor straight = model(tensor({{3, 4, 5, 6, 7}})), other = model(tensor({{3, 4, 9, 6, 7}}));
  const drawing::Series change{
      .name = "change", .x = {}, .y = amax(abs(straight - other)[0], {-1}).to(kFloat64).to_vector<double>()};
  return {
      {{"작은 GPT(층 2, 헤드 4)의 모든 부분: 화살표마다 흐르는 모양, 상자마다 파라미터 수와 그 부분을 만드는 C++가 "
        "있습니다.",
        "All parts of a small GPT (2 layers, 4 heads): the shape that flows at each arrow, and in each box the number "
        "of parameters and the C++ that makes it."},
       draw(parts)},
      {{"작은 GPT(층 2, 헤드 4)에서 셋째 토큰을 바꾸었을 때 각 위치의 로짓이 변한 크기. 앞의 두 위치는 한 비트도 "
        "변하지 않습니다.",
        "How much the logits of each position change in a small GPT (2 layers, 4 heads) when the third token is "
        "another one. The two positions before it keep every bit."},
       draw(drawing::BarChart{.title = said("Change of the logits, by position"),
                              .labels = kFiveTokens,
                              .series = {change},
                              .width = 420})}};
}

std::string rows_of_norm() {
  const Tensor x = journey_vectors();
  return fmt::format("{{\"tokens\":{},\"rows\":{},\"gamma\":[1,1,1],\"beta\":[0,0,0],\"eps\":1e-5}}",
                     json_of(journey_words()), json_of(x));
}

std::string sizes_of_gpt() {
  return said("parameters with the smallest GPT-2's sizes: {}\nwith the output tied to the embedding:     {}\n",
              nn::GPTConfig{}.parameter_count(), nn::GPTConfig{}.parameter_count() - 50257 * 768);
}

}  // namespace

const Page k000_1{
    .tutorial = "000",
    .section = "1",
    .title = {"마스크 행렬과 register_buffer", "The matrix of the mask, and register_buffer"},
    .about = {"GPT의 마스크는 주대각선 위가 1인 정사각 행렬이며, 1은 그 키를 가린다는 뜻입니다. 학습되는 수가 아니므로 "
              "파라미터가 아니라 버퍼로 둡니다. tapegrad의 마스크는 보이는 자리가 참이어서 뜻이 반대입니다.",
              "A GPT's mask is a square matrix with 1 above the diagonal, and 1 hides that key. It is not trained, so "
              "it is a buffer and not a parameter. In tapegrad a mask is true where a key is visible, which is the "
              "opposite meaning."},
    .lines = {{.what = {"다섯 토큰의 마스크", "The mask of five tokens"},
               .pytorch = "hidden = torch.triu(torch.ones(5, 5), diagonal=1)\nself.register_buffer(\"mask\", hidden)",
               .snippet = "000_gpt:mask"},
              {.what = {"버퍼를 가진 모듈: nn::Buffer는 모델과 함께 저장되지만 학습되지 않습니다.",
                        "A module with a buffer: nn::Buffer is saved with the model, and not trained."},
               .pytorch = "later = self.mask.bool()[:tokens, :tokens]\n"
                          "scores = scores.masked_fill(later, -torch.inf)",
               .snippet = "attention.h:causal"}},
    .numbers = numbers_of_gpt_mask,
    .figures = figures_of_gpt_mask,
    .touch = {{.widget = "mask",
               .what = {"칸을 눌러 가리거나 열고 가중치가 어떻게 나뉘는지 보십시오.",
                        "Click cells to hide or open them, and see how the weights are shared out."},
               .data = five_as_mask}},
    .exercises =
        {{{"마스크를 파라미터로 두면 무엇이 잘못됩니까?", "What goes wrong if the mask is a parameter?"},
          {"옵티마이저가 고치려 하고, 파라미터 수와 가중치 감쇠에도 들어갑니다. 버퍼는 저장되고 장치로 옮겨지지만 "
           "옵티마이저에게는 보이지 않습니다.",
           "The optimiser would update it, and it would count among the parameters and in weight decay. A "
           "buffer is saved and moved, but no optimiser sees it."}},
         {{"1024 x 1024 마스크를 12층이 저마다 저장하면 float32로 몇 MiB입니까?",
           "How many MiB do masks of 1024 x 1024 take in float32, one in each of 12 layers?"},
          {"1024 · 1024 · 4바이트 · 12 = 48 MiB입니다. tapegrad의 GPT는 마스크를 저장하지 않고 커널 안에서 행마다 "
           "끝을 정하며, PyTorch의 파일과 맞출 때만 `--with-masks`로 저장합니다.",
           "1024 * 1024 * 4 bytes * 12 are 48 MiB. tapegrad's GPT stores none; its kernels end each row at "
           "the query. `--with-masks` saves them for files that PyTorch reads."}}},
    .without = {kNoFault},
    .commands = "tapegrad show causal-mask --length 5\ntapegrad train gpt --help",
    .terms = "인과 마스크 causal mask triu 상삼각 register_buffer 버퍼 buffer 체크포인트 checkpoint GPT"};

const Page k000_2{
    .tutorial = "000",
    .section = "2",
    .title = {"점수, 마스킹, 소프트맥스, 드롭아웃, 가중합", "Scores, masking, softmax, dropout, weighted sum"},
    .about = {"한 헤드의 계산은 다섯 단계이며, 모든 텐서의 앞 두 축은 배치와 헤드입니다. 마스크는 소프트맥스 앞에서, "
              "드롭아웃은 소프트맥스 뒤에서 작용합니다. 그림은 각 단계의 수를 차례로 보여 줍니다.",
              "One head computes five steps, and the first two axes of every tensor are batch and heads. The mask acts "
              "before the softmax, dropout after it. The figure shows the numbers of each step in turn."},
    .lines = {{.what = {"미래의 토큰은 앞의 로짓에 한 비트도 영향을 주지 않습니다.",
                        "A later token changes no bit of an earlier logit."},
               .pytorch = R"(scores = q @ k.transpose(2, 3)            # [batch, heads, L, L]
scores = scores.masked_fill(mask[None, None] == 1, -torch.inf)
weights = dropout((scores / head_dim ** 0.5).softmax(dim=-1))
contexts = weights @ v)",
               .snippet = "000_gpt:blind"}},
    .numbers = numbers_of_gpt_steps,
    .figures = figures_of_gpt_steps,
    .touch = {{.widget = "mask",
               .what = {"다섯 단계 가운데 마스크를 소프트맥스 뒤로 옮겨 보십시오. 행의 합이 1이 아니게 되므로 다시 "
                        "나누어야 합니다.",
                        "Of the five steps, move the mask behind the softmax: rows no longer add up to 1, and have to "
                        "be divided again."},
               .data = five_as_mask}},
    .faults =
        {{.claim = {"2절의 코드는 마스크를 토큰 수만큼 자르지 않고, 전체 코드는 자릅니다.",
                    "The code of section 2 does not cut the mask to the number of tokens; the complete code "
                    "does."},
          .proof = {"마스크는 CONTEXT_LENGTH 크기이므로, 자르지 않으면 그보다 짧은 입력에서 masked_fill이 모양 오류를 "
                    "냅니다. 앞에 축 둘을 더하는 것은 없어도 됩니다. [L, L]은 점수의 마지막 두 축에 맞추어 저절로 "
                    "확장됩니다.",
                    "The mask has the size CONTEXT_LENGTH, so without the cut masked_fill fails for shorter "
                    "inputs. The two added axes are not needed: [L, L] broadcasts against the last axes of "
                    "the scores."}}},
    .exercises =
        {{{"드롭아웃이 소프트맥스 뒤에 오는데도 미래의 토큰이 드러나지 않는 이유는 무엇입니까?",
           "Why does dropout after the softmax not uncover later tokens?"},
          {"드롭아웃은 곱하기입니다. 0에는 무엇을 곱해도 0입니다.", "Dropout multiplies, and 0 stays 0."}},
         {{"배치 2, 헤드 12, 길이 1024일 때 점수는 몇 개입니까?",
           "How many scores are there for batch 2, 12 heads and length 1024?"},
          {"2 · 12 · 1024 · 1024 = 25,165,824개로 float32에서 96 MiB입니다. 절반 가까이가 가려지므로 tapegrad의 "
           "커널은 그 자리를 계산하지 않습니다.",
           "2 * 12 * 1024 * 1024 = 25,165,824, in float32 96 MiB. Nearly half are masked, and tapegrad's "
           "kernels do not compute those."}}},
    .commands = "tapegrad tutorial 004 28\ntapegrad attention gpt --help",
    .terms = "어텐션 점수 score masked_fill softmax dropout 가중합 weighted sum 브로드캐스트 broadcast"};

const Page k000_3{
    .tutorial = "000",
    .section = "3",
    .title = {"왜 음의 무한대인가", "Why minus infinity"},
    .about = {"exp(-∞)는 정확히 0이므로 가려진 토큰의 가중치도 정확히 0입니다. -10 같은 수로 가리면 정보가 조금 새어 "
              "나오지만, 001과 002가 쓰는 -1e9는 float32에서 똑같이 0을 줍니다. 둘의 차이는 모든 키가 가려진 행에서 "
              "드러납니다.",
              "exp(-∞) is exactly 0, and so is the weight of a masked token. A number like -10 lets a little through, "
              "but -1e9, which 001 and 002 use, gives exactly 0 as well in float32. They differ in a row whose keys "
              "are all masked."},
    .lines = {{.what = {"음의 무한대로 가린 점수", "Scores masked with minus infinity"},
               .pytorch = "masked = scores.masked_fill(~mask, -torch.inf)\nweights = masked.softmax(dim=-1)",
               .snippet = "001_positions_and_masks:masked"}},
    .numbers = numbers_of_infinity,
    .figures = figures_of_infinity,
    .touch = {{.widget = "mask",
               .what = {"한 행의 칸을 모두 가려 보십시오. 모든 점수가 음의 무한대이면 소프트맥스는 0/0입니다.",
                        "Hide all cells of a row: with all scores at minus infinity, softmax is 0/0."},
               .data = five_as_mask}},
    .faults = {{.claim = {"유한한 수를 쓰면 정보가 새므로 반드시 -∞여야 한다고 합니다. 001과 002는 -1e9를 씁니다.",
                          "It is said that only -∞ masks completely, and any finite number leaks; 001 and 002 use "
                          "-1e9."},
                .proof = {"float32의 exp는 약 -104 아래에서 0이 되므로 -1e9도 완전히 가립니다. 다만 모든 키가 가려진 "
                          "행에서는 -1e9가 고른 가중치를, -∞가 PyTorch에서 NaN을 냅니다. tapegrad는 0을 줍니다.",
                          "exp is 0 in float32 below about -104, so -1e9 masks completely, too. In a row that is "
                          "masked everywhere -1e9 gives equal weights, and -∞ gives NaN in PyTorch, zeros in "
                          "tapegrad."},
                .shown = finite_mask}},
    .exercises =
        {{{"float16에서 -1e9를 쓰면 어떻게 됩니까?", "What does -1e9 become in float16?"},
          {"가장 큰 float16은 65504이므로 -∞가 됩니다. 그래서 반정밀도에서는 -1e4를 쓰는 코드도 있는데, exp(-1e4)도 "
           "0입니다.",
           "The largest float16 is 65504, so it becomes -∞. Code for half precision often has -1e4 instead, "
           "whose exp is 0, too."}},
         {{"패딩만 있는 문장에서 고른 가중치가 왜 나쁩니까?",
           "Why are equal weights bad for a sentence that is all padding?"},
          {"패딩의 값들이 평균되어 의미 없는 벡터가 되고 기울기가 패딩 임베딩으로 흐릅니다. 0이면 아무것도 "
           "흐르지 않습니다.",
           "The values of padding are averaged to a meaningless vector, and gradients flow to padding's "
           "embedding. With zeros, nothing flows."}}},
    .commands = "tapegrad tutorial 001 3\ntapegrad tutorial 003 8.2.5",
    .terms = "음의 무한대 -inf infinity -1e9 NaN 언더플로 underflow 누출 leak float16"};

const Page k000_4{
    .tutorial = "000",
    .section = "4",
    .title = {"요약과 전체 코드: GPT 모델", "Summary and the complete code: a GPT"},
    .about = {"전체 코드는 임베딩, 트랜스포머 블록, 마지막 레이어 정규화, 출력층으로 이루어진 GPT입니다. tapegrad의 "
              "GPTModel은 파라미터 이름이 같아, PyTorch로 저장한 가중치를 읽으면 같은 로짓을 냅니다. 이 "
              "페이지의 프로그램은 작은 GPT에게 수 세기를 가르칩니다.",
              "The complete code is a GPT of embeddings, Transformer blocks, a last layer normalisation and an output "
              "layer. tapegrad's GPTModel has the same parameter names, and gives the same logits for "
              "weights that PyTorch saved. The program of this page teaches a small GPT to count."},
    .lines = {{.what = {"모델을 만들고 로짓을 구합니다.", "Make the model, and compute logits"},
               .pytorch = "torch.manual_seed(123)\nmodel = GPTModel()          # sizes are constants of the module\n"
                          "logits = model(ids)         # [2, 5] -> [2, 5, vocabulary]",
               .snippet = "000_gpt:model"},
              {.what = {"학습", "Training"},
               .pytorch = R"(adam = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
for step in range(120):
    text = torch.randint(0, 8, (16, 1)) + torch.arange(9)
    logits = model(text[:, :8])
    loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    adam.zero_grad(); loss.backward(); adam.step())",
               .snippet = "000_gpt:train"},
              {.what = {"생성: 가장 그럴듯한 토큰을 하나씩 붙입니다.", "Generation: append the most likely token"},
               .pytorch = R"(model.eval()
while text.size(1) < 8:
    next = model(text)[:, -1].argmax(-1, keepdim=True)
    text = torch.cat((text, next), dim=1))",
               .snippet = "000_gpt:generate"}},
    .numbers = numbers_of_gpt,
    .figures = figures_of_gpt,
    .touch =
        {{.widget = "layernorm",
          .what = {"블록마다 두 번 쓰이는 레이어 정규화입니다. 감마와 베타를 움직여 보고, 한 단어의 모든 특성에 같은 "
                   "수를 더해도 결과가 그대로인지 확인하십시오.",
                   "Layer normalisation, twice in each block. Move gamma and beta, and check that a number added "
                   "to all features of a word changes nothing."},
          .data = rows_of_norm}},
    .faults =
        {{.claim = {"크기들이 전역 상수(NUM_HEADS, EMB_DIM ...)로만 있고 글에는 값이 없습니다.",
                    "The sizes are global constants (NUM_HEADS, EMB_DIM ...) whose values the text lacks."},
          .proof = {"tapegrad는 GPT-2의 가장 작은 크기를 기본값으로 둡니다. 출력층이 임베딩과 따로 있으므로 파라미터는 "
                    "1억 2,400만이 아니라 1억 6,300만 개입니다.",
                    "tapegrad's defaults are those of the smallest GPT-2. As the output layer is not tied to the "
                    "embedding, there are 163 million parameters, not 124."},
          .shown = sizes_of_gpt}},
    .exercises = {{{"d_out이 3이고 헤드가 2개면 assert가 실패합니다. tapegrad에서는 무엇이 보입니까?",
                    "With d_out 3 and 2 heads the assert fails. What does tapegrad say?"},
                   {"모델을 만들 때 어느 모듈의 어떤 두 수가 나누어떨어지지 않는지와 그 까닭을 적은 오류가 납니다.",
                    "An error when the model is made, which names the module, the two numbers, and why one must divide "
                    "the other."}},
                  {{"LayerNorm의 unbiased=False를 빼면 로짓이 왜 PyTorch의 nn.LayerNorm과 달라집니까?",
                    "Why do logits differ from those with nn.LayerNorm if unbiased=False is left out?"},
                   {"분산을 n이 아니라 n-1로 나누기 때문입니다. 768차원에서는 0.07 % 작은 출력이 되고, 층을 지나며 "
                    "쌓입니다.",
                    "The variance is then divided by n-1, not n. With 768 features the output is 0.07 % smaller, and "
                    "layers add that up."}}},
    .commands =
        "tapegrad train gpt --preset tiny\ntapegrad show architecture --model out/gpt\ntapegrad generate gpt "
        "--help\ntapegrad tutorial 003 8.4.1",
    .terms =
        "GPT GPTModel TransformerBlock GELU FeedForward LayerNorm 로짓 logits 생성 generate register_buffer "
        "파라미터 parameters"};

}  // namespace tapegrad::tasks::tutorial
