// Tutorial 003, sections 8.4.1 and 8.4.2: the parts of a layer, layer normalisation, and the encoder.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/depth.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

std::vector<Number> numbers_of_norm() {
  NumpyRandom random(42);
  const Tensor x = random.randn({2, 5, 6}) * 5;
  const Tensor gamma = 1 + 0.1 * random.randn({6}), beta = 0.1 * random.randn({6});
  const Tensor middle = mean(x, {-1}, true), deviation = sqrt(var(x, {-1}, true, 0));
  const Tensor normal = layer_norm_std(x, ones({6}, kFloat64), zeros({6}, kFloat64));
  const auto shape = [](const Tensor& y) { return plain(str(y.shape())); };
  return {
      same("Input Data Shape", "2 5 6", shape(x)),
      same("Mean Shape", "2 5 1", shape(middle)),
      same("Standard Deviation Shape", "2 5 1", shape(deviation)),
      same("Normalized Data Shape", "2 5 6", shape(normal)),
      same("Gamma (Scale) Values", "0.95208258 0.9814341 0.8893665 0.88037934 1.08125258 1.135624", numpy_rows(gamma)),
      same("Beta (Shift) Values", "-0.00720101 0.10035329 0.0361636 -0.06451198 0.03613956 0.15380366",
           numpy_rows(beta)),
      same("Scaled & Shifted Data Shape", "2 5 6", shape(layer_norm_std(x, gamma, beta)))};
}

// The first sequence, with the scale and shift of the tutorial's figure.
std::string rows_of_layer_norm() {
  NumpyRandom random(42);
  const Tensor x = random.randn({2, 5, 6}) * 5;
  const Tensor gamma = 1 + 0.1 * random.randn({6}), beta = 0.1 * random.randn({6});
  return fmt::format("{{\"rows\":{},\"gamma\":{},\"beta\":{},\"eps\":1e-6,\"outside\":true}}", json_of(x[0]),
                     json_of(gamma), json_of(beta));
}

std::vector<Figure> figures_of_norm() {
  const std::vector<drawing::Drawing> all = show_layer_norm({}).drawings;  // 3 densities, 3 by token, bars, 3 heatmaps
  return {{{"튜토리얼의 일곱 그림: 세 단계의 분포, 감마와 베타, 첫 문장의 히트맵 세 장 (NumPy 시드 42)",
            "The tutorial's seven panels: distributions at three stages, gamma and beta, three heatmaps of the first "
            "sequence "
            "(NumPy's seed 42)"},
           {},
           {all[0], all[1], all[2], all[6], all[7], all[8], all[9]}},
          {{"같은 데이터를 토큰별로: 세로줄 하나가 토큰 하나입니다. 정규화는 토큰마다 따로 이루어지므로, 모두 합친 "
            "분포보다 이 "
            "그림에서 더 잘 보입니다.",
            "The same data by token, one column of dots each. Every token is normalised on its own, which these panels "
            "show and "
            "distributions of all tokens together do not."},
           {},
           {all[3], all[4], all[5]}}};
}

// The same number, with the two epsilons that the tutorial has in text and in code, inside and outside of the root.
std::string epsilons() {
  const Tensor x = tensor({{1e-6, -1e-6, 2e-6, -2e-6}}, kFloat64);
  const Tensor one = ones({4}, kFloat64), zero = zeros({4}, kFloat64);
  const auto row = [](std::string_view name, const Tensor& y) {
    return fmt::format("{:<34} {}\n", name, rows_of(y, 4));
  };
  return row("(x - mean) / (std + 1e-6)", layer_norm_std(x, one, zero, 1e-6)) +
         row("(x - mean) / (std + 1e-12)", layer_norm_std(x, one, zero, 1e-12)) +
         row("(x - mean) / sqrt(var + 1e-12)", layer_norm(x, one, zero, 1e-12));
}

double root_mean_square(const Tensor& x) { return sqrt(mean(square(x))).item(); }

