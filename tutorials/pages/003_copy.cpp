// Tutorial 003, sections 8.5 and 8.5.1: the three tasks, and the copy task.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tasks/seq2seq/tasks.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace tapegrad::tasks::tutorial {
namespace {

nn::TransformerConfig sizes(int64_t vocab, int64_t hidden, int64_t layers, int64_t heads, int64_t inner, int64_t length,
                            double dropout = 0.1) {
  return {.vocab_size = vocab,
          .hidden_size = hidden,
          .num_hidden_layers = layers,
          .num_attention_heads = heads,
          .intermediate_size = inner,
          .dropout_prob = dropout,
          .hidden_dropout_prob = dropout,
          .attention_probs_dropout_prob = dropout,
          .max_position_embeddings = length};
}

// The tutorial's model of each task, and the tokens of an answer.
struct TaskSize {
  std::string_view name;
  nn::TransformerConfig config;
  int64_t answer;
};

std::vector<TaskSize> sizes_of_tasks() {
  return {{"copy", sizes(20, 64, 2, 2, 128, 20), 20},
          {"addition", sizes(11, 256, 3, 4, 512, 10), 3},
          {"parser", sizes(25, 128, 3, 4, 512, 10), 5}};
}

std::vector<Number> numbers_of_tasks() {
  std::string rows = "task      parameters  tokens  answer  loss of a guess\n";
  for (const TaskSize& task : sizes_of_tasks())
    rows += fmt::format("{:<9} {:>10} {:>7} {:>7} {:>16.2f}\n", task.name, task.config.parameter_count(),
                        task.config.vocab_size, task.answer,
                        static_cast<double>(task.answer) * fixed::log(static_cast<double>(task.config.vocab_size)));
  return {
      own({"세 모델의 파라미터 수, 어휘, 답의 길이 T와, 모든 토큰을 고르게 찍을 때의 손실 T · ln V. 학습은 이 값보다 "
           "낮아져야 무엇인가를 배운 것입니다.",
           "Parameters, vocabulary V and length T of an answer for each model, and the loss T ln V of guessing all "
           "tokens alike: a model has learnt something once it is below that."},
          rows)};
}

std::vector<Figure> figures_of_tasks() {
  drawing::Series parameters{said("thousands of parameters")};
  for (const TaskSize& task : sizes_of_tasks())
    parameters.y.push_back(static_cast<double>(task.config.parameter_count()) / 1000);
  return {{{"세 태스크에서 튜토리얼이 쓰는 모델의 파라미터 수(천 개). 셋 모두 원논문의 모델보다 훨씬 작습니다.",
            "Parameters of the tutorial's model in each task, in thousands. All are tiny next to the paper's models."},
           draw(drawing::BarChart{.title = said("Sizes of the three models"),
                                  .labels = {"copy", "addition", "parser"},
                                  .series = {parameters},
                                  .width = 420})}};
}

// What may follow "나는", and what may follow that, as logits: the logarithms of made-up probabilities.
std::string choice_after_i() {
  const auto logits = [](std::initializer_list<double> p) {
    std::string out;
    for (const double one : p) out += fmt::format("{}{:.4f}", out.empty() ? "" : ",", fixed::log(one));
    return "[" + out + "]";
  };
  return fmt::format(
      "{{\"start\":\"나는\",\"words\":[\"학교에\",\"집에\",\"공원에\",\"밥을\"],\"logits\":{},\"next\":["
      "{{\"words\":[\"간다\",\"있다\"],\"logits\":{}}},{{\"words\":[\"간다\",\"있다\"],\"logits\":{}}},"
      "{{\"words\":[\"간다\",\"있다\"],\"logits\":{}}},{{\"words\":[\"먹는다\",\"짓는다\"],\"logits\":{}}}]}}",
      logits({0.45, 0.30, 0.15, 0.10}), logits({0.55, 0.45}), logits({0.9, 0.1}), logits({0.7, 0.3}),
      logits({0.95, 0.05}));
}

Tensor shifted_right(const Tensor& target) {
  return cat({zeros({target.size(0), 1}, kInt64), narrow(target, 1, 0, target.size(1) - 1)}, 1);
}

// Trains on sequences of 20 tokens, and records the losses.
drawing::Series train_copy(nn::Transformer& model, std::string name, int steps, int64_t batch, double rate) {
  drawing::Series losses{std::move(name)};
  optim::Adam adam(nn::parameters(model), {.lr = rate, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9});
  for (int step = 1; step <= steps; ++step) {
    const Tensor src = randint(1, 20, {batch, 20});
    Tape tape;
    const Tensor outputs = model(src, shifted_right(src), nn::padding_mask(src), nn::causal_mask(20));
    const Tensor loss = nn::sequence_loss(outputs, src);
    adam.step(tape.backward(loss));
    losses.x.push_back(step);
    losses.y.push_back(loss.item());
  }
  return losses;
}

// The tutorial's model after 150 steps without dropout, at a larger rate and with small batches: it copies.
struct TrainedCopy {
  nn::Transformer model;
  drawing::Series losses;
};

const TrainedCopy& trained_copy() {
  static const TrainedCopy kTrained = [] {
    manual_seed(0);
    TrainedCopy made{nn::Transformer(sizes(20, 64, 2, 2, 128, 20, 0)), {}};
    made.losses = train_copy(made.model, "", 150, 16, 2e-3);
    nn::eval(made.model);
    return made;
  }();
  return kTrained;
}

// The tutorial's twenty tokens of its test.
Tensor tokens_of_test() { return tensor({{10, 10, 2, 12, 1, 5, 3, 1, 8, 18, 2, 19, 2, 2, 8, 14, 7, 19, 5, 4}}); }

Tensor greedy_copy(const Tensor& src) {
  const nn::Transformer& model = trained_copy().model;
  const Tensor mask = nn::padding_mask(src), memory = model.encode(src, mask);
  Tensor text = zeros({1, 1}, kInt64);
  while (text.size(1) <= src.size(1)) {
    const Tensor scores = model.predict(model.decode(memory, mask, text, nn::causal_mask(text.size(1))));
    text = cat({text, argmax(scores.select(1, -1), -1, true)}, 1);
  }
  return narrow(text, 1, 1, src.size(1));
}

// The section's example of a loss: two sequences of three tokens out of five.
Tensor probabilities_of_example() {
  return tensor({{0.9, 0.1, 0., 0., 0.},
                 {0.1, 0.8, 0.1, 0., 0.},
                 {0., 0.1, 0.9, 0., 0.},
                 {0.8, 0.2, 0., 0., 0.},
                 {0.1, 0.7, 0.2, 0., 0.},
                 {0.1, 0.1, 0.8, 0., 0.}})
      .reshape({2, 3, 5});
}

std::vector<Number> numbers_of_copy() {
  const Tensor example = tensor({{7, 15, 2, 3, 12}}), probabilities = probabilities_of_example();
  const auto shape = [](const Tensor& x) { return plain(str(x.shape())); };
  return {
      same("Sequence Length", "5", std::to_string(example.size(1))),
      same("Original Tensor Shape", "1 5", shape(example)), same("Input Sequence", "7 15 2 3 12", rows_of(example, 0)),
      drawn(
          "Output of the test", "10 10 2 12 1 5 3 1 8 18 2 19 2 2 8 14 7 19 5 4",
          rows_of(greedy_copy(tokens_of_test()), 0),
          {"튜토리얼의 입력은 시드 없이 뽑혔고 모델도 시드 없이 학습되었습니다. 오른쪽은 이 페이지를 만들며 150단계를 "
           "학습한 모델이 같은 입력에 낸 답입니다.",
           "The tutorial drew this input, and trained its model, without a seed. Ours is the answer to the same "
           "input of a model that was trained for 150 steps while this page was made."}),
      same("Model Output of the loss, second sequence",
           "0.8 0.2 0.0 0.0 0.0\n0.1 0.7 0.2 0.0 0.0\n0.1 0.1 0.8 0.0 "
           "0.0",
           rows_of(probabilities[1], 1))};
}

std::vector<Figure> figures_of_copy() {
  const nn::Transformer& model = trained_copy().model;
  const Tensor src = tokens_of_test(), mask = nn::padding_mask(src);
  nn::AttentionMaps maps;
  static_cast<void>(model(src, shifted_right(src), mask, nn::causal_mask(20), &maps));
  const auto map_of = [&](std::string_view name, int64_t head) {
    return std::find_if(maps.begin(), maps.end(), [&](const auto& map) { return map.name == name; })->tensor[0][head];
  };
  const Tensor memory = model.encode(src, mask)[0];
  const Tensor picture = softmax(matmul(memory, memory.t()) / std::sqrt(64.0));
  std::vector<std::string> tokens, read{"0"};
  for (const int64_t token : src.to_vector<int64_t>()) tokens.push_back(std::to_string(token));
  read.insert(read.end(), tokens.begin(), tokens.end() - 1);
  manual_seed(0);
  nn::Transformer slow(sizes(20, 64, 2, 2, 128, 20));
  const drawing::Series first = train_copy(slow, said("the tutorial's first 20 steps (seed 0)"), 20, 40, 1e-4);
  drawing::Series trained = trained_copy().losses;
  trained.name = said("150 steps, lr 2e-3, batch 16, no dropout");
  const auto map = [&](std::string_view title, const Tensor& x, const std::vector<std::string>& rows) {
    return draw_matrix(title, x, rows, tokens, 0, amax(x).item());
  };
  return {{{"튜토리얼의 그림: 인코더의 출력을 자기 자신과 비교한 소프트맥스(20 x 20). 어느 헤드의 가중치도 아닙니다.",
            "The tutorial's picture: a softmax of the encoder's output compared with itself (20 x 20). It is not the "
            "map of any head."},
           map("softmax(memory memoryᵀ / √64)", picture, tokens)},
          {{"모델이 실제로 쓰는 크로스 어텐션. 행은 디코더가 읽은 토큰, 열은 입력 토큰이며, 대각선이 복사입니다. 색은 "
            "그림마다 가장 큰 가중치에 맞추었습니다.",
            "The cross-attention that the model uses. Rows are the tokens that the decoder read, columns the input; "
            "the diagonal is the copying. Colours are scaled to each map's largest weight."},
           {},
           {map(said("cross layer {}, head {}", 0, 0), map_of("decoder.layers.0.cross_attn", 0), read),
            map(said("cross layer {}, head {}", 0, 1), map_of("decoder.layers.0.cross_attn", 1), read),
            map(said("cross layer {}, head {}", 1, 0), map_of("decoder.layers.1.cross_attn", 0), read),
            map(said("cross layer {}, head {}", 1, 1), map_of("decoder.layers.1.cross_attn", 1), read)}},
          {{"손실: 튜토리얼의 설정으로 처음 20단계(프로그램 003_copy와 같은 수)와 위의 그림을 만든 150단계",
            "Losses: the first 20 steps with the tutorial's settings (the numbers of the program 003_copy), and the "
            "150 steps behind the maps above"},
           draw(drawing::LineChart{.title = said("Loss of the copy task"),
                                   .x_label = said("step"),
                                   .y_label = said("loss"),
                                   .series = {first, trained},
                                   .log_y = true,
                                   .width = 560})}};
}

// The model above while it copies the tutorial's twenty tokens.
std::string copying_as_player() {
  const std::unique_ptr<Task> task = task_named("copy").make(task_named("copy").defaults());
  const AttentionSample sample = attend(*task, trained_copy().model, {tokens_of_test(), tokens_of_test()});
  return json::text_of(
      player_json(sample.heads, {.group = kCrossGroup, .read = {}, .steps = sample.steps, .ends = true}));
}

std::string loss_of_probabilities() {
  const Tensor p = probabilities_of_example(), target = tensor({{0, 1, 2}, {0, 1, 2}});
  return said("CopyLoss of the numbers as logits:    {:.4f}\nCopyLoss of their logarithms:         {:.4f}\n",
              nn::sequence_loss(p, target).item(), nn::sequence_loss(log(p), target).item());
}

// How far the tutorial's picture is from each of the encoder's maps.
std::string picture_and_heads() {
  const nn::Transformer& model = trained_copy().model;
  const Tensor src = tokens_of_test(), mask = nn::padding_mask(src);
  nn::AttentionMaps maps;
  static_cast<void>(model(src, shifted_right(src), mask, nn::causal_mask(20), &maps));
  const Tensor memory = model.encode(src, mask)[0];
  const Tensor picture = softmax(matmul(memory, memory.t()) / std::sqrt(64.0));
  std::string out = said("largest difference of a weight to the figure\n");
  for (const auto& map : maps) {
    if (map.name.find("encoder.layers") == std::string::npos) continue;
    for (int64_t head = 0; head < 2; ++head)
      out += said("  {}, head {}: {:.2f}\n", map.name, head + 1, amax(abs(map.tensor[0][head] - picture)).item());
  }
  return out;
}

}  // namespace

