// Metrics of texts and classifiers: the numbers of rouge-score, sacrebleu and scikit-learn, and the pictures.
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::metrics {
namespace {

using namespace tests;

const Json& metrics_golden() {
  static const Json json = stored("metrics.json");
  return json;
}

std::vector<TextPair> pairs_of(const Json& list) {
  std::vector<TextPair> pairs;
  for (const Json& one : list) pairs.emplace_back(one["prediction"], one["reference"]);
  return pairs;
}

TEST(Rouge, EqualsRougeScoreOnFiveHundredPairs) {
  ASSERT_EQ(metrics_golden()["pairs"].size(), 500U);
  double sum = 0;
  for (const Json& one : metrics_golden()["pairs"]) {
    const Rouge found = rouge(one["prediction"].get<std::string>(), one["reference"].get<std::string>());
    const Overlap kinds[] = {found.rouge1, found.rouge2, found.rouge_l};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto expected = one["rouge"][k].get<std::vector<double>>();
      EXPECT_NEAR(kinds[k].precision, expected[0], 1e-12) << k << one["prediction"];
      EXPECT_NEAR(kinds[k].recall, expected[1], 1e-12) << k << one["prediction"];
      EXPECT_NEAR(kinds[k].f1, expected[2], 1e-12) << k << one["prediction"];
    }
    sum += found.rouge_l.f1;
  }
  EXPECT_NEAR(mean_rouge(pairs_of(metrics_golden()["pairs"])).rouge_l.f1, sum / 500, 1e-12);
  EXPECT_EQ(mean_rouge({}).rouge1.f1, 0);
}

TEST(Bleu, EqualsSacrebleuOnFiveHundredPairs) {
  for (const Json& one : metrics_golden()["pairs"]) {
    const std::string prediction = one["prediction"];
    std::string words;
    for (const std::string& word : bleu_words(prediction)) words += (words.empty() ? "" : " ") + word;
    EXPECT_EQ(words, one["words"].get<std::string>());
    EXPECT_NEAR(sentence_bleu(prediction, one["reference"].get<std::string>()).score, one["bleu"], 1e-10) << prediction;
  }
  const std::vector<TextPair> pairs = pairs_of(metrics_golden()["pairs"]);
  for (const Json& one : metrics_golden()["corpora"]) {
    const auto first = one["first"].get<std::size_t>(), last = one["last"].get<std::size_t>();
    const Bleu found = bleu(std::span(pairs).subspan(first, last - first));
    EXPECT_NEAR(found.score, one["score"], 1e-10);
    EXPECT_NEAR(found.brevity_penalty, one["penalty"], 1e-12);
    EXPECT_EQ(found.length, one["length"]);
    EXPECT_EQ(found.reference_length, one["reference_length"]);
    for (std::size_t n = 0; n < 4; ++n) EXPECT_NEAR(found.precisions[n], one["precisions"][n], 1e-10);
  }
}

TEST(Answers, FollowSquadsRule) {
  for (const Json& one : metrics_golden()["pairs"]) {
    const std::string prediction = one["answer"][0], reference = one["answer"][1];
    EXPECT_EQ(exact_answer(prediction, reference), one["answer_scores"][0].get<bool>()) << one["answer"];
    EXPECT_NEAR(answer_f1(prediction, reference), one["answer_scores"][1], 1e-12) << one["answer"];
  }
  EXPECT_EQ(normalized_answer(" The U.S.A.,  an  isle of THE a.d. sea "), "usa isle of ad sea");
  EXPECT_TRUE(exact_answer("The GNU C Library!", "gnu c library"));
  EXPECT_EQ(answer_f1("", ""), 0);
}

ConfusionMatrix matrix_of(const Json& one) {
  std::vector<std::string> names;
  for (int i = 0; i < one["classes"]; ++i) names.push_back("class-" + std::to_string(i));
  ConfusionMatrix matrix(names);
  for (std::size_t i = 0; i < one["expected"].size(); ++i) matrix.add(one["expected"][i], one["predicted"][i]);
  return matrix;
}

TEST(Confusion, EqualsScikitLearn) {
  for (const Json& one : metrics_golden()["classifiers"]) {
    const ConfusionMatrix matrix = matrix_of(one);
    EXPECT_NEAR(matrix.accuracy(), one["accuracy"], 1e-12);
    EXPECT_NEAR(matrix.macro_f1(), one["macro_f1"], 1e-12);
  }
  const ConfusionMatrix empty({"a", "b"});
  EXPECT_EQ(empty.accuracy(), 0);
  EXPECT_EQ(empty.macro_f1(), 0);
}

TEST(Confusion, Pictures) {
  EXPECT_TRUE(faults_of(draw(matrix_of(metrics_golden()["classifiers"][0]), "Test part")).empty());
  std::vector<std::string> names;
  for (int i = 0; i < 52; ++i) names.push_back("section" + std::to_string(i));
  ConfusionMatrix large(names);
  for (int i = 0; i < 52; ++i) {
    for (int k = 0; k <= i; ++k) large.add(i, (i + (k % 5 == 0 ? k : 0)) % 52);
  }
  const std::string svg = svg_file(draw(large, "Test part"));
  EXPECT_TRUE(faults_of_svg(svg).empty());
  EXPECT_NE(svg.find("Test part: the 30 largest of 52 classes"), std::string::npos);
}

TEST(Confusion, Errors) {
  ConfusionMatrix matrix({"a", "b"});
  EXPECT_EQ(error_of([&] { matrix.add(0, 2); }), "[confusion_matrix] expected a class from 0 to 1, got 2");
  EXPECT_EQ(error_of([&] { matrix.add(-1, 0); }), "[confusion_matrix] expected a class from 0 to 1, got -1");
}

}  // namespace
}  // namespace tapegrad::metrics