std::vector<Number> numbers_of_encoder() {
  const std::vector<double> pre = by_layer(false, root_mean_square), post = by_layer(true, root_mean_square);
  std::string rows = "layer  Pre-LN  Post-LN\n";
  for (const std::size_t layer : {0, 1, 2, 4, 8, 16, 24})
    rows += fmt::format("{:>5} {:>7.3f} {:>8.3f}\n", layer, pre[layer], post[layer]);
  return {own({"층 뒤의 제곱 평균의 제곱근. Pre-LN에서는 층마다 커집니다.",
               "The root mean square after a layer. With Pre-LN it grows from layer to layer."},
              rows)};
}

// The sentence of the page's first exercise, with a token of padding, and scores of seed 0.
std::string bear_as_mask() {
  Generator generator(0);
  const Tensor words = (arange(8) < 7).to(kFloat32);
  return fmt::format(
      "{{\"tokens\":[\"The\",\"patient\",\"bear\",\"can\",\"bear\",\"the\",\"pain\",\"PAD\"],\"scores\":{},\"allowed\":"
      "{},"
      "\"when\":\"before\"}}",
      json_of(randn({8, 8}, kFloat32, &generator)), json_of(words.expand({8, 8})));
}

// The encoder of the copy task's Transformer.
drawing::Drawing parts_of_encoder() { return draw_columns(chart_of(architecture::architecture_of_copy())).front(); }

std::vector<Figure> figures_of_encoder() {
  return {
      {{"복사 태스크(8.5.1절) 모델의 인코더. 상자마다 파라미터 수와 그 부분을 만드는 C++, 화살표마다 모양이 있습니다. "
        "모두 모델에서 읽은 것이며, 같은 층은 한 번만 그렸습니다.",
        "The encoder of the copy task's model (section 8.5.1). Each box has its number of parameters and the C++ "
        "that makes it, each arrow has its shape. All of it is read from the model; equal layers are drawn once."},
       parts_of_encoder()},
      {{"학습 전의 24층 인코더에서 층 사이를 흐르는 수의 크기(제곱 평균의 제곱근). Pre-LN에서는 잔차가 층마다 "
        "더해져 커지고, "
        "마지막 레이어 정규화가 이를 되돌립니다. Post-LN에서는 층마다 1로 돌아옵니다.",
        "The size (root mean square) of the numbers between the layers of an untrained encoder of 24 layers. With "
        "Pre-LN "
        "every layer adds to the residual, which grows until the last normalisation; with Post-LN it is 1 after "
        "each layer."},
       chart_by_layer(said("Residual stream, by layer"), said("root mean square"), root_mean_square)}};
}

}  // namespace

