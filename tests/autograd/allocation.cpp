// From the third training step on, no memory is requested from the system, and memory does not grow over many steps.
// ctest: threads unsanitized products
// build: alone
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tapegrad/tests/support/testing.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>

// Every allocation of any library goes through these functions.
namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> requests{0};
void count() {
  if (counting.load(std::memory_order_relaxed)) requests.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) { return count(), __libc_malloc(bytes); }
void* calloc(std::size_t n, std::size_t bytes) { return count(), __libc_calloc(n, bytes); }
void* realloc(void* block, std::size_t bytes) { return count(), __libc_realloc(block, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) { return count(), __libc_memalign(alignment, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return count(), __libc_memalign(alignment, bytes); }
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  count();
  *block = __libc_memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  count();
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}

namespace tapegrad::tests {
namespace {

// The number of memory requests while f ran.
int64_t requests_of(auto&& f) {
  requests = 0;
  counting = true;
  f();
  counting = false;
  return requests;
}

int64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  EXPECT_EQ(read, 2);
  return resident * sysconf(_SC_PAGESIZE);
}

struct Mlp {
  nn::Linear up{32, 128}, down{128, 32};
  Tensor operator()(const Tensor& x) const { return x + down(gelu(up(x))); }
};

// One step of training a model of 64 x 32 numbers.
struct MlpStep {
  Mlp model;
  optim::Adam adam{nn::parameters(model)};
  Tensor x = randn({64, 32}), y = randn({64, 32});
  void operator()() {
    Gradients grads = Tape().backward(mse_loss(model(x), y));
    optim::clip_grad_norm(grads, 1.0);
    adam.step(grads);
  }
};

// The same with every kind of transform, each of which was made once.
struct TransformedStep : MlpStep {
  const optim::GradientTransform transforms[4] = {
      optim::ClipNorm{1}, optim::ClipValue{0.1}, optim::GradientNoise{1e-3},
      [](optim::StepGradients& grads) { grads.map([](auto x) { return x / 2; }); }};
  void operator()() {
    Gradients grads = Tape().backward(mse_loss(model(x), y));
    optim::StepGradients step(grads, adam);
    for (const optim::GradientTransform& transform : transforms) transform(step);
    adam.step(grads);
  }
};

// One step of a small version of the copy task's model, with dropout and masks.
struct TransformerStep {
  nn::Transformer model{{.vocab_size = 11,
                         .hidden_size = 32,
                         .num_hidden_layers = 2,
                         .num_attention_heads = 4,
                         .intermediate_size = 64,
                         .max_position_embeddings = 16}};
  optim::Adam adam{nn::parameters(model)};
  Tensor source = randint(1, 11, {8, 10}), target = randint(1, 11, {8, 10});
  Tensor padding = nn::padding_mask(source), causal = nn::causal_mask(10);
  void operator()() {
    Tape tape;
    const Tensor outputs = model(source, target, padding, causal), loss = nn::sequence_loss(outputs, target);
    adam.step(tape.backward(loss));
  }
};

// One step with every kind of pooling and normalisation per channel.
struct ImageStep {
  nn::BatchNorm2d batch_norm{4};
  nn::GroupNorm group_norm{2, 4};
  nn::MaxPool2d max_pool{3, {.stride = 2, .padding = 1}};
  nn::Upsample upsample{{.scale_factor = 2, .mode = Interpolation::bilinear}};
  nn::AvgPool2d avg_pool{2};
  optim::Adam adam{[this] {
    NamedTensors all = nn::parameters(batch_norm);
    for (NamedTensor& p : nn::parameters(group_norm)) all.push_back({"group_norm." + p.name, p.tensor});
    return all;
  }()};
  Tensor x = randn({8, 4, 24, 24});
  void operator()() {
    Tape tape;
    const Tensor h = avg_pool(upsample(max_pool(relu(batch_norm(x))))), y = group_norm(h);
    adam.step(tape.backward(sum(y * y * y)));
  }
};

// One step of a classifier of images: convolutions of several kinds, batch normalisation and pooling.
struct ConvolutionStep {
  nn::Sequential<nn::Conv2d, nn::BatchNorm2d, nn::ReLU, nn::MaxPool2d, nn::Conv2d, nn::GroupNorm, nn::ReLU, nn::Conv2d,
                 nn::InstanceNorm2d, nn::AdaptiveAvgPool2d, nn::Flatten, nn::Linear>
      model{nn::Conv2d(1, 8, 3, {.padding = 1}),
            nn::BatchNorm2d(8),
            nn::ReLU(),
            nn::MaxPool2d(2),
            nn::Conv2d(8, 16, 4, {.padding = Padding::same, .groups = 2}),
            nn::GroupNorm(4, 16),
            nn::ReLU(),
            nn::Conv2d(16, 16, 3, {.stride = 2, .padding = 1, .groups = 16, .padding_mode = PadMode::reflect}),
            nn::InstanceNorm2d(16, {.affine = true, .track_running_stats = true}),
            nn::AdaptiveAvgPool2d(2),
            nn::Flatten(),
            nn::Linear(64, 10)};
  optim::SGD sgd{nn::parameters(model), {.lr = 0.1, .momentum = 0.9}};
  Tensor x = randn({16, 1, 16, 16}), y = randint(0, 10, {16});
  void operator()() { sgd.step(Tape().backward(cross_entropy(model(x), y))); }
};

// Grouped queries with few keys, and with a mask that broadcasts.
struct GroupedQueriesStep {
  Tensor q = randn({2, 8, 16, 8}).as_leaf(), k = randn({2, 2, 16, 8}).as_leaf(), mask = zeros({16, 16});
  void operator()() {
    Tape tape;
    const Tensor y =
        scaled_dot_product_attention(q, k, k, {.mask = mask, .causal = true, .dropout = 0.1, .enable_gqa = true});
    tape.backward(sum(y * y));
  }
};

// Two chunks of logits.
struct VocabularyStep {
  Tensor x = randn({100, 4}).as_leaf(), weight = randn({50257, 4}).as_leaf(), bias = zeros({50257}).as_leaf();
  Tensor target = randint(0, 50257, {100});
  void operator()() { Tape().backward(linear_cross_entropy(x, weight, target, {.bias = bias})); }
};

// Two layers in both directions on sequences of several lengths, and one of another kind on their outputs.
struct RecurrentModel {
  nn::LSTM lstm{8, 16, {.num_layers = 2, .dropout = 0.1, .bidirectional = true}};
  nn::GRU gru{32, 16};
  Tensor operator()(const Tensor& x, const Tensor& lengths) const {
    const auto [output, hidden, cell] = lstm(x, {}, lengths);
    return sum(gru(output).hidden) + sum(cell);
  }
};

// One step of training it.
struct RecurrentTraining {
  RecurrentModel model;
  optim::Adam adam{nn::parameters(model)};
  Tensor x = randn({7, 13, 8}), lengths = tensor({7, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6});
  void operator()() { adam.step(Tape().backward(model(x, lengths))); }
};

// One step with einsum and with factorizations.
struct LinearAlgebraStep {
  Tensor x = randn({2, 6, 4, 8}).as_leaf(), y = randn({4, 12, 12}).as_leaf(), b = randn({12, 3});
  void operator()() {
    Tape tape;
    const Tensor weights = softmax(einsum("bthd,bshd->bhts", {x, x}));
    const Tensor attended = einsum("bhts,bshd->bthd", {weights, x}), positive = matmul(y, y.t()) + eye(12);
    const auto [q, r] = qr(positive);
    const Tensor all = sum(solve(positive, b)) + sum(cholesky(positive)) + sum(slogdet(positive).logabsdet) +
                       sum(q * r) + sum(eigvalsh(positive)) + sum(svdvals(positive));
    tape.backward(sum(attended * attended) + all);
  }
};

// Sparse gradients of two lookups, by each rule that takes them.
struct SparseStep {
  nn::Embedding tables[3]{{3000, 16, {.sparse = true}}, {3000, 16, {.sparse = true}}, {3000, 16, {.sparse = true}}};
  optim::SGD sgd{nn::parameters(tables[0])};
  optim::Adagrad adagrad{nn::parameters(tables[1])};
  optim::Adam adam{nn::parameters(tables[2])};
  Tensor ids = randint(0, 3000, {2000});
  void operator()() {
    optim::Optimizer* const rules[] = {&sgd, &adagrad, &adam};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto loss = [&] { return sum(square(tables[i](ids))) + sum(tables[i](ids.slice(0, 0, 700))); };
      Tape tape;
      Gradients grads = tape.backward(loss());
      optim::clip_grad_norm(grads, 1);
      rules[i]->step(grads);
      Tape next;
      rules[i]->step(next, loss());
    }
  }
};

// A chain of small elementwise operations.
struct ElementwiseStep {
  Tensor x = full({8}, 0.5).as_leaf(), seed = ones({8});
  void operator()() {
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 50; ++i) y = tanh(y * x + 0.5) / where(x > 0, y, x);
    tape.backward(y, {.grad_output = seed});
  }
};

