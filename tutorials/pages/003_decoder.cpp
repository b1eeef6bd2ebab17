// Tutorial 003, sections 8.4.3 and 8.4.4: the decoder, choosing tokens, and the whole Transformer.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

// What may follow "나는": the tutorial's four words, with probabilities of ours.
Tensor next_words() { return tensor({0.45, 0.30, 0.15, 0.10}, kFloat64); }

drawing::Series bars(std::string name, const Tensor& probabilities) {
  return {
      .name = std::move(name), .x = {}, .y = probabilities.to_vector<double>(), .mark = drawing::Series::Mark::line};
}

// The k most likely words, renormalised. The words are in order of probability.
Tensor first_words(int64_t k) {
  const Tensor kept = next_words() * (arange(4) < static_cast<double>(k)).to(kFloat64);
  return kept / sum(kept);
}

Tensor with_temperature(double temperature) { return softmax(log(next_words()) / temperature); }

// The strategies of the figure, and what each makes of the probabilities.
std::vector<std::pair<std::string, Tensor>> strategies() {
  return {{said("model"), next_words()},      {said("greedy"), first_words(1)},   {"top-k, k = 2", first_words(2)},
          {"top-p, p = 0.9", first_words(3)}, {"T = 0.5", with_temperature(0.5)}, {"T = 1.5", with_temperature(1.5)}};
}

std::vector<Number> numbers_of_choice() {
  std::string rows;
  for (const auto& [name, probabilities] : strategies())
    rows += fmt::format("{:<15} {}\n", name, rows_of(probabilities, 4));
  return {own({"학교에, 집에, 공원에, 밥을의 확률: 모델의 것과, 다섯 전략이 고를 때의 것",
               "Probabilities of 학교에, 집에, 공원에 and 밥을: those of the model, and those with which five "
               "strategies choose"},
              rows)};
}

std::vector<Figure> figures_of_choice() {
  const std::vector<std::string> words{"학교에", "집에", "공원에", "밥을"};
  std::vector<drawing::Series> series;
  for (const auto& [name, probabilities] : strategies()) series.push_back(bars(name, probabilities));
  return {
      {{"\"나는\" 다음의 네 단어(확률은 우리가 정한 0.45, 0.30, 0.15, 0.10)에 다섯 전략을 적용한 결과. 탐욕적 디코딩은 "
        "언제나 첫 막대를 "
        "고릅니다.",
        "Five strategies on the four words after \"나는\" (with probabilities of ours: 0.45, 0.30, 0.15, 0.10). "
        "Greedy search "
        "always takes the first bar."},
       draw(drawing::BarChart{.title = said("Probability of the next word"),
                              .labels = words,
                              .series = series,
                              .width = 560,
                              .height = 220})}};
}

// How many words a nucleus of 0.8 keeps by either rule.
std::string sizes_of_nucleus() {
  const std::vector<double> sums = cumsum(next_words(), 0).to_vector<double>();
  std::string out = said("words  sum\n");
  for (std::size_t i = 0; i < sums.size(); ++i) out += fmt::format("{:>5}  {:.2f}\n", i + 1, sums[i]);
  const auto below = std::count_if(sums.begin(), sums.end(), [](double sum) { return sum <= 0.8; });
  return out + said("p = 0.8: \"not above\" keeps {} words, \"the fewest that reach it\" are {}\n", below, below + 1);
}

nn::TransformerConfig embedding_config() {
  return {.vocab_size = 1000, .hidden_size = 768, .max_position_embeddings = 512};
}

std::vector<Number> numbers_of_whole() {
  manual_seed(0);
  const nn::Embeddings embeddings(embedding_config());
  const Tensor ids = tensor({{1, 5, 9, 2}, {6, 3, 7, 4}}), embedded = embeddings(ids);
  const auto shape = [](const Tensor& y) { return plain(str(y.shape())); };
  return {same("Input shape", "2 4", shape(ids)), same("Shape after embedding", "2 4 768", shape(embedded)),
          drawn("Part of the embedding vector for the first token of the first sequence",
                "-0.7838 -0.9194 0.4240 -0.8408 -0.0876 2.0239 1.3892 -0.4484\n-0.6902 1.1443",
                rows_of(embedded[0][0].slice(0, 0, 8), 4) + "\n" + rows_of(embedded[0][0].slice(0, 8, 10), 4),
                {"튜토리얼은 시드를 정하지 않았고 드롭아웃도 켜져 있습니다. 오른쪽은 시드 0의 값입니다. 레이어 정규화 "
                 "뒤에 0.9로 "
                 "나누므로 두 벡터 모두 평균 0, 표준편차 약 1.05의 수입니다.",
                 "The tutorial sets no seed, and its dropout is active; ours are of seed 0. Both come from layer "
                 "normalisation and "
                 "a division by 0.9: mean 0, deviation about 1.05."})};
}