const Page k003_8_4_1{
    .tutorial = "003",
    .section = "8.4.1",
    .also = {"8.4"},
    .title = {"기본 구성 요소의 통합: 인코더 층과 레이어 정규화",
              "The parts together: encoder layer and layer normalisation"},
    .about = {"인코더 층은 셀프 어텐션과 피드포워드 네트워크 두 블록이며, 각 블록은 정규화된 입력을 받아 그 결과를 "
              "원래 입력에 "
              "더합니다(Pre-LN). 레이어 정규화는 토큰마다 특성들의 평균을 0, 표준편차를 1로 만든 뒤 감마를 곱하고 "
              "베타를 더합니다. "
              "피드포워드 네트워크는 각 위치를 따로 넓혔다가 다시 줄입니다.",
              "An encoder layer has two blocks, self-attention and a feed-forward network, and each block reads the "
              "normalised "
              "input and adds its result to the input itself (Pre-LN). Layer normalisation gives each token's features "
              "the mean 0 "
              "and the deviation 1, then scales by gamma and shifts by beta. The feed-forward network widens each "
              "position on its "
              "own, and narrows it again."},
    .lines =
        {{.what = {"정규화한 뒤 어텐션: 가중치의 모양은 [배치, 헤드, 쿼리, 키]입니다.",
                   "Attention after normalisation: weights are [batch, heads, queries, keys]."},
          .pytorch =
              "normal = nn.LayerNorm(16)(x)\nattended, weights = nn.MultiheadAttention(16, 4, batch_first=True)(\n    "
              "normal, normal, normal, key_padding_mask=ids == 0)",
          .snippet = "003_transformer:attention"},
         {.what = {"피드포워드 네트워크", "The feed-forward network"},
          .pytorch = "w_1, w_2 = nn.Linear(16, 32), nn.Linear(32, 16)\nfed = w_2(w_1(attended).relu())",
          .snippet = "003_transformer:feed_forward"},
         {.what = {"인코더 층 전체", "The whole encoder layer"},
          .pytorch = R"(layer = nn.TransformerEncoderLayer(16, 4, 32, norm_first=True,
                                   batch_first=True)
memory = layer(embedded, src_key_padding_mask=src == 0))",
          .snippet = "003_transformer:encoder_layer"}},
    .numbers = numbers_of_norm,
    .figures = figures_of_norm,
    .touch =
        {{.widget = "layernorm",
          .what = {"튜토리얼의 첫 문장과 감마, 베타입니다. 슬라이더로 감마와 베타를 바꾸고, 한 토큰의 모든 특성에 같은 "
                   "수를 더하거나 곱해도 정규화된 값이 그대로인지 확인하십시오.",
                   "The tutorial's first sequence, with its gamma and beta. Move them, and check that a number added "
                   "to all features of a token, or multiplied with them, leaves the normalised values as they are."},
          .data = rows_of_layer_norm}},
    .faults =
        {{.claim = {"글과 코드의 엡실론이 다르며, 더하는 자리도 PyTorch와 다릅니다.",
                    "Text and code have different epsilons, and add them elsewhere than PyTorch does."},
          .proof =
              {"글의 설정은 1e-12, 패키지의 코드는 1e-6이며 표준편차에 더합니다. PyTorch는 분산에 더합니다. 아주 작은 "
               "수에서는 "
               "결과가 크게 다릅니다.",
               "The printed configuration says 1e-12, the code of the package 1e-6, added to the standard deviation; "
               "PyTorch adds it to the variance. For tiny numbers the results are far apart."},
          .shown = epsilons},
         {.claim = {"피드포워드 네트워크의 활성화 함수가 글에서는 GELU, 실행되는 코드에서는 ReLU입니다.",
                    "The feed-forward network has GELU in the text, and ReLU in the code that runs."},
          .proof =
              {"tapegrad의 기본값은 실행되는 코드를 따라 ReLU이며, `TransformerConfig::activation`으로 바꿀 수 "
               "있습니다. "
               "8.5절의 손실은 ReLU일 때 튜토리얼과 같습니다.",
               "tapegrad's default is that of the code that runs, ReLU; `TransformerConfig::activation` chooses. With "
               "ReLU the losses of section 8.5 are the tutorial's."}}},
    .exercises =
        {{{"토큰의 모든 특성에 같은 수를 더해도 다음 층이 알아채지 못하는 이유는 무엇입니까?",
           "Why does the next layer not notice a number that is added to all features of a token?"},
          {"평균이 그만큼 커지고 정규화가 평균을 빼기 때문입니다. 8.3.1절의 위치 번호가 바로 이 경우입니다.",
           "The mean grows by it, and normalisation subtracts the mean. The indices of section 8.3.1 are this case."}},
         {{"배치 정규화 대신 레이어 정규화를 쓰면 문장 길이가 달라도 되는 이유는 무엇입니까?",
           "Why does layer normalisation, unlike batch normalisation, not mind sentences of different lengths?"},
          {"평균과 분산을 한 토큰의 특성들에서만 구하므로 다른 토큰이나 다른 문장, 패딩이 결과에 들어오지 않습니다.",
           "Mean and variance come from the features of one token, so neither other tokens nor other sentences nor "
           "padding "
           "enter the result."}}},
    .commands = "tapegrad show layer-norm",
    .terms =
        "레이어 정규화 layer norm LayerNorm 감마 베타 gamma beta 피드포워드 feed-forward FFN 잔차 residual Pre-LN GELU "
        "ReLU"};