class Steps : public testing::Test {
 protected:
  void SetUp() override {
    set_num_threads(2);
    wait_for_workers();
  }

  // A new thread requests memory once, which must happen before requests are counted.
  static void wait_for_workers() {
    if (std::thread::hardware_concurrency() < 2) return;
    std::atomic<bool> arrived{false};
    const std::thread::id own = std::this_thread::get_id();
    for (int round = 0; round < 10'000 && !arrived; ++round)
      parallel_for(64, 1, [&](int64_t, int64_t) {
        if (std::this_thread::get_id() != own) arrived = true;
        std::this_thread::sleep_for(std::chrono::microseconds(2));
      });
    ASSERT_TRUE(arrived) << "no worker has started";
  }
};

template <class Step>
class StepsOf : public Steps {};
using AllSteps = testing::Types<ElementwiseStep, MlpStep, TransformedStep, TransformerStep, ImageStep, ConvolutionStep,
                                GroupedQueriesStep, VocabularyStep, RecurrentTraining, LinearAlgebraStep, SparseStep>;
TYPED_TEST_SUITE(StepsOf, AllSteps);

// The most steps in a row that request nothing, of the first 100; at most 10. On a busy machine, a thread that takes
// its first piece of work in a later step requests its memory there.
int quiet_steps(auto& step) {
  int quiet = 0;
  for (int i = 0; i < 100 && quiet < 10; ++i) quiet = requests_of(step) == 0 ? quiet + 1 : 0;
  return quiet;
}

TYPED_TEST(StepsOf, TheModelRequestNoMemory) {
  TypeParam step;
  EXPECT_EQ(quiet_steps(step), 10);
}

// Tests the test: a step that requests memory in every tenth is found.
TEST_F(Steps, OneRequestInTenStepsIsFound) {
  int64_t i = 0;
  const auto step = [&] {
    if (++i % 10 == 0) delete new std::string(100, 'x');
  };
  EXPECT_LT(quiet_steps(step), 10);
}

struct NAdamStep {
  Tensor p = ones({4}).as_leaf(), q = ones({3}).as_leaf();
  optim::NAdam nadam{{{"p", p}, {"q", q}}};
  int64_t step = 0;
  void operator()() {
    q.set_frozen(++step % 3 == 0);  // so that the parameters have taken different numbers of steps
    nadam.step(Tape().backward(sum(p * p) + sum(q * q)));
  }
};

TEST_F(Steps, OfNAdamRequestNoMemory) {
  NAdamStep step;
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(requests_of([&] {
              for (int i = 0; i < 5000; ++i) step();
            }),
            0);
}

TEST_F(Steps, UseConstantMemory) {
  MlpStep step;
  for (int i = 0; i < 100; ++i) step();
  const int64_t resident = resident_bytes();
  const pool::Stats before = pool::stats();
  for (int i = 0; i < 10'000; ++i) step();
  EXPECT_EQ(pool::stats().reserved, before.reserved);
  EXPECT_EQ(pool::stats().system_calls, before.system_calls);
  EXPECT_LT(resident_bytes() - resident, 4 << 20);
}

TEST_F(Steps, OfDifferentShapesUseBoundedMemory) {
  const Tensor weight = randn({64, 64}).as_leaf();
  const auto step = [&](int64_t rows) { Tape().backward(sum(gelu(matmul(randn({rows, 64}), weight)))); };
  for (int64_t rows = 1; rows <= 200; ++rows) step(rows);
  const int64_t reserved = pool::stats().reserved;
  for (int round = 0; round < 5; ++round)
    for (int64_t rows = 1; rows <= 200; ++rows) step(201 - rows);
  EXPECT_EQ(pool::stats().reserved, reserved);
}

// Tests the counter itself.
TEST_F(Steps, CounterCountsRequests) {
  EXPECT_GE(requests_of([] { delete new std::string(100, 'x'); }), 1);
  EXPECT_GE(requests_of([] { Tensor::empty({1 << 26}); }), 1);
}

}  // namespace
}  // namespace tapegrad::tests
