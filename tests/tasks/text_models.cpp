// The text tasks: models, short runs of train and test on the synthetic records, and datasets with the verb `data`.
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/models.h>
#include <tapegrad/tasks/text/recipe.h>
#include <tapegrad/tasks/text/task.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

TextModelConfig tiny_config(TextEncoderKind encoder = TextEncoderKind::hierarchy) {
  TextModelConfig config{.vocab_size = 11, .classes = 3};
  config.hidden_size = 4;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 6;
  config.dropout = 0;
  config.context = 12;
  config.summary_context = 6;
  config.encoder = encoder;
  config.window = 12;
  config.segment = 4;
  return config;
}

Tensor probabilities(const Shape& shape) { return softmax(randn(shape)); }

TEST(Pointer, MixesVocabularyAndText) {
  manual_seed(1);
  const Tensor source = tensor({{3, 5, 3, 1}, {2, 2, 0, 0}});
  const Tensor vocabulary = probabilities({2, 3, 7}), weights = probabilities({2, 3, 4}), gate = rand({2, 3, 1});
  const Tensor mixed = mix_with_copies(vocabulary, weights, gate, source);
  const Tensor dense = matmul(weights, one_hot(source, 7).to(kFloat32));  // each position's weight at its token
  expect_near(mixed, gate * vocabulary + (1.0 - gate) * dense);
  expect_near(sum(mixed, {-1}), ones({2, 3}));
}

TEST(Pointer, Gradients) {
  manual_seed(2);
  const Tensor source = tensor({{3, 5, 3}, {2, 2, 0}});
  const auto mix = [&](const Tensor& v, const Tensor& w, const Tensor& g) { return mix_with_copies(v, w, g, source); };
  const GradcheckReport report = tapegrad::gradcheck(
      mix,
      {probabilities({2, 2, 6}).to(kFloat64), probabilities({2, 2, 3}).to(kFloat64), rand({2, 2, 1}).to(kFloat64)});
  EXPECT_TRUE(report) << report.text;
  TextModelConfig config = tiny_config();
  config.hidden_size = 2;
  config.intermediate_size = 2;
  config.vocab_size = 6;
  const Summarizer model(config);
  const GradcheckReport whole =
      nn::gradcheck(model, {randn({2, 2, 2}), randn({2, 3, 2})},
                    [&](const Summarizer& m, std::span<const Tensor> x) { return m.predict(x[0], x[1], source); },
                    {.gradcheck = {.order = 1}});
  EXPECT_TRUE(whole) << whole.text;
}

TEST(Summarizer, DecodesWithACacheAsWithout) {
  manual_seed(3);
  for (const bool copy : {true, false}) {
    TextModelConfig config = tiny_config();
    config.no_copy = !copy;
    const Summarizer model(config);
    EXPECT_EQ(model.gate.has_value(), copy);
    const Tensor source = tensor({{3, 5, 3, 1, 0}, {2, 4, 7, 8, 9}}), target = tensor({{1, 4, 5}, {1, 5, 6}});
    const Tensor all = model(source, target);
    expect_near(sum(exp(all), {-1}), ones({2, 3}));
    SummarizerNext next(model, source);
    next.restart();
    for (int64_t i = 0; i < 3; ++i) expect_near(next.logits(narrow(target, 1, 0, i + 1)), all.select(1, i));
    next.restart();
    next.logits(narrow(target, 1, 0, 1));
    next.reorder(tensor({1, 1}));
    const Tensor second = cat({narrow(target, 0, 1, 1), narrow(target, 0, 1, 1)}, 0);
    expect_near(next.logits(narrow(second, 1, 0, 2)).select(0, 0), all.select(0, 1).select(0, 1));
  }
}