const Page k003_8_5{
    .tutorial = "003",
    .section = "8.5",
    .title = {"트랜스포머 예제 세 가지", "Three examples of the Transformer"},
    .about = {"복사, 덧셈, 파서의 세 태스크는 같은 트랜스포머를 크기만 바꾸어 학습합니다. 복사는 어텐션을, 덧셈은 "
              "자기회귀 생성을, 파서는 구조를 배우는 과정을 보여 줍니다. 장 끝의 연습 문제 열한 개는 "
              "따로 한 쪽에 모았습니다.",
              "The three tasks train one Transformer in three sizes. Copying shows attention, addition shows "
              "generation token by token, and the parser shows that structure can be learnt. The eleven "
              "exercises at the end of the chapter have a page of their own."},
    .lines = {{.what = {"세 태스크가 함께 쓰는 것: 답을 한 칸 민 디코더의 입력",
                        "What all three share: the answer, shifted by one, is what the decoder reads"},
               .pytorch = "start = torch.zeros(target.size(0), 1, dtype=torch.long)\n"
                          "read = torch.cat((start, target[:, :-1]), dim=1)",
               .snippet = "003_copy:shifted"},
              {.what = {"그리고 탐욕적 디코딩으로 답하기", "And greedy answers"},
               .pytorch = R"(text = torch.zeros(src.size(0), 1, dtype=torch.long)
while text.size(1) <= src.size(1):
    scores = model(src, text, src_mask, causal(text.size(1)))
    text = torch.cat((text, scores[:, -1].argmax(-1, keepdim=True)), 1)
answer = text[:, 1:])",
               .snippet = "003_copy:answer"}},
    .numbers = numbers_of_tasks,
    .figures = figures_of_tasks,
    .touch = {{.widget = "choice",
               .what = {"\"나는\" 다음의 단어를 탐욕적 디코딩, 빔, top-k, top-p, 온도로 골라 보십시오. 첫 단어만 보면 "
                        "\"학교에\"가 "
                        "가장 그럴듯하지만, 두 단어의 곱은 \"집에 간다\"가 더 큽니다.",
                        "Choose what follows \"나는\" by greedy search, beams, top-k, top-p and temperature. 학교에 is "
                        "the likeliest first word, but the likeliest pair is \"집에 간다\"."},
               .data = choice_after_i}},
    .exercises =
        {{{"세 태스크의 모델은 왜 크기가 다릅니까?", "Why do the three models differ in size?"},
          {"복사는 위치만 맞추면 되지만, 덧셈은 자리 올림을 계산해야 합니다. 그림의 파라미터 수가 그 차이를 보여 "
           "줍니다. 장 끝의 "
           "연습 문제 열한 개는 `tapegrad tutorial 003 exercises`에 있습니다.",
           "Copying only matches positions, but addition computes carries; the figure has the number of parameters of "
           "each. The eleven exercises at the end of the chapter are on `tapegrad tutorial 003 exercises`."}}},
    .without = {kNoFault},
    .commands = "tapegrad train copy\ntapegrad train addition\ntapegrad train parser\ntapegrad attention copy",
    .terms =
        "예제 examples 복사 copy 덧셈 addition 파서 parser 맺음말 summary 연습 문제 exercises 요약 summarize 질의응답 "
        "answer"};