// A small untrained Transformer that reads four tokens and two of padding, and its attention.
const std::vector<std::string> kSourceOfWhole{"7", "4", "9", "5", "PAD", "PAD"};

std::vector<std::string> target_of_whole(std::string start) { return {std::move(start), "7", "4", "9", "5"}; }

nn::AttentionMaps maps_of_whole() {
  manual_seed(0);
  const nn::Transformer model({.vocab_size = 20,
                               .hidden_size = 32,
                               .num_hidden_layers = 2,
                               .num_attention_heads = 2,
                               .intermediate_size = 64,
                               .dropout_prob = 0,
                               .hidden_dropout_prob = 0,
                               .attention_probs_dropout_prob = 0,
                               .max_position_embeddings = 8});
  const Tensor src = tensor({{7, 4, 9, 5, 0, 0}}), tgt = tensor({{0, 7, 4, 9, 5}});
  nn::AttentionMaps maps;
  static_cast<void>(model(src, tgt, nn::padding_mask(src), nn::causal_mask(5), &maps));
  return maps;
}

std::string whole_as_player() { return json_of_heads(maps_of_whole(), kSourceOfWhole, target_of_whole("0")); }

std::vector<Figure> figures_of_whole() {
  const nn::AttentionMaps maps = maps_of_whole();
  const auto map_of = [&](std::string_view name) {  // the first head of the first sequence
    return std::find_if(maps.begin(), maps.end(), [&](const auto& map) { return map.name == name; })->tensor[0][0];
  };
  const std::vector<std::string>&source = kSourceOfWhole, target = target_of_whole(said("start"));
  const drawing::FlowChart parts = chart_of(architecture::architecture_of_copy());
  return {
      {{"복사 태스크(8.5.1절)의 트랜스포머 전체. 화살표에는 흐르는 모양, 상자에는 파라미터 수와 그 부분을 만드는 C++가 "
        "있습니다. 인코더의 출력(memory)은 디코더의 모든 층에서 크로스 어텐션으로 들어갑니다.",
        "The whole Transformer of the copy task (section 8.5.1): arrows have the shapes that flow, boxes the number "
        "of parameters and the C++ that makes them. The encoder's output (memory) enters the cross-attention of "
        "every decoder layer."},
       draw(parts),
       draw_columns(parts)},
      {{"학습 전의 작은 트랜스포머에서 첫 층, 첫 헤드의 가중치. 인코더와 크로스 어텐션은 패딩을, 디코더의 셀프 "
        "어텐션은 미래를 보지 "
        "않습니다. 행은 쿼리, 열은 키입니다.",
        "Weights of the first layer's first head in a small untrained Transformer. Encoder and cross-attention do "
        "not see "
        "padding, the decoder's self-attention does not see later tokens. Rows are queries, columns keys."},
       {},
       {draw_matrix(said("Encoder: self-attention"), map_of("encoder.layers.0.attention"), source, source, 0, 1),
        draw_matrix(said("Decoder: masked self-attention"), map_of("decoder.layers.0.self_attn"), target, target, 0, 1),
        draw_matrix(said("Decoder: cross-attention"), map_of("decoder.layers.0.cross_attn"), target, source, 0, 1)}}};
}

}  // namespace

