// Tutorial 003, the eleven exercises at the end of the chapter, with answers of ours.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/train/metrics/rouge.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>

namespace tapegrad::tasks::tutorial {
namespace {

// Applied exercise 1: three summaries of one text, measured by ROUGE.
constexpr std::string_view kReference = "small editor for text files";
constexpr std::string_view kSummaries[] = {"small text editor", "for text files small editor",
                                           "program that draws photos"};

Figure rouge_of_summaries() {
  drawing::Series one{"ROUGE-1"}, two{"ROUGE-2"}, longest{"ROUGE-L"};
  for (const std::string_view summary : kSummaries) {
    const metrics::Rouge scores = metrics::rouge(summary, kReference);
    one.y.push_back(scores.rouge1.f1);
    two.y.push_back(scores.rouge2.f1);
    longest.y.push_back(scores.rouge_l.f1);
  }
  return {
      {"응용 1: 정답 요약 \"small editor for text files\"에 대한 세 요약의 F1. 가운데 요약은 단어가 모두 맞아 "
       "ROUGE-1이 "
       "1이지만 순서가 틀려 ROUGE-L이 낮습니다.",
       "Applied 1: F1 of three summaries, where \"small editor for text files\" is right. The second has all of its "
       "words, so its ROUGE-1 is 1, but in another order, which ROUGE-L notices."},
      draw(drawing::BarChart{.title = said("Three summaries, measured by ROUGE"),
                             .labels = {"small text editor", said("words in disorder"), said("another topic")},
                             .series = {one, two, longest},
                             .width = 520})};
}

// Advanced exercises 1 and 2: pairs of tokens that one head of one layer compares.
Figure pairs_by_length() {
  constexpr double kWindow = 257, kSegment = 32;
  drawing::Series every{said("full: n^2")}, near{said("window: 257 n")}, segments{said("segments: 32 n + (n / 32)^2")};
  for (double n = 512; n <= 65536; n *= 2) {
    const double vectors = n / kSegment;
    for (drawing::Series* series : {&every, &near, &segments}) series->x.push_back(n);
    every.y.push_back(n * n);
    near.y.push_back(kWindow * n);
    segments.y.push_back(kSegment * n + vectors * vectors);
  }
  return {{"심화 1과 2: 토큰 n개의 글에서 헤드 하나가 비교하는 쌍의 수(로그 눈금). 창은 양쪽 128토큰, 세그먼트는 "
           "32토큰입니다. "
           "세그먼트 사이의 어텐션은 다시 제곱이지만 1,024분의 1입니다.",
           "Advanced 1 and 2: pairs that one head compares in a text of n tokens (logarithmic), with a window of 128 "
           "tokens on each side, and with segments of 32. Attention between segments is a square again, but of a "
           "thousandth."},
          draw(drawing::LineChart{.title = said("Pairs of tokens compared, by length"),
                                  .x_label = said("tokens"),
                                  .y_label = said("pairs"),
                                  .series = {every, near, segments},
                                  .log_y = true,
                                  .width = 520})};
}

// The probability of the likelier of two words, 0.7 in the training data, at a temperature; greedy at 0.
double share_at(double temperature) {
  if (temperature == 0) return 1;
  return softmax(log(tensor({0.7, 0.3}, kFloat64)) / temperature)[0].item<double>();
}

// Advanced exercise 3: how decoding amplifies a bias of the data.
Figure bias_by_temperature() {
  drawing::Series share{said("the likelier word")};
  for (const double temperature : {1.5, 1.0, 0.7, 0.5, 0.25, 0.0}) share.y.push_back(share_at(temperature));
  return {
      {"심화 3: 데이터에서 두 단어가 7 대 3으로 나올 때, 완벽하게 학습한 모델이 생성하는 글에서 앞 단어의 비율. 낮은 "
       "온도와 "
       "탐욕적 디코딩은 데이터의 치우침을 키웁니다.",
       "Advanced 3: two words occur 7 to 3 in the data. The share of the first in texts of a perfectly trained "
       "model: low temperatures and greedy search amplify the bias of the data."},
      draw(drawing::BarChart{.title = said("Share of a word that has 0.7 in the data"),
                             .labels = {"T = 1.5", "T = 1", "T = 0.7", "T = 0.5", "T = 0.25", said("greedy")},
                             .series = {share},
                             .width = 520})};
}

std::vector<Number> numbers_of_exercises() {
  std::string rouge = "                             ROUGE-1  ROUGE-2  ROUGE-L\n", shares;
  for (const std::string_view summary : kSummaries) {
    const metrics::Rouge scores = metrics::rouge(summary, kReference);
    rouge += fmt::format("{:<28} {:>7.3f} {:>8.3f} {:>8.3f}\n", summary, scores.rouge1.f1, scores.rouge2.f1,
                         scores.rouge_l.f1);
  }
  for (const double temperature : {1.5, 1.0, 0.7, 0.5, 0.25, 0.0})
    shares += fmt::format("T = {:<4} {:.3f}\n", temperature, share_at(temperature));
  return {own({"응용 1: 세 요약의 F1", "Applied 1: F1 of three summaries"}, rouge),
          own({"심화 3: 데이터에서 0.7인 단어가 생성되는 비율(T = 0은 탐욕적 디코딩)",
               "Advanced 3: the share in generated texts of a word that has 0.7 in the data (T = 0: greedy)"},
              shares)};
}

std::string bias_as_choice() {
  return fmt::format("{{\"start\":\"...\",\"words\":[\"A\",\"B\"],\"logits\":{}}}",
                     json_of(log(tensor({0.7, 0.3}, kFloat64))));
}

std::vector<Figure> figures_of_exercises() { return {rouge_of_summaries(), pairs_by_length(), bias_by_temperature()}; }

}  // namespace

const Page k003_exercises{
    .tutorial = "003",
    .section = "exercises",
    .title = {"장 끝의 연습 문제: 기본, 응용, 심화", "The chapter's exercises: basic, applied and advanced"},
    .about =
        {"8장 끝에는 기본 문제 다섯, 응용 문제 셋, 심화 문제 셋이 있습니다. 여기의 답은 우리의 말로 썼고, 답마다 "
         "그것을 "
         "확인하는 명령이나 계산한 수가 있습니다. 잰 값은 시드 하나의 결과이므로, 표를 그대로 믿기보다 명령을 다시 "
         "실행해 보십시오.",
         "Chapter 8 ends with five basic, three applied and three advanced exercises. The answers are in our own "
         "words, and each has a command or a computed number that supports it. Measured values are results of one "
         "seed, so run the commands again rather than trust a table."},
    .lines = {{.what = {"심화 3의 수: 온도가 확률을 어떻게 바꾸는지",
                        "The numbers of advanced exercise 3: what a temperature does to probabilities"},
               .pytorch = "p = torch.tensor([0.7, 0.3])\nprint((p.log() / temperature).softmax(dim=-1)[0])",
               .snippet = "003_claims:temperature"}},
    .numbers = numbers_of_exercises,
    .figures = figures_of_exercises,
    .touch =
        {{.widget = "choice",
          .what = {"심화 3의 두 단어 A(0.7)와 B(0.3)입니다. 온도를 0.5로 내리거나 top-p를 0.7로 하면 B가 얼마나 "
                   "드물어지는지 스무 번씩 뽑아 보십시오.",
                   "The two words of advanced exercise 3, A (0.7) and B (0.3). Draw twenty times at temperature 0.5, "
                   "or with top-p 0.7, and see how rare B becomes."},
          .data = bias_as_choice}},
    .exercises =
        {{{"기본 1. 트랜스포머가 RNN보다 나은 점 두 가지는 무엇입니까?",
           "Basic 1. What are two advantages over recurrent networks?"},
          {"모든 위치를 한꺼번에 계산할 수 있고, 먼 단어 사이의 길이가 한 걸음이라 기울기가 사라지지 않습니다. 대신 "
           "비용이 "
           "길이의 제곱으로 늘어납니다. `show recurrent-lengths --length 30 --steps 300`에서 길이 30을 반복할 때 "
           "트랜스포머는 1.000, GRU는 0.231을 맞혔습니다.",
           "All positions are computed at once, and any two words are one step apart, so gradients do not fade. The "
           "price is a cost that grows with the square of the length. In `show recurrent-lengths --length 30 --steps "
           "300`, repeating 30 symbols, the Transformer had 1.000 of them right, a GRU 0.231."}},
         {{"기본 2. 어텐션의 핵심은 무엇입니까?", "Basic 2. What is the core of attention?"},
          {"비교와 평균입니다. 쿼리를 모든 키와 비교해 가중치를 정하고 그 가중치로 값을 평균하므로, 무엇을 볼지를 "
           "데이터에서 "
           "배웁니다. `show attention-steps`가 다섯 단어로 모든 수를 보여 줍니다.",
           "Compare and average: a query compared with all keys gives weights, which average the values. What to look "
           "at is learnt from data. `show attention-steps` prints every number for five words."}},
         {{"기본 3. 멀티헤드 어텐션은 무엇을 더합니까?", "Basic 3. What do several heads add?"},
          {"헤드마다 다른 비교를 배워 여러 관계를 동시에 볼 수 있습니다. 계산량은 헤드 하나일 때와 같습니다(8.2.4절). "
           "학습한 "
           "모델의 헤드가 무엇을 보는지는 `attention copy --analyze`로 확인합니다.",
           "Each head learns a comparison of its own, so several relations are seen at a time, at the cost of one head "
           "(section 8.2.4). `attention copy --analyze` measures what the heads of your trained model look at."}},
         {{"기본 4. 위치 인코딩은 왜 필요하고 어떻게 나타냅니까?",
           "Basic 4. Why are positions needed, and how are they given?"},
          {"어텐션은 순서를 모르기 때문입니다. 사인과 코사인, 학습한 벡터, 회전, 거리에 따른 점수 등으로 알려 줍니다. "
           "`show "
           "order-blindness`에서 단어의 순서를 바꾸면 단어의 벡터가 위치 없이는 9e-16, 사인과 코사인으로는 2.9만큼 "
           "달라집니다.",
           "Attention does not know the order. Sines, learned vectors, rotations or distances in the scores tell it. "
           "In "
           "`show order-blindness`, another order of the words changes a word's vector by 9e-16 without positions, and "
           "by 2.9 with sines."}},
         {{"기본 5. 인코더와 디코더는 각각 무엇을 합니까?", "Basic 5. What do encoder and decoder do?"},
          {"인코더는 입력을 양쪽 문맥이 담긴 벡터들로 바꾸고, 디코더는 그 벡터들과 지금까지 쓴 토큰을 보고 다음 토큰의 "
           "확률을 "
           "냅니다. `attention parser`는 트리의 토큰마다 디코더가 수식의 어디를 보는지 그립니다.",
           "The encoder turns the input into vectors with context from both sides; from these and the tokens written "
           "so "
           "far, the decoder gives probabilities of the next token. `attention parser` draws where in the expression "
           "it "
           "looks for each token of the tree."}},
         {{"응용 1. 글을 요약하는 모델을 설계하고, 무엇으로 평가할지 설명하십시오.",
           "Applied 1. Design a model that summarises a text, and explain how to measure it."},
          {"인코더가 글을 읽고 디코더가 요약을 씁니다. 요약의 단어는 대개 글에 있으므로, 크로스 어텐션의 가중치로 글의 "
           "토큰을 "
           "복사하는 포인터를 더합니다(`train summarize`, 없애려면 `--no-copy`). ROUGE-1과 2는 겹치는 단어와 이웃한 두 "
           "단어를, ROUGE-L은 가장 긴 공통부분 수열을 셉니다. 첫 그림이 계산한 예입니다. 언제나 첫 문장과 비교해야 "
           "합니다. "
           "데비안의 패키지 설명으로 150초 학습하면 ROUGE-L이 복사로 0.187, 어휘만으로 0.079인데, 첫 문장이 이미 "
           "0.267입니다.",
           "An encoder reads the text and a decoder writes the summary. Words of a summary are mostly in the text, so "
           "a "
           "pointer copies tokens by the weights of cross-attention (`train summarize`; `--no-copy` removes it). "
           "ROUGE-1 and 2 count common words and pairs of neighbours, ROUGE-L the longest common subsequence; the "
           "first "
           "figure computes an example. Always compare with the first sentence: after 150 seconds on Debian's package "
           "descriptions, ROUGE-L is 0.187 with copies and 0.079 with the vocabulary alone, but 0.267 for the first "
           "sentence."}},
         {{"응용 2. 질의응답 모델이 답을 찾는 과정과 어텐션의 역할을 설명하십시오.",
           "Applied 2. How does a model find an answer in a text, and what is attention's part?"},
          {"질문과 글을 한 줄로 이어 인코더 하나에 넣습니다. 층마다 글의 토큰이 질문의 토큰을, 질문이 글을 보므로 글의 "
           "벡터에 "
           "질문이 섞입니다. 토큰마다 답의 처음일 점수와 끝일 점수를 내고, 합이 가장 큰 구간을 고릅니다. 따로 "
           "인코딩하면 이 "
           "비교가 마지막에 한 번뿐입니다. `train answer` 뒤의 `test answer`는 완전 일치와 F1을 첫 줄이라는 기준선과 "
           "함께 "
           "냅니다. 150초 학습에 완전 일치 0.559, 기준선은 0.077이었습니다.",
           "Question and text are joined and read by one encoder. In every layer tokens of the text attend to the "
           "question, and the other way round, so vectors of the text contain the question. Each token gets a score "
           "for "
           "being the first of the answer and one for being the last; the span with the largest sum is the answer. "
           "With "
           "two separate encoders there would be one comparison, at the end. `train answer`, then `test answer`, "
           "prints "
           "exact match and F1 next to a baseline, the first line: 0.559 against 0.077 after 150 seconds."}},
         {{"응용 3. 언어가 아닌 분야에서 트랜스포머를 쓰는 예를 두 가지 드십시오.",
           "Applied 3. Give two uses outside of language."},
          {"이미지: ViT는 그림을 조각으로 나누어 조각을 토큰으로 씁니다. 예제 `digits vit`는 8 x 8 숫자 그림을 배워 "
           "처음 보는 "
           "숫자의 98.6 %를 맞힙니다. 합성곱(99.4 %)이 더 나은 까닭은 이웃한 화소가 관계있다는 사실을 처음부터 알기 "
           "때문이며, "
           "데이터가 적을수록 이 차이가 큽니다. 소리: Conformer는 가까운 무늬를 합성곱으로, 먼 관계를 어텐션으로 "
           "봅니다. "
           "예제 "
           "`tones`는 두 음으로 된 단어를 100 % 맞힙니다.",
           "Images: ViT cuts a picture into patches and reads them as tokens. The example `digits vit` learns digits "
           "of "
           "8 x 8 pixels, and has 98.6 % of unseen ones right. Convolutions reach 99.4 %: they know from the start "
           "that "
           "neighbouring pixels belong together, which matters most with few data. Sound: a Conformer uses "
           "convolutions "
           "for near patterns and attention for far relations. The example `tones` recognises 100 % of words made of "
           "two tones."}},
         {{"심화 1. 계산량을 줄이는 방법을 둘 이상 비교하십시오.",
           "Advanced 1. Compare at least two methods that reduce the cost."},
          {"Longformer는 이웃과 소수의 전역 토큰만 보고, Reformer는 해시가 같은 토큰끼리만 비교하며, Performer는 "
           "소프트맥스를 "
           "무작위 특징의 곱으로 근사합니다. `show attention-cost`에서 시간의 기울기는 전체 어텐션이 2, 나머지가 "
           "1입니다. "
           "정확도는 다릅니다. `show attention-accuracy`의 1,024토큰에서 먼 토큰 하나를 찾는 과제는 전체 어텐션이 "
           "0.999, "
           "창이 0.148, 전역 토큰 64개를 더한 창이 1.000, Performer가 0.086, Reformer가 0.073이었습니다. 그러므로 "
           "가까운 "
           "문맥으로 충분하면 창, 질문의 자리를 알면 전역 토큰, 정확한 한 곳이 필요하면 전체 어텐션을 씁니다.",
           "Longformer attends to neighbours and a few global tokens, Reformer compares tokens with equal hashes, and "
           "Performer approximates the softmax by products of random features. In `show attention-cost` the slope of "
           "the time is 2 for full attention and 1 for the others. Accuracy differs: in `show attention-accuracy`, "
           "finding one token among 1,024, full attention had 0.999, a window 0.148, a window with 64 global tokens "
           "1.000, Performer 0.086 and Reformer 0.073. So a window if the near context is enough, global tokens if the "
           "place of the question is known, and full attention if one exact place matters."}},
         {{"심화 2. 한 문제에 맞는 새 구조를 제안하고 검증 방법을 제시하십시오.",
           "Advanced 2. Propose an architecture for one problem, and how to test it."},
          {"긴 글의 분류: 글을 32토큰의 세그먼트로 나누어 첫 인코더가 세그먼트마다 벡터를 만들고, 둘째 인코더가 그 "
           "벡터들을 "
           "읽습니다(`train classify --encoder hierarchy`). 비교하는 쌍의 수는 둘째 그림과 같습니다. 검증은 같은 계산 "
           "시간으로 "
           "해야 공정합니다. `compare text`는 모델마다 같은 처리 시간을 줍니다. 150초에 계층 구조는 정확도 0.693, "
           "매크로 F1 "
           "0.528이고, 256토큰 전체 어텐션은 0.663과 0.430이었습니다. 정확도의 표준 오차가 0.015이므로 차이는 작고, "
           "45초만 "
           "학습하면 순위가 바뀝니다. 이 글들은 짧으므로 수천 단어의 글에는 적용할 수 없는 결과입니다.",
           "Classifying long texts: an encoder turns each segment of 32 tokens into a vector, and a second one reads "
           "these vectors (`train classify --encoder hierarchy`). The second figure has the pairs it compares. A fair "
           "test gives all models the same processor time, as `compare text` does. After 150 seconds the hierarchy had "
           "accuracy 0.693 and macro F1 0.528, full attention over 256 tokens 0.663 and 0.430. The standard error of "
           "the accuracies is 0.015, so the difference is small, and after 45 seconds the ranking is another one. The "
           "texts are short: nothing follows for thousands of words."}},
         {{"심화 3. 대규모 언어 모델이 사회에 미치는 영향과 대응 방안을 논하십시오.",
           "Advanced 3. Discuss effects of large language models on society, and what to do."},
          {"이로운 점은 말과 글의 문턱을 낮춘다는 것입니다. 번역, 요약, 코드 작성에 드는 시간이 줄고, 전문 지식에 닿기 "
           "쉬워집니다. "
           "해로운 점은 셋으로 나누어 볼 수 있습니다. 첫째는 편향입니다. 모델은 데이터의 비율을 배우고, 생성 방법은 "
           "그것을 키웁니다. "
           "셋째 그림에서 0.7인 단어는 온도 0.5에서 0.84, 탐욕적 디코딩에서 1이 됩니다. 데이터를 고르고, 집단별로 "
           "오류를 "
           "재고, 생성 "
           "방법까지 포함하여 검사해야 합니다. 둘째는 그럴듯한 거짓입니다. 손실은 사실이 아니라 다음 토큰의 확률을 "
           "재므로, 출처를 "
           "함께 보여 주고, 합성한 글임을 표시하고, 중요한 판단은 사람이 확인해야 합니다. 셋째는 일자리와 권한의 "
           "이동입니다. 사라지는 "
           "업무와 새 업무가 다른 사람에게 가므로 재교육과 안전망이 필요하고, 모델을 쓴 결정에는 설명과 이의 제기의 "
           "길이 있어야 "
           "합니다. 개인 정보는 학습 데이터에서 미리 빼는 편이 나중에 지우는 것보다 쉽습니다.",
           "The good: the threshold of language is lower. Translating, summarising and programming take less time, and "
           "expert knowledge is easier to reach. The bad has three parts. First, bias: a model learns the proportions "
           "of its data, and decoding amplifies them. In the third figure a word with 0.7 gets 0.84 at temperature "
           "0.5, "
           "and 1 by greedy search. So choose data, measure errors by group, and test the decoding as well. Second, "
           "plausible falsehoods: the loss measures the probability of the next token and not truth. Show sources, "
           "mark "
           "generated text, and let a person check what matters. Third, work and power move: tasks vanish for some "
           "people and appear for others, which needs training and a safety net, and decisions made with a model need "
           "an explanation and a way to object. Personal data are easier to leave out of training than to remove "
           "later."}}},
    .without = {{Part::faults,
                 {"문제만 있고 주장은 없으므로 바로잡을 것이 없습니다.",
                  "These are questions, which claim nothing, so there is nothing to mend."}}},
    .commands =
        "tapegrad train summarize\ntapegrad test summarize\ntapegrad train answer\ntapegrad test answer\n"
        "examples/run.sh digits vit\ntasks/examples/run.sh tones\ntapegrad show attention-cost\n"
        "tapegrad train classify --encoder hierarchy\ntapegrad compare text\ntapegrad exercise",
    .terms =
        "연습 문제 exercises 기본 응용 심화 요약 summarize ROUGE BLEU 질의응답 answer ViT Conformer Reformer Performer "
        "Longformer 계층 hierarchy 분류 classify 편향 bias 윤리 ethics"};

}  // namespace tapegrad::tasks::tutorial