TEST(Classifier, PaddingChangesNothing) {
  manual_seed(4);
  for (const TextEncoderKind kind : {TextEncoderKind::flat, TextEncoderKind::window, TextEncoderKind::hierarchy}) {
    const TextClassifier model(tiny_config(kind));
    const Tensor ids = tensor({{3, 5, 3, 1, 2}, {2, 4, 0, 0, 0}});
    const Tensor wider = pad(ids, {0, 7});
    expect_near(model(wider), model(ids));
  }
}

TEST(Classifier, WindowAsWideAsTheTextIsFlat) {
  const Tensor ids = tensor({{3, 5, 3, 1, 2, 9, 8}});
  manual_seed(5);
  const TextClassifier flat(tiny_config(TextEncoderKind::flat));
  manual_seed(5);
  const TextClassifier window(tiny_config(TextEncoderKind::window));
  expect_near(window(ids), flat(ids));
}

// A token changes the vector of its own segment only, until the segments are encoded together.
TEST(Classifier, SegmentsAreEncodedApart) {
  manual_seed(6);
  const TextClassifier model(tiny_config());
  ASSERT_TRUE(model.segments.has_value());
  const Tensor a = tensor({{3, 5, 3, 1, 2, 9, 8, 7}}), b = tensor({{3, 5, 3, 1, 2, 9, 8, 4}});
  const auto vectors = [&](const Tensor& ids) { return model.tokens(ids.reshape({2, 4}), {}); };
  expect_near(vectors(a).select(0, 0), vectors(b).select(0, 0));
  EXPECT_GT(max(abs(model(a) - model(b))).item(), 1e-6);
}

TEST(MaskedMean, OfTheTokensThatAreThere) {
  const Tensor x = arange(12).to(kFloat32).reshape({2, 3, 2});
  const Tensor mask = tensor({{1, 1, 0}, {0, 0, 0}}) != 0.0;
  expect_near(masked_mean(x, mask), {1, 2, 0, 0});
}

TEST(Answer, BestSpan) {
  const auto logits = [](std::vector<float> v) { return tensor(v, {2, 4}); };
  EXPECT_EQ(best_span(logits({0, 5, 0, 1, 0, 0, 4, 0}), 8), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_EQ(best_span(logits({0, 5, 0, 1, 9, 0, 4, 0}), 8), std::pair(int64_t{0}, int64_t{0}));  // not backwards
  EXPECT_EQ(best_span(logits({0, 5, 0, 1, 0, 0, 4, 0}), 1), std::pair(int64_t{1}, int64_t{1}));
}

TEST(Answer, TokensOfASpanAndBack) {
  TextOptions options(text_task("answer"));
  const Corpus corpus = load_corpus("", *options.task);
  const std::vector<TextExample>& examples = corpus[Part::train];
  const TextVocabulary vocabulary = TextVocabulary::train(examples, 400);
  const EncodedExamples encoded = encode(options, examples, {vocabulary, {}}, false);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const EncodedExample& one = encoded[static_cast<int64_t>(i)];
    const std::string back = text_between(examples[i], one, vocabulary, one.target[0], one.target[1]);
    EXPECT_NE(back.find(examples[i].target), std::string::npos) << back << " of " << examples[i].target;
    EXPECT_LE(back.size(), examples[i].target.size() + 12);
  }
  options.config.context = 8;  // most answers are cut off
  EXPECT_LT(encode(options, examples, {vocabulary, {}}, true).size(), static_cast<int64_t>(examples.size() / 2));
}

TEST(Scores, OfBaselines) {
  const std::vector<TextExample> texts{{.text = "It reads. It writes.\nMore", .target = "reads"},
                                       {.text = "Version: 1.2 b\nx", .target = "1.2 b"}};
  const TextTask &summarize = text_task("summarize"), &answer = text_task("answer"), &classify = text_task("classify");
  EXPECT_EQ(summarize.baseline(texts, texts), (std::vector<std::string>{"It reads", "Version: 1.2 b"}));
  EXPECT_EQ(answer.baseline(texts, texts)[1], "1.2 b");
  EXPECT_EQ(answer.score(texts, answer.baseline(texts, texts), {}).values[0].second, 0.5);
  const std::vector<TextExample> classes{{.target = "a"}, {.target = "b"}, {.target = "b"}, {.target = "c"}};
  const TextScores found = classify.score(classes, classify.baseline(classes, classes), {"a", "b"});
  EXPECT_EQ(found.values[0].second, 0.5);  // c is not among the classes that training had
  EXPECT_NEAR(found.values[1].second, 2.0 / 9, 1e-12);
}