const Page k003_8_4_3{
    .tutorial = "003",
    .section = "8.4.3",
    .title = {"디코더의 구성과 토큰을 고르는 전략", "The decoder, and strategies of choosing tokens"},
    .about = {"디코더 층은 마스크드 셀프 어텐션, 인코더의 출력을 보는 크로스 어텐션, 피드포워드 네트워크의 세 "
              "블록입니다. 크로스 "
              "어텐션에서 쿼리는 디코더가, 키와 값은 인코더가 만듭니다. 디코더는 다음 토큰의 로그 확률을 내며, 그 "
              "가운데 무엇을 고를지는 "
              "모델 밖의 전략이 정합니다.",
              "A decoder layer has three blocks: masked self-attention, cross-attention to the encoder's output, and a "
              "feed-forward "
              "network. In cross-attention the queries come from the decoder, keys and values from the encoder. The "
              "decoder gives "
              "log-probabilities of the next token, and a strategy outside of the model chooses among them."},
    .lines = {{.what = {"디코더 층 하나와 두 어텐션의 가중치",
                        "One decoder layer, with the weights of both attentions"},
               .pytorch = R"(layer = nn.TransformerDecoderLayer(16, 4, 32, norm_first=True,
                                   batch_first=True)
later = torch.ones(4, 4).triu(1).bool()      # True: hidden
hidden = layer(embedded, memory, tgt_mask=later,
               memory_key_padding_mask=src == 0))",
               .snippet = "003_transformer:decoder_layer"},
              {.what = {"탐욕적 디코딩: 단계마다 확률이 가장 높은 토큰",
                        "Greedy search: the most likely token at each step"},
               .pytorch = R"(text = torch.zeros(2, 1, dtype=torch.long)
while text.size(1) < 5:
    log_probs = model(src, text, src_mask, causal(text.size(1)))
    text = torch.cat([text, log_probs[:, -1].argmax(-1, keepdim=True)], 1))",
               .snippet = "003_transformer:generate"}},
    .numbers = numbers_of_choice,
    .figures = figures_of_choice,
    .touch = {{.widget = "choice",
               .what = {"튜토리얼의 \"나는\" 다음에 올 단어를 골라 보십시오. 온도를 0으로 내리면 탐욕적 디코딩과 같고, "
                        "top-p를 0.9로 하면 몇 단어가 남는지 세어 보십시오.",
                        "Choose the word after the tutorial's \"나는\". At temperature 0 this is greedy search; count "
                        "the words that top-p leaves at 0.9."}}},
    .faults =
        {{.claim = {"뉴클리어스 샘플링이 누적 확률 0.9를 \"넘지 않게\" 고른다고 합니다.",
                    "Nucleus sampling is said to keep the sum of probabilities from exceeding 0.9."},
          .proof =
              {"정의는 반대입니다. 합이 p 이상이 되는 가장 작은 집합을 남깁니다(Holtzman 외, 2020). 넘지 않게 고르면 "
               "p가 가장 큰 "
               "확률보다 작을 때 남는 단어가 하나도 없습니다.",
               "The definition is the reverse: the smallest set whose sum reaches p (Holtzman et al. 2020). With \"not "
               "above\", no word would be left if p is below the largest probability."},
          .shown = sizes_of_nucleus},
         {.claim = {"표에서 Gemma-2의 층 수가 18-36입니다.", "The table gives Gemma-2 18 to 36 layers."},
          .proof = {"공개된 Gemma 2의 2B, 9B, 27B 모델은 각각 26, 42, 46층입니다.",
                    "The published Gemma 2 models of 2B, 9B and 27B have 26, 42 and 46 layers."}}},
    .exercises =
        {{{"온도를 0에 가깝게 하면 어떤 전략과 같아집니까?", "Which strategy is a temperature close to 0?"},
          {"탐욕적 디코딩입니다. 로짓의 차이가 한없이 커져 확률이 가장 높은 토큰 하나에 모입니다.",
           "Greedy search: differences of logits grow without bound, and all probability gathers on the most likely "
           "token."}},
         {{"크로스 어텐션의 가중치 행렬은 왜 정사각형이 아닐 수 있습니까?",
           "Why need the weights of cross-attention not be square?"},
          {"행은 디코더의 토큰, 열은 인코더의 토큰이며 두 문장의 길이가 다르기 때문입니다.",
           "Rows are the decoder's tokens and columns the encoder's, and the two sentences differ in length."}}},
    .commands = "tapegrad train copy\ntapegrad attention copy\ntapegrad generate gpt --help",
    .terms =
        "디코더 decoder 크로스 어텐션 cross-attention greedy beam 빔 top-k top-p nucleus 뉴클리어스 temperature 온도 "
        "나는 학교에 집에 "
        "공원에 밥을 log_softmax eos"};