const Page k003_8_5_1{
    .tutorial = "003",
    .section = "8.5.1",
    .title = {"단순 복사 태스크", "The copy task"},
    .about = {"입력 토큰 20개를 그대로 출력하는 태스크로, 모델이 어디를 보는지 그림으로 확인하기 좋습니다. 아래 "
              "프로그램은 학습 과정을 모두 적은 60줄이며, 처음 20단계의 손실이 `tapegrad train copy`와 마지막 자리까지 "
              "같습니다. 손실은 토큰이 아니라 문장 수로 나눈 음의 로그 확률의 합입니다.",
              "The model repeats 20 tokens, which makes it easy to see where it looks. The program below is the whole "
              "training in about 60 lines, and its first 20 losses are those of `tapegrad train copy` to the last "
              "digit. The loss is the sum of negative log-probabilities over the number of sequences, not of tokens."},
    .lines = {{.what = {"학습", "Training"},
               .pytorch = R"(model = Transformer(config)
adam = torch.optim.Adam(model.parameters(), lr=1e-4,
                        betas=(0.9, 0.98), eps=1e-9)
for step in range(20):
    src = torch.randint(1, 20, (40, 20))
    log_probs = model(src, shifted(src), src_mask, causal(20))
    loss = F.nll_loss(log_probs.flatten(0, 1), src.flatten(),
                      reduction="sum") / 40
    adam.zero_grad(); loss.backward(); adam.step())",
               .snippet = "003_copy:train"}},
    .numbers = numbers_of_copy,
    .figures = figures_of_copy,
    .touch =
        {{.widget = "attention",
          .what = {"위에서 150단계를 학습한 모델이 튜토리얼의 토큰 스무 개를 한 단계씩 베끼는 과정입니다. 아래에서는 "
                   "토큰을 하나 골라 모든 헤드에서 그 행을 봅니다. 자신이 학습한 모델은 `tapegrad attention copy`가 "
                   "같은 재생기로 보여 줍니다.",
                   "The model of 150 steps copies the tutorial's twenty tokens, step by step. Below, choose a token to "
                   "see its row in every head. `tapegrad attention copy` has the same player for a model of your own."},
          .data = copying_as_player}},
    .faults =
        {{.claim = {"손실의 예에서 \"모델 출력(로짓)\"이라는 수는 사실 확률입니다.",
                    "In the example of the loss, the \"model output (logits)\" are in fact probabilities."},
          .proof = {"CopyLoss는 입력에 소프트맥스를 적용하므로, 이 수를 그대로 넣으면 튜토리얼이 손으로 구한 값이 "
                    "나오지 않습니다. 로그를 취해 넣어야 0.6184입니다.",
                    "CopyLoss applies a softmax to its input, so these numbers do not give the loss that the "
                    "tutorial computes by hand. Their logarithms do: 0.6184."},
          .shown = loss_of_probabilities},
         {.claim = {"visualize_attention이 그리는 것은 모델의 어떤 헤드도 아닙니다.",
                    "The map that visualize_attention draws belongs to no head of the model."},
          .proof = {"이 함수는 인코더의 출력을 쿼리, 키, 값으로 삼아 투영도 헤드도 없이 어텐션을 한 번 더 계산하고, "
                    "제목에는 0번 층의 셀프 어텐션이라고 적습니다.",
                    "It takes the encoder's output as query, key and value, computes attention once more without "
                    "projections and heads, and calls it the self-attention of layer 0."},
          .shown = picture_and_heads}},
    .exercises =
        {{{"학습하지 않은 모델의 손실은 약 얼마여야 합니까?", "What should the loss of an untrained model be, about?"},
          {"고른 확률이면 20 · ln 20 = 59.9입니다. 첫 손실 71.95가 더 큰 까닭은 출력층의 초깃값이 로짓을 "
           "벌려 놓기 때문입니다.",
           "Equal probabilities give 20 ln 20 = 59.9. The first loss, 71.95, is larger because the initial "
           "output layer spreads the logits."}},
         {{"그림에서 크로스 어텐션의 대각선이 한 칸 밀리지 않은 까닭은 무엇입니까?",
           "Why is the diagonal of cross-attention not shifted by one?"},
          {"t번째 행은 t번째 답을 내는 자리입니다. 읽은 것은 t-1번째 토큰이지만 베껴야 할 것은 t번째 입력입니다.",
           "Row t is where answer t is given. It has read token t-1, but must copy input t."}}},
    .commands = "tapegrad explain copy\ntapegrad train copy\ntapegrad test copy\ntapegrad attention copy --analyze",
    .terms =
        "복사 copy CopyLoss 손실 loss exact match 정확도 accuracy 크로스 어텐션 cross-attention visualize_attention "
        "히트맵 heatmap"};

}  // namespace tapegrad::tasks::tutorial