TextOptions quick(const TextTask& task) {
  TextOptions options(task);
  options.config.vocab_size = 400;
  options.config.hidden_size = 16;
  options.config.num_attention_heads = 2;
  options.config.intermediate_size = 16;
  options.num_epochs = 2;
  options.eval_interval = 3;
  return options;
}

using TextTrainer = InTraining<TextRecipe>;

TEST(TextTrainer, ContinuesWithTheSameBits) {
  for (const TextTask* task : text_tasks()) {
    const TextOptions options = quick(*task);
    TextTrainer whole(options);
    for (int i = 0; i < 2; ++i) whole.step();
    const train::Checkpoint saved = whole.checkpoint();
    for (int i = 0; i < 3; ++i) whole.step();
    TextTrainer resumed(saved, *task);
    for (int i = 0; i < 3; ++i) resumed.step();
    expect_same(nn::state_dict(whole->model()), nn::state_dict(resumed->model()));
  }
}

// The loss of summaries is a mean over tokens, of which batches have different numbers.
TEST(TextTrainer, TheValidationLossDoesNotDependOnTheBatches) {
  for (const TextTask* task : text_tasks()) {
    const auto loss_with = [&](int64_t batch_size) {
      TextOptions options = quick(*task);
      options.batch_size = batch_size;
      TextTrainer trainer(options);
      return trainer.loop().evaluate().validation;
    };
    const double whole = loss_with(200);
    for (const int64_t batch_size : {1, 3, 7}) EXPECT_NEAR(loss_with(batch_size), whole, 1e-5) << batch_size;
  }
}

// Trains and tests as a user would.
Json trained(const TemporaryFolder& folder, const Arguments& train, const Arguments& test = {}) {
  const std::string task = train[0];
  const Ran run = successful(
      run_command(joined({"train"}, joined(train, {"--out", folder / task, "--no-progress", "--threads", "1"}))));
  const Ran ran = successful(run_command(joined({"test", task, "--model", folder / task, "--json"}, test)));
  EXPECT_EQ(faults_of_page(slurp(folder / (task + "/report.html"))), std::vector<std::string>{});
  return Json::parse(ran.out);
}

// Options of runs that take a second.
Arguments small(const Arguments& more) {
  return joined(more, {"--lr", "0.003", "--vocab-size", "400", "--dropout", "0", "--trap-nan"});
}

using TextCommand = InAFolder;

TEST_F(TextCommand, LearnsClasses) {
  const Json json = trained(folder, small({"classify", "--num-epochs", "8"}),
                            {"--draw", folder / "confusion.svg", "--target", "0.6"});
  EXPECT_EQ(json["task"], "classify");
  EXPECT_EQ(json["part"], "test");
  EXPECT_EQ(json["baseline"]["name"], "majority class");
  EXPECT_GE(json["accuracy"], 0.6);
  EXPECT_LT(json["baseline"]["accuracy"], 0.4);
  EXPECT_EQ(faults_of_svg(slurp(folder / "confusion.svg")), std::vector<std::string>{});
  expect_parts(run_command({"test", "classify", "--model", folder / "classify", "--part", "train", "--count", "9"}).out,
               {"9 examples of the train split"});
  expect_errors("tasks/errors/runs.txt", "a classifier", folder);
}

