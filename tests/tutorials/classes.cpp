// The tutorials' classes, written out in tutorials/programs: from the same seed, each has the parameters of the
// library's type, the same results and gradients, and the numbers of the tutorial.
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/programs/attention.h>
#include <tapegrad/tutorials/programs/given.h>
#include <tapegrad/tutorials/programs/gpt_classes.h>
#include <tapegrad/tutorials/programs/task_classes.h>
#include <tapegrad/tutorials/programs/transformer_classes.h>

namespace tapegrad {
namespace {

using namespace tests;

void expect_same(const Tensor& written, const Tensor& library, double room, const std::string& what) {
  ASSERT_EQ(written.shape(), library.shape()) << what;
  EXPECT_LE(amax(abs(written.to(kFloat64) - library.to(kFloat64))).item(), room * (1 + amax(abs(library)).item()))
      << what;
}

// The same names and numbers, before the first step and after some: losses, gradients and draws agree.
template <class Written, class Library>
void expect_same_training(Written& written, Library& library, auto&& loss_of_written, auto&& loss_of_library) {
  const NamedTensors of_written = nn::parameters(written), of_library = nn::parameters(library);
  ASSERT_EQ(of_written.size(), of_library.size());
  for (std::size_t i = 0; i < of_written.size(); ++i) EXPECT_EQ(of_written[i].name, of_library[i].name);
  EXPECT_EQ(bits_of(of_written), bits_of(of_library));
  const auto losses = [](auto& model, auto&& loss_of) {
    manual_seed(7);
    optim::Adam adam(nn::parameters(model), {.lr = 1e-3});
    std::vector<double> all;
    for (int step = 0; step < 4; ++step) {
      Tape tape;
      const Tensor loss = loss_of(model);
      all.push_back(loss.item());
      adam.step(tape.backward(loss));
    }
    return all;
  };
  const std::vector<double> ours = losses(written, loss_of_written), theirs = losses(library, loss_of_library);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 2e-5 * theirs[i]) << "step " << i;
  EXPECT_NE(ours[0], ours[3]);
}

TEST(TutorialClasses, GPTModelIsTheLibrarys) {
  const nn::GPTConfig config{
      .vocab_size = 30, .context_length = 8, .emb_dim = 24, .n_heads = 3, .n_layers = 2, .drop_rate = 0.1};
  manual_seed(5);
  tasks::tutorial000::GPTModel written(config);
  manual_seed(5);
  nn::GPTModel library(config);
  const Tensor ids = tensor({{3, 14, 15, 9, 2, 6}, {5, 3, 5, 8, 9, 7}});
  const auto loss = [&](auto& model) { return cross_entropy(model(ids), (ids + 1).detach()); };  // with dropout
  expect_same_training(written, library, loss, loss);
}

// The tutorial's logits in PyTorch, also with its dropout masks, and every gradient.
TEST(TutorialClasses, GPTModelHasPyTorchsLogitsAndGradients) {
  const Json g = stored("tutorials.json")["tutorial000"], c = g["config"];
  manual_seed(123);
  tasks::tutorial000::GPTModel model({.vocab_size = c["vocab_size"],
                                      .context_length = c["context_length"],
                                      .emb_dim = c["emb_dim"],
                                      .n_heads = c["n_heads"],
                                      .n_layers = c["n_layers"],
                                      .drop_rate = 0.1});
  expect_close(model(ids(g["ids"])), g["in_training"], {2e-6, 2e-6}, "logits in training");
  nn::eval(model);
  Tape tape;
  const Tensor logits = model(ids(g["ids"])), loss = cross_entropy(logits, ids(g["targets"]));
  expect_close(logits, g["logits"], {2e-6, 2e-6}, "logits");
  EXPECT_NEAR(loss.item(), g["loss"].get<double>(), 2e-6);
  expect_close_gradients(model, tape.backward(loss), g["grads"], {2e-6, 2e-6});
}

// Cell 40 of tutorial 004, whose numbers are on its page, and cell 26, which no seed is given for.
TEST(TutorialClasses, AttentionOfTutorial004) {
  const Tensor words = tasks::given::journey(), batch = stack({words, words});
  manual_seed(123);
  const tasks::tutorial000::MultiHeadAttention written(3, 2, 6, 0.0, 2);
  manual_seed(123);
  const nn::MultiHeadSelfAttention library({.d_in = 3, .d_out = 2, .num_heads = 2, .context_length = 6});
  expect_same(written(batch), library(batch), 1e-6, "cell 40");
  expect_same(written(narrow(batch, 1, 0, 4)), narrow(written(batch), 1, 0, 4), 1e-6, "a shorter sentence");
  const tasks::tutorial004::SelfAttention quoted(3, 2);
  tasks::SelfAttention_v1 first(3, 2);
  first.query.set(quoted.query.tensor());
  first.key.set(quoted.key.tensor());
  first.value.set(quoted.value.tensor());
  expect_same(quoted(words), first(words), 1e-6, "cell 26");
  expect_same(quoted(batch)[1], first(words), 1e-6, "cell 26 on a batch");
}

TEST(TutorialClasses, TransformerIsTheLibrarys) {
  const nn::TransformerConfig config{.vocab_size = 20,
                                     .hidden_size = 24,
                                     .num_hidden_layers = 2,
                                     .num_attention_heads = 3,
                                     .intermediate_size = 32,
                                     .max_position_embeddings = 9};
  manual_seed(5);
  tasks::tutorial003::Transformer written(config);
  manual_seed(5);
  nn::Transformer library(config);
  const Tensor src = tensor({{7, 4, 9, 0, 0}, {3, 8, 2, 6, 5}}), tgt = tensor({{0, 7, 4, 9}, {0, 3, 8, 2}}),
               answer = tensor({{7, 4, 9, 1}, {3, 8, 2, 1}});
  expect_same_training(
      written, library,
      [&](auto& model) {
        using namespace tasks::tutorial003;
        return CopyLoss()(model(src, tgt, create_pad_mask(src), create_subsequent_mask(4)), answer).first;
      },
      [&](auto& model) {
        return nn::sequence_loss(model(src, tgt, nn::padding_mask(src), nn::causal_mask(4)), answer);
      });
}

// The first losses of the tutorial's copy run in PyTorch, with nothing but the classes.
TEST(TutorialClasses, CopyTaskHasPyTorchsLosses) {
  using namespace tasks::tutorial003;
  const std::vector<double> expected = stored("curves.json")["copy"];
  manual_seed(0);
  Transformer model({.vocab_size = 20,
                     .hidden_size = 64,
                     .num_hidden_layers = 2,
                     .num_attention_heads = 2,
                     .intermediate_size = 128,
                     .max_position_embeddings = 20});
  optim::Adam adam(nn::parameters(model), {.lr = 1e-4, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9});
  for (std::size_t step = 0; step < 10; ++step) {
    const Tensor src = create_copy_data(40, 20);
    const Tensor read = cat({zeros({40, 1}, kInt64), narrow(src, 1, 0, 19)}, 1);
    Tape tape;
    const auto [loss, match_rate] = CopyLoss()(model(src, read, create_pad_mask(src), create_subsequent_mask(20)), src);
    EXPECT_NEAR(loss.item(), expected[step], 2e-5 * expected[step]) << "step " << step;
    EXPECT_EQ(match_rate, 0);
    adam.step(tape.backward(loss));
  }
}

TEST(TutorialClasses, LossesOfTheTutorialsExamples) {
  using namespace tasks::tutorial003;
  const Tensor sums = tasks::given::added();
  const auto [loss, match_rate] = AdditionLoss()(log(sums), tensor({{1, 2, 0}}));
  EXPECT_NEAR(loss.item(), 0.803, 5e-4);
  EXPECT_EQ(match_rate, 1);
  EXPECT_EQ(AdditionLoss()(log(sums), tensor({{1, 2, 1}})).second, 0);
}

TEST(TutorialClasses, DataIsTheTasks) {
  using namespace tasks::tutorial003;
  EXPECT_EQ(number_to_digits(tensor({7, 25, 348}), 3).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 0, 7, 0, 2, 5, 3, 4, 8}));
  Generator generator(9);
  const tasks::Batch library = tasks::AdditionTask(tasks::AdditionTask::defaults()).draw(50, generator);
  manual_seed(9);
  const auto [source, target] = create_addition_data(50);
  EXPECT_TRUE(all(source == library.source) && all(target == library.target));
  for (const char* text : {"y=7/7", "x=4/3", "x=1*4", "z=5-1", "x=1+2"}) {
    const tasks::Tree tree = tasks::parse_expression(text);
    const auto [tokens, in_prefix] = tokens_and_tree(text);
    EXPECT_EQ(tokens, tasks::expression_tokens(tree)) << text;
    EXPECT_EQ(in_prefix, tasks::linearise(tree, tasks::TreeForm::flat)) << text;
  }
  const Tensor src = tensor({{7, 4, 0}, {3, 8, 2}});
  EXPECT_TRUE(all(create_pad_mask(src) == nn::padding_mask(src)));
  EXPECT_TRUE(all(create_subsequent_mask(4) == nn::causal_mask(4)));
}

}  // namespace
}  // namespace tapegrad
