// Weights in every format, products of few rows, and several sequences at once.
// ctest: threads families products
#include <tapegrad/autograd/internal/int8.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

std::vector<const WeightFormat*> quantised_formats() {
  std::vector<const WeightFormat*> formats;
  for (const WeightFormat* format : weight_formats())
    if (!format->dtype) formats.push_back(format);
  return formats;
}

// The bytes of a matrix, with signs.
std::vector<int> bytes_of(const QuantizedMatrix& m) {
  const auto* q = static_cast<const int8_t*>(m.values.raw_data());
  return {q, q + 8 * m.values.numel()};
}

void expect_matrix_of_pytorch(const WeightFormat& format, const Json& expected) {
  const auto columns = expected.at("columns").get<int64_t>();
  Generator draws(expected.at("seed").get<uint64_t>());
  const Tensor w = randn({6, columns}, kFloat32, &draws), x = randn({4, columns}, kFloat32, &draws);
  const Tensor bias = randn({6}, kFloat32, &draws);
  std::fill_n(w.mutable_data<float>() + 2 * columns, 64, 0.0F);
  const QuantizedMatrix m = quantize(w, format);
  EXPECT_EQ(bytes_of(m), expected.at("q").get<std::vector<int>>());
  expect_close(m.scales, expected.at("scales"), {0, 0}, "scales");
  expect_close(linear(x, m, bias), expected.at("y"), {1e-5, 1e-5}, "y");
  expect_near(embedding(m, columns, tensor({{5, 0}, {2, 5}}))[1], dequantize(m, columns).slice(0, 2, 6, 3));
}

TEST(WeightFormats, MatricesAndProductsAreThoseOfPlainPyTorch) {
  for (const WeightFormat* format : quantised_formats()) {
    SCOPED_TRACE(format->name);
    for (const Json& expected : stored(std::string(format->name) + ".json")) {
      expect_matrix_of_pytorch(*format, expected);
    }
  }
}

TEST(WeightFormats, RowsOfAProductDoNotDependOnOthers) {
  const KeepThreads keep;
  const InferenceMode inference;
  Generator draws(1);
  for (const int64_t in : {5, 64, 776}) {
    const int64_t out = in == 776 ? 300 : 7;
    const Tensor w = randn({out, in}, kFloat32, &draws), bias = randn({out}, kFloat32, &draws);
    const Tensor narrow_w = w.to(kBFloat16), x = randn({16, in}, kFloat32, &draws);
    std::vector<std::function<Tensor(const Tensor&)>> products{
        [&](auto& a) { return linear(a, w, bias); }, [&](const Tensor& a) { return linear(a, narrow_w, bias); }};
    for (const WeightFormat* format : quantised_formats())
      products.push_back([q = quantize(w, *format), bias](const Tensor& a) { return linear(a, q, bias); });
    for (const auto& product : products) {
      set_num_threads(1);
      const Tensor all = product(x);
      for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15}) {
        set_num_threads(static_cast<int>(rows % 3) + 1);
        EXPECT_EQ(product(narrow(x, 0, 1, rows)).to_vector<float>(), narrow(all, 0, 1, rows).to_vector<float>());
      }
    }
    expect_near(products[0](x) / std::sqrt(double(in)), (matmul(x, w.t()) + bias) / std::sqrt(double(in)));
  }
}