// Labels that the model does not know, of other data: they count as wrong, and cannot steer a terminal.
TEST_F(TextCommand, TestsOnOtherLabels) {
  const std::string model = folder / "classify";
  successful(run_command(small({"train", "classify", "--max-steps", "1", "--out", model})));
  std::string many;
  const std::string few = "{\"text\":\"a b\",\"label\":\"\\u001b[31mred\"}\n";
  for (int i = 0; i < 3; ++i) many += fmt::format("{{\"text\":\"a{}\",\"label\":\"unknown\"}}\n", i);
  spill(folder / "classify.train.jsonl", many + few);
  for (const char* part : {"validation", "test"}) spill(folder / ("classify." + std::string(part) + ".jsonl"), few);
  const Ran ran = successful(
      run_command({"test", "classify", "--model", model, "--data", folder.path(), "--draw", folder / "x.svg"}));
  expect_parts(ran.out, {"expected  \\x1b[31mred\n", "accuracy      0.0000  0.0000"});
  EXPECT_EQ(ran.out.find('\x1b'), std::string::npos);
  // The validation part has no label of the train part.
  spill(folder / "classify.train.jsonl", many);
  EXPECT_EQ(run_command({"train", "classify", "--data", folder.path(), "--out", folder / "run"}).err,
            "[--data] the validation split has no example whose label occurs in the train split\n");
}

// 160 records are too few to learn to copy or to look up: these runs must learn what they were shown.
TEST_F(TextCommand, LearnsSummariesAndAnswersByHeart) {
  const Json summaries =
      trained(folder, small({"summarize", "--num-epochs", "16", "--context", "48", "--hidden-size", "32"}),
              {"--beams", "2", "--part", "train"});
  EXPECT_EQ(summaries["baseline"]["name"], "first sentence");
  EXPECT_GT(summaries["rouge_l"], 0.3);
  EXPECT_GT(summaries["bleu"], 5);
  const Json answers = trained(folder, small({"answer", "--num-epochs", "12", "--hidden-size", "32"}),
                               {"--part", "train", "--target", "0.5"});
  EXPECT_EQ(answers["baseline"]["name"], "first line");
  EXPECT_GT(answers["f1"], answers["baseline"]["f1"].get<double>());
  const std::string model = folder / "answer";
  EXPECT_TEXT(run_command({"test", "answer", "--model", model, "--target", "1"}).err.substr(0, 26));
}