const Page k003_8_4_2{
    .tutorial = "003",
    .section = "8.4.2",
    .title = {"인코더의 구성", "The encoder"},
    .about =
        {"인코더는 임베딩, 같은 구조의 층 여러 개, 마지막 레이어 정규화로 이루어지며 패딩만 가리고 문장을 양쪽으로 "
         "봅니다. "
         "드롭아웃은 임베딩 뒤, 각 블록의 출력, 피드포워드 네트워크 안, 어텐션 가중치에 적용됩니다. 이 페이지는 층을 "
         "쌓을 때 잔차의 "
         "크기가 어떻게 변하는지 재어, 마지막 정규화가 왜 필요한지 보여 줍니다.",
         "The encoder is embeddings, several layers of one structure and a last layer normalisation; it hides only "
         "padding and "
         "sees the sentence in both directions. Dropout acts after the embeddings, on each block's output, inside the "
         "feed-forward network and on attention weights. This page measures how the residual grows over the layers, "
         "which is why "
         "the last normalisation is needed."},
    .lines = {{.what = {"임베딩: 토큰과 위치를 더하고 정규화합니다.", "Embeddings: token plus position, normalised"},
               .pytorch = "x = norm(tokens(ids) + positions(torch.arange(ids.size(1))))",
               .snippet = "003_transformer:embeddings"},
              {.what = {"패딩 마스크", "The padding mask"},
               .pytorch = "mask = (ids != 0)[:, None, None, :]",
               .snippet = "003_transformer:mask"},
              {.what = {"층 하나", "One layer"},
               .pytorch = "memory = layer(embedded, src_key_padding_mask=src == 0)",
               .snippet = "003_transformer:encoder_layer"}},
    .numbers = numbers_of_encoder,
    .figures = figures_of_encoder,
    .touch =
        {{.widget = "mask",
          .what = {"인코더의 마스크는 패딩의 열만 가립니다. \"인과\"를 누르면 디코더의 마스크가 됩니다. 두 번째 bear의 "
                   "행에서 어떤 단어가 사라지는지 비교하십시오.",
                   "An encoder's mask hides the column of padding alone. \"causal\" makes it that of a decoder: see "
                   "which words leave the row of the second bear."},
          .data = bear_as_mask}},
    .faults =
        {{.claim = {"인코더를 설명하면서 더 깊은 모델의 예로 GPT-3(96층)와 PaLM(118층)을 듭니다.",
                    "The section on the encoder names GPT-3 (96 layers) and PaLM (118) as deeper models."},
          .proof =
              {"둘 다 디코더만 있는 모델이며, 8.4.3절의 표에서는 튜토리얼도 그렇게 적습니다. 인코더의 예는 BERT-base의 "
               "12층입니다.",
               "Both have a decoder only, as the tutorial's own table in section 8.4.3 says. An encoder's example is "
               "BERT-base with 12 layers."}}},
    .exercises =
        {{{"\"The patient bear can bear the pain\"에서 두 번째 bear의 문맥 벡터는 어느 방향의 단어까지 봅니까?",
           "In \"The patient bear can bear the pain\", which words does the second bear see?"},
          {"인코더에는 인과 마스크가 없으므로 앞뒤의 모든 단어를 봅니다. 디코더였다면 자신과 앞의 네 단어만 볼 수 "
           "있습니다.",
           "All of them: an encoder has no causal mask. In a decoder it would see itself and the four words before "
           "it."}},
         {{"Pre-LN 인코더에서 마지막 레이어 정규화를 빼면 무슨 일이 생깁니까?",
           "What happens without the last layer normalisation of a Pre-LN encoder?"},
          {"그림과 같이 층이 깊을수록 출력이 커져, 디코더의 어텐션 점수가 층 수에 따라 달라집니다.",
           "As the figure shows, outputs grow with the depth, so the scores of the decoder's cross-attention would "
           "depend "
           "on the number of layers."}}},
    .commands = "tapegrad show architecture\ntapegrad train copy\ntapegrad attention copy",
    .terms = "인코더 encoder 드롭아웃 dropout 스택 stack 층 layer Post-LN Pre-LN 양방향 bear"};

}  // namespace tapegrad::tasks::tutorial