// The dot product of a row of `a` and a row of a weight: 16 partial sums in order, halved until one is left.
float in_plain_loops(const std::vector<float>& a, const std::vector<float>& w) {
  float sums[16] = {};
  for (std::size_t i = 0; i < a.size(); ++i) sums[i % 16] = std::fma(a[i], w[i], sums[i % 16]);
  for (int half = 8; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

// Tiles of rows and of columns, whole and not, and weights in one piece and in several.
TEST(WeightFormats, TheOrderOfSums) {
  // TAPEGRAD_PRODUCTS=blis converts the weights, and its kernels add in another order.
  if (products() == Products::blis) GTEST_SKIP() << "BLIS has an order of its own";
  const KeepThreads keep;
  const InferenceMode inference;
  Generator draws(5);
  for (const auto& [out, in] : {std::pair<int64_t, int64_t>{1, 70}, {2, 64}, {3, 33}, {5, 130}, {13, 5}, {700, 515}}) {
    const Tensor halves = randn({out, in}, kFloat32, &draws).to(kBFloat16), w = halves.to(kFloat32);
    for (const int64_t rows : {1, 2, 3, 4, 5, 7, 16}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, weight " << out << " x " << in);
      const Tensor x = randn({rows, in}, kFloat32, &draws);
      std::vector<float> expected;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < out; ++j)
          expected.push_back(in_plain_loops(x[i].to_vector<float>(), w[j].to_vector<float>()));
      set_num_threads(static_cast<int>(rows % 3) + 1);
      EXPECT_EQ(linear(x, halves).to_vector<float>(), expected);
    }
  }
}

// A row of `a`, rounded to integers in groups, times the integers q of a weight: exact sums, and four partial sums.
float in_integers(const float* a, const float* q, int64_t k, const float* scales, int64_t group) {
  float p[4] = {};
  for (int64_t begin = 0; begin < k; begin += group) {
    const int64_t end = std::min(k, begin + group);
    const auto is_finite = [](float x) { return std::isfinite(x); };
    float scale = std::numeric_limits<float>::quiet_NaN();
    if (std::all_of(a + begin, a + end, is_finite))
      scale =
          std::abs(*std::max_element(a + begin, a + end, [](auto x, auto y) { return std::abs(x) < std::abs(y); })) /
          127;
    int64_t sum = 0;
    for (int64_t i = begin; scale > 0 && i < end; ++i)
      sum += std::lround(std::clamp(std::nearbyint(a[i] / scale), -127.0F, 127.0F)) * std::lround(q[i]);
    float& to = p[begin / group % 4];
    to = std::fma(static_cast<float>(sum) * scale, scales[begin / group], to);
  }
  return (p[0] + p[2]) + (p[1] + p[3]);
}

// Rows of zeros, with NaN, with infinity, and of small numbers.
Tensor special_rows(int64_t rows, int64_t in, bool of_ones, Generator& draws) {
  const Tensor x = of_ones ? where(rand({rows, in}, kFloat32, &draws) < 0.5, ones({}), full({}, -1))
                           : randn({rows, in}, kFloat32, &draws);
  float* const data = x.mutable_data<float>();
  for (int64_t i = 0; i < rows * in; ++i) data[i] *= i / in % 7 == 2 ? 0.0F : i / in % 7 == 3 ? 1e-42F : 1.0F;
  if (rows > 1) data[2 * in - 1] = std::numeric_limits<float>::quiet_NaN();
  if (rows > 4) data[4 * in] = -std::numeric_limits<float>::infinity();
  return x;
}

// Numbers of rows on both sides of every change of the kernel, each with and without the processor's instruction.
void expect_integers(const QuantizedMatrix& m, int64_t in, int64_t rows, bool of_ones, Generator& draws) {
  const RowsFormat& format = *m.format->rows;
  const int64_t out = m.values.size(0);
  const Tensor x = special_rows(rows, in, of_ones, draws), bias = randn({out}, kFloat32, &draws);
  const Tensor q = dequantize({m.format, m.values, ones(m.scales.shape())}, in), y = zeros({rows, out});
  const Tensor expected = zeros({rows, out});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < out; ++j)
      expected.mutable_data<float>()[i * out + j] =
          in_integers(x.data<float>() + i * in, q.data<float>() + j * in, in,
                      m.scales.data<float>() + j * m.scales.size(1), format.group) +
          bias.data<float>()[j];
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(allclose(linear(x, m, bias), expected, 0, 0, true)) << threads;
  }
  const StreamedWeight w{
      &format, out, m.values.raw_data(), m.scales.data<float>(), bias.data<float>(), y.mutable_data<float>()};
  for (const bool dot : {false, has_byte_dot()}) {
    const IntegerKernels use = format.integers(dot);
    std::vector<char> rounded(static_cast<std::size_t>(use.rounded_bytes(rows, in)), 0x55);
    use.round(rows, in, x.data<float>(), rounded.data());
    use.multiply(w, 0, out / 3, rows, in, rounded.data());
    use.multiply(w, out / 3, out, rows, in, rounded.data());
    EXPECT_TRUE(allclose(y, expected, 0, 0, true)) << dot;
  }
}