TEST_F(TextCommand, Compares) {
  const Ran ran =
      run_command({"compare", "text", "--seconds", "0.01", "--count", "5", "--out", folder.path().string(), "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json rows = Json::parse(ran.out);
  EXPECT_EQ(rows.size(), 11U);
  EXPECT_EQ(rows[0]["name"], "majority class");
  EXPECT_EQ(rows[4]["name"], "hierarchy, 256 tokens");
  for (const Json& row : rows) EXPECT_EQ(row["tested"], 5);
  EXPECT_EQ(faults_of_svg(slurp(folder / "text.svg")), std::vector<std::string>{});
}

// --- datasets of package records ---

constexpr std::string_view kPackages =
    "Package: small\nVersion: 1.0-1\nDescription: a small thing\n It reads files\n and writes files.\n .\n"
    " Features:\n  * one\n  * two\n   more\n .\n The end \xff.\nSection: contrib/net\nTag: a, b,\n c\n"
    "Priority: optional\n\n\n"
    "Package: small-doc\nSource: small (1.0)\nSection: doc\nDescription: a manual\n of the first kind\n\n"
    "Package: empty\nSection: net\nDescription: without a long text\n\n"
    "Package: nowhere\nDescription: no section\n at all\n";

TEST(Packages, RecordsWithTheirDescriptions) {
  const std::vector<Package> found = parse_packages(kPackages);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "small");
  EXPECT_EQ(found[0].source, "small");
  EXPECT_EQ(found[0].section, "net");
  EXPECT_EQ(found[0].synopsis, "a small thing");
  EXPECT_EQ(found[0].description,
            "It reads files and writes files.\nFeatures:\n* one\n* two\nmore\nThe end \xef\xbf\xbd.");
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(found[0].fields,
            (Fields{{"Package", "small"}, {"Version", "1.0-1"}, {"Section", "contrib/net"}, {"Priority", "optional"}}));
  EXPECT_EQ(found[1].source, "small");
  EXPECT_EQ(found[1].description, "of the first kind");
  EXPECT_TRUE(parse_packages("").empty());
  EXPECT_TRUE(parse_packages(" begins with a continuation\n:\nno colon\n\n").empty());
}

TEST(Corpus, NothingLeaks) {
  EXPECT_EQ(part_of("gcc-11"), part_of("gcc-12"));
  std::set<Part> parts;
  for (char c = 'a'; c <= 'z'; ++c) parts.insert(part_of(std::string("lib") + c));
  EXPECT_EQ(parts.size(), 3U);
  // A text that differs in digits alone occurs once, whatever its source.
  std::vector<Package> packages = parse_packages(kPackages);
  Package again = packages[0];
  again.source = "other";
  again.synopsis = "a small thing 2";
  packages[0].synopsis = "a small thing 1";
  packages.push_back(again);
  const Corpus corpus = make_corpus(text_task("classify"), packages);
  EXPECT_EQ(corpus.parts[0].size() + corpus.parts[1].size() + corpus.parts[2].size(), 2U);
}

TEST(Corpus, OfTheInventedRecords) {
  const std::vector<Package> packages = parse_packages(made_packages());
  EXPECT_EQ(packages.size(), 200U);
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = load_corpus("", *task);
    EXPECT_GT(corpus[Part::train].size(), 130U);
    EXPECT_GT(corpus[Part::validation].size(), 8U);
    EXPECT_GT(corpus[Part::test].size(), 8U);
    if (!task->asks) continue;
    std::set<std::string> asked;
    for (const TextExample& example : corpus[Part::train]) {
      asked.insert(example.question);
      EXPECT_EQ(example.text.substr(static_cast<std::size_t>(example.start), example.target.size()), example.target);
      EXPECT_NE(example.text.find(example.question + ": " + example.target + "\n"), std::string::npos);
    }
    EXPECT_EQ(asked.size(), 10U);
  }
}

TEST(Corpus, FilesAndBack) {
  const TemporaryFolder folder;
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = load_corpus("", *task);
    save_corpus(folder.path(), *task, corpus);
    EXPECT_EQ(load_corpus(folder.path(), *task).parts, corpus.parts);
  }
}

TEST(Corpus, FaultsOfFiles) {
  const TemporaryFolder folder;
  const auto fault = [&](const std::string& name, const std::string& line) {
    for (const std::string_view part : kPartNames) spill(folder / (name + "." + std::string(part) + ".jsonl"), line);
    std::string text = error_of([&] { load_corpus(folder.path(), text_task(name)); });
    const std::string path = folder.path().string() + "/" + name + ".train.jsonl";
    const std::size_t at = text.find(path);
    return at == std::string::npos ? text : text.replace(at, path.size(), "FILE");
  };
  EXPECT_EQ(fault("classify", "{\"text\":\"a\",\"label\":\"b\"}\r\n\r\n"), "no error");  // of Windows
  expect_said("tasks/errors/texts.txt", "records", [&](const std::string& text) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    return fault(text.substr(0, blank), text.substr(std::min(blank + 1, text.size())));
  });
  EXPECT_ERROR(load_corpus("/nowhere", text_task("classify")));
}

TEST(DataVerb, Sample) {
  const TemporaryFolder folder;
  const tests::Ran ran = successful(run_command({"data", "sample", "--out", folder / "sample", "--json"}));
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["packages"], 200);
  EXPECT_EQ(json["classify"]["classes"], 8);
  EXPECT_EQ(load_corpus(folder / "sample", text_task("answer")).parts, load_corpus("", text_task("answer")).parts);
}

}  // namespace
}  // namespace tapegrad::tasks