const Page k003_8_4_4{
    .tutorial = "003",
    .section = "8.4.4",
    .title = {"전체 구조의 설명: 모든 텐서의 모양", "The whole structure: the shape of every tensor"},
    .about = {"인코더, 디코더, 생성기를 이으면 트랜스포머 전체가 됩니다. 토큰 번호 [B, S]와 [B, T]가 들어가고 로그 "
              "확률 [B, T, V]가 "
              "나옵니다. 이 페이지는 작은 설정으로 모델을 만들어 중간의 모든 모양을 따라갑니다.",
              "Encoder, decoder and generator together are the Transformer. Token ids [B, S] and [B, T] go in, "
              "log-probabilities "
              "[B, T, V] come out. This page makes a model of a small configuration and follows every shape between."},
    .lines = {{.what = {"설정", "The configuration"},
               .pytorch = R"(model = nn.Transformer(d_model=16, nhead=4, num_encoder_layers=2,
                       num_decoder_layers=2, dim_feedforward=32, dropout=0,
                       norm_first=True, batch_first=True))",
               .snippet = "003_transformer:config"},
              {.what = {"인코더, 디코더, 생성기", "Encoder, decoder, generator"},
               .pytorch = R"(memory = model.encoder(embed(src), src_key_padding_mask=src == 0)
hidden = model.decoder(embed(tgt), memory, tgt_mask=later,
                       memory_key_padding_mask=src == 0)
log_probs = generator(hidden).log_softmax(dim=-1))",
               .snippet = "003_transformer:whole"}},
    .numbers = numbers_of_whole,
    .figures = figures_of_whole,
    .touch =
        {{.widget = "attention",
          .what = {"위의 작은 트랜스포머의 모든 헤드입니다. 인코더, 디코더의 셀프 어텐션, 크로스 어텐션을 바꾸어 가며 "
                   "토큰을 하나 고르십시오. 패딩과 미래의 토큰의 가중치는 어느 헤드에서나 0입니다.",
                   "All heads of the small Transformer above. Switch between encoder, the decoder's self-attention "
                   "and cross-attention, and choose a token: padding and later tokens have the weight 0 in every "
                   "head."},
          .data = whole_as_player}},
    .faults =
        {{.claim = {"출력된 설정 클래스로는 8.4.3절의 디코더를 만들 수 없습니다.",
                    "The printed configuration cannot make the decoder of section 8.4.3."},
          .proof =
              {"디코더 층은 config.dropout_prob를 읽는데 이 클래스에는 그 속성이 없습니다. 패키지의 코드에는 있으며 "
               "나머지 값도 "
               "다릅니다(은닉 512, 6층, 헤드 8, 엡실론 1e-6). 어텐션의 코드도 8.2.4절에서는 linear_layers, 이 절에서는 "
               "linears입니다.",
               "The decoder layer reads config.dropout_prob, which this class does not have. The package's class has "
               "it, and "
               "other values (512 features, 6 layers, 8 heads, epsilon 1e-6). The attention's list is linear_layers in "
               "section 8.2.4, and linears here."}}},
    .exercises = {{{"(32, 50)의 토큰 번호는 은닉 768, 헤드 12에서 어떤 모양들을 거칩니까?",
                    "Which shapes do ids (32, 50) go through with 768 features and 12 heads?"},
                   {"임베딩 (32, 50, 768), 헤드로 나눈 쿼리 (32, 12, 50, 64), 점수 (32, 12, 50, 50), 합친 출력 (32, "
                    "50, 768)입니다.",
                    "Embeddings (32, 50, 768), queries by head (32, 12, 50, 64), scores (32, 12, 50, 50), joined "
                    "output (32, 50, "
                    "768)."}},
                  {{"생성기의 파라미터는 몇 개입니까? (은닉 768, 어휘 30,000)",
                    "How many parameters does the generator have with 768 features and 30,000 tokens?"},
                   {"768 · 30,000 + 30,000 = 23,070,000개입니다.", "768 * 30,000 + 30,000 = 23,070,000."}}},
    .commands = "tapegrad show architecture\ntapegrad tutorial 003 8.5\ntapegrad train copy",
    .terms = "트랜스포머 Transformer 생성기 generator 임베딩 Embeddings TransformerConfig 모양 shape 차원"};

}  // namespace tapegrad::tasks::tutorial