TEST(WeightFormats, ProductsAreExactInIntegers) {
  const KeepThreads keep;
  Generator draws(6);
  for (const WeightFormat* format : quantised_formats()) {
    for (const auto& [out, in] :
         {std::pair<int64_t, int64_t>{1, 70}, {2, 64}, {3, 33}, {9, 257}, {13, 5}, {21, 128}, {150, 515}}) {
      for (const int of_all : {0, 0x80, 0x7f, 0x88}) {  // bytes; 0: of random numbers
        const QuantizedMatrix m = quantize(randn({out, in}, kFloat32, &draws), *format);
        if (of_all != 0)
          std::memset(m.values.mutable_raw_data(), of_all, static_cast<std::size_t>(8 * m.values.numel()));
        for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 33, 129}) {
          SCOPED_TRACE(testing::Message()
                       << format->name << " [" << out << ", " << in << "] of " << of_all << ", " << rows << " rows");
          expect_integers(m, in, rows, of_all != 0, draws);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(WeightFormats, Errors) {
  EXPECT_EQ(error_of([] { quantize_int8(ones({2})); }), "[quantize_int8] expected a float32 matrix, got float32 [2]");
  EXPECT_ERROR(quantize_int8(ones({2, 2}, kFloat64)));
  EXPECT_ERROR(quantize_int8(ones({2, 2}) * std::numeric_limits<double>::infinity()));
  const Int8Matrix m = quantize_int8(ones({3, 70}));
  EXPECT_ERROR(linear(ones({2, 60}), m));
  EXPECT_ERROR(linear(ones({2, 70}, kFloat64), m));
  EXPECT_ERROR(linear(ones({2, 70}), m, ones({2})));
  EXPECT_ERROR(linear(ones({2, 60}), quantize(ones({3, 70}), weight_format("int4"))));
  Tape tape;
  const Tensor x = ones({1, 70}).as_leaf();
  EXPECT_ERROR(linear(x, m));
}

nn::GPTModel small_model(bool tied, nn::Positions positions = nn::Positions::learned) {
  manual_seed(3);
  nn::GPTConfig config{.vocab_size = 100, .context_length = 12, .emb_dim = 72, .n_heads = 4, .n_layers = 2};
  config.drop_rate = 0;
  config.tied_head = tied;
  config.positions = positions;
  return evaluated(nn::GPTModel(config));
}

// How far a model's logits may be from those of its float32 weights, as a share of the largest.
double most_change(const WeightFormat& format) { return format.bytes_per_element() > 1 ? 2e-2 : 0.3; }

void expect_saved_and_loaded(const WeightFormat& format, bool tied) {
  const TemporaryFolder folder;
  const std::string path = folder / "model.safetensors", name(format.name);
  const Tensor ids = tensor({{5, 17, 99, 0, 3}});
  nn::GPTModel model = small_model(tied);
  const Tensor before = model(ids);
  const NamedTensors floating = nn::state_dict(model);
  nn::store(model, format.name);
  const Tensor after = model(ids);
  const double change = (amax(abs(after - before)) / amax(abs(before))).item();
  EXPECT_GT(change, 1e-5);
  EXPECT_LT(change, most_change(format));
  EXPECT_EQ(nn::clone(model)(ids).to_vector<float>(), after.to_vector<float>());
  EXPECT_EQ(nn::quantized_format(nn::state_dict(model)), &format);
  EXPECT_EQ(nn::quantized_format(floating), nullptr);
  EXPECT_EQ(error_of([&] { nn::to_hugging_face(model); }), "[hugging_face] expected floating weights, got " + name);
  EXPECT_EQ(error_of([&] { nn::store(model, "float32"); }), "[weight] expected a floating weight, got " + name);

  save_safetensors(path, nn::state_dict(model));
  const auto unfilled = [&] {
    const nn::init::Skip skip;
    nn::GPTModel fresh(model.config);
    nn::store(fresh, format.name);
    nn::eval(fresh);
    return fresh;
  };
  nn::GPTModel loaded = unfilled(), converted = unfilled();
  nn::load_state_dict(loaded, load_safetensors(path).tensors);
  EXPECT_EQ(loaded(ids).to_vector<float>(), after.to_vector<float>());
  nn::load_state_dict(converted, nn::stored_state(floating, converted));
  EXPECT_EQ(converted(ids).to_vector<float>(), after.to_vector<float>());
  nn::GPTModel plain = small_model(tied);
  const std::string said = error_of([&] { nn::load_state_dict(plain, nn::state_dict(model)); });
  expect_parts(said, {"\"tok_emb.weight\" is missing", "\"tok_emb.weight_" + name + "\" is unexpected"});

  Tape tape;
  const std::string reason = " weight cannot be used while a tape records (use PauseRecording, or float32 weights)";
  EXPECT_EQ(error_of([&] { model(ids); }), "[linear] an " + name + reason);
}

TEST(WeightFormats, AModelIsStoredSavedAndLoaded) {
  for (const WeightFormat* format : quantised_formats()) {
    for (const bool tied : {false, true}) {
      SCOPED_TRACE(testing::Message() << format->name << tied);
      expect_saved_and_loaded(*format, tied);
    }
  }
}

TEST(WeightFormats, AWeightKnowsItself) {
  Generator draws(2);
  for (const WeightFormat* format : weight_formats()) {
    SCOPED_TRACE(format->name);
    nn::Linear layer(70, 6);
    const Tensor x = randn({3, 70}, kFloat32, &draws), exact = layer(x);
    layer.weight.store(*format);
    EXPECT_EQ(layer.weight.type(), format->name);
    EXPECT_EQ(layer.weight.outputs(), 6);
    EXPECT_EQ(layer.weight.inputs(), 70);
    EXPECT_TRUE(layer.weight.exists());
    EXPECT_EQ(layer.weight.defined(), format->dtype.has_value());
    const PauseRecording pause;
    if (format->dtype) expect_near(layer(x), linear(x, layer.weight.matrix(), layer.bias));
    EXPECT_LT(amax(abs(layer(x) - exact)).item(), most_change(*format));
    EXPECT_EQ(layer.weight.rows(tensor({4})).to(kFloat32).to_vector<float>(),
              narrow(layer.weight.matrix(), 0, 4, 1).to_vector<float>());
  }
  EXPECT_FALSE(nn::Linear().weight.exists());
  EXPECT_EQ(error_of([] { weight_format("int3"); }),
            fmt::format("[weight_format] expected one of {}, got \"int3\"", fmt::join(weight_format_names(), ", ")));
}

// Prompts of different lengths, also longer than the context while they continue, drawn together and alone.
TEST(WeightFormats, SequencesDrawnTogetherAreThoseDrawnAlone) {
  const std::vector<std::vector<int64_t>> prompts{
      {7}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {42, 3, 5}, {42, 3, 5}, {99, 98}};
  for (const nn::Positions positions : {nn::Positions::learned, nn::Positions::rope, nn::Positions::alibi}) {
    for (const WeightFormat* format : weight_formats()) {
      nn::GPTModel model = small_model(true, positions);
      nn::store(model, format->name);
      for (const double temperature : {0.0, 1.0}) {
        const nn::GenerateOptions options{
            .max_new_tokens = 8, .end_token = 11, .temperature = temperature, .top_k = 60};
        const nn::Generated all = nn::generate_each(model, prompts, options, 20);
        for (std::size_t i = 0; i < prompts.size(); ++i) {
          SCOPED_TRACE(testing::Message() << nn::name(positions) << format->name << temperature << ", sequence " << i);
          Generator draws(20 + i);
          nn::GenerateOptions own{.max_new_tokens = 8, .end_token = 11, .temperature = temperature, .top_k = 60};
          own.generator = &draws;
          nn::GPTNext next(model);
          const nn::Generated one =
              nn::generate(next, tensor(prompts[i], {1, static_cast<int64_t>(prompts[i].size())}), own);
          EXPECT_EQ(one.lengths[0], all.lengths[i]);
          EXPECT_EQ(narrow(all.tokens[static_cast<int64_t>(i)], 0, 0, all.lengths[i]).to_vector<int64_t>(),
                    one.tokens[0].to_vector<int64_t>());
          EXPECT_EQ(all.scores[i], one.scores[0]);
        }
      }
    }
  }
  const nn::GPTModel model = small_model(true);
  EXPECT_ERROR(nn::generate_each(model, prompts, {.max_new_tokens = 1, .beams = 2}, 0));
  nn::KVCache cache;
  nn::KVCache* const caches[] = {&cache};
  EXPECT_ERROR(model.hidden_each(zeros({2, 1}, kInt64), caches));
}

}  // namespace
}  // namespace tapegrad::tests
