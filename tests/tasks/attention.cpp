// Analysis of the heads: metrics of attention maps against NumPy, the verb `attention`, and the maps of a GPT.
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/characters.h>
#include <tapegrad/tutorials/attention/analysis.h>
#include <tapegrad/tutorials/attention/decoding.h>

namespace tapegrad::tasks {
namespace {

using json = Json;
using namespace tests;

Tensor matrix(const json& values, int64_t rows, int64_t columns) {
  return tensor(values.get<std::vector<double>>(), {rows, columns});
}

void expect_all_near(const std::vector<double>& values, const json& expected, double room) {
  expect_close(tensor(values, {static_cast<int64_t>(values.size())}), expected, {room, room}, "number");
}

// tests/data/attention_figures.json, made by make_attention_figures.py next to it.
TEST(AttentionFigures, EqualNumPys) {
  for (const json& c : stored("attention_figures.json")) {
    SCOPED_TRACE(c["name"]);
    const int64_t rows = c["shape"][0], columns = c["shape"][1], width = c["width"];
    const Tensor a = matrix(c["weights"], rows, columns);
    const json& f = c["figures"];
    const MapFigures ours = figures_of(a);
    expect_all_near(ours.singular_values, f["singular_values"], 1e-13);
    EXPECT_EQ(ours.rank, f["rank"]);
    EXPECT_EQ(ours.for_most, f["for_most"]);
    expect_all_near({ours.effective_rank, ours.first_tenth, ours.entropy, ours.information, ours.low_frequencies,
                     ours.low_if_flat, ours.distance},
                    {f["effective_rank"], f["first_tenth"], f["entropy"], f["information"], f["low_frequencies"],
                     f["low_if_flat"], f["distance"]},
                    1e-12);
    expect_all_near(narrow(power_spectrum(a), 0, 0, std::min<int64_t>(2, rows)).contiguous().to_vector<double>(),
                    f["power"], 1e-12);

    const Tensor q = matrix(c["queries"], rows, width), k = matrix(c["keys"], columns, width);
    const HopfieldFigures hopfield = hopfield_figures(q, k, a > 0.0);
    expect_all_near(hopfield.energies, c["vectors"]["energies"], 1e-12);
    EXPECT_NEAR(hopfield.step, c["vectors"]["step"].get<double>(), 1e-12);
    EXPECT_EQ(hopfield.energy_falls, 1);
    const PairDistances pairs = pair_distances(q, k, a, a > 0.0);
    expect_all_near({pairs.all, pairs.attended}, {c["vectors"]["all"], c["vectors"]["attended"]},
                    1e-8);  // the root of a difference
  }
}

TEST(AttentionFigures, OfSimpleMaps) {
  const MapFigures equal = figures_of(full({10, 10}, 0.1));
  EXPECT_EQ(equal.rank, 1);
  EXPECT_NEAR(equal.effective_rank, 1, 1e-9);
  EXPECT_NEAR(equal.low_frequencies, 1, 1e-12);
  EXPECT_NEAR(equal.entropy, std::log(10.0), 1e-7);
  EXPECT_NEAR(equal.information, 0, 1e-7);
  const MapFigures copying = figures_of(eye(20));  // each token sees itself
  EXPECT_EQ(copying.rank, 20);
  EXPECT_NEAR(copying.effective_rank, 20, 1e-9);
  EXPECT_NEAR(copying.first_tenth, 0.1, 1e-12);
  EXPECT_NEAR(copying.low_frequencies, 5 / 20.0, 1e-12);  // its spectrum is flat along the diagonal
  EXPECT_NEAR(copying.information, std::log(20.0), 1e-12);
  EXPECT_EQ(copying.distance, 0);
  EXPECT_EQ(error_of([] { figures_of(zeros({3})); }), "[attention_figures] expected weights [T, S], got [3]");
  EXPECT_EQ(error_of([] { singular_values(zeros({3})); }), "[singular_values] expected a matrix, got [3]");
  EXPECT_ERROR(figures_of(full({2, 2}, NAN)));
}

TEST(AttentionFigures, SingularValuesOfKnownMatrices) {
  expect_all_near(singular_values(tensor({{3., 0., 0.}, {0., -5., 0.}})), {5, 3}, 1e-15);
  expect_all_near(singular_values(tensor({{1., 1.}, {1., 1.}, {1., 1.}})), {std::sqrt(6.0), 0}, 1e-15);
}

// The figures of every head, of each task, and the verdicts that the page prints.
void expect_analysis(const Arguments& arguments, const std::string& folder, std::size_t heads) {
  const Ran ran = successful(run_command(joined(arguments, {"--analyze"})));
  expect_narrow(ran.out.substr(0, ran.out.find("Heatmaps of")));
  expect_parts(ran.out, {"Analysis of the heads", "rank(A) <= 0.1 n: holds for ", "a few singular values explain 0.9: ",
                         "low frequencies hold over 80 %: ", "the energy falls for a share of 1.00 of the queries"});
  EXPECT_EQ(faults_of_svg(slurp(folder + "/attention.svg")), std::vector<std::string>());
  EXPECT_EQ(faults_of_svg(slurp(folder + "/analysis.svg")), std::vector<std::string>());
  const std::string page = slurp(folder + "/attention.html");
  EXPECT_EQ(faults_of_page(page), std::vector<std::string>{"the page has <script"});  // the player
  const json player = json_in_page(page);
  ASSERT_EQ(player["heads"].size(), heads);
  for (const json& head : player["heads"]) {
    const std::size_t columns = head["columns"].size();
    ASSERT_EQ(head["weights"].size(), head["rows"].size() * columns);
    int64_t sum = 0;  // of the first row, in ten-thousandths
    for (std::size_t i = 0; i < columns; ++i)
      sum += head["weights"][i].is_null() ? 0 : head["weights"][i].get<int64_t>();
    EXPECT_NEAR(static_cast<double>(sum), 1e4, static_cast<double>(columns));
  }

  const Ran told = successful(run_command(joined(arguments, {"--analyze", "--json"})));
  const json figures = json::parse(told.out);
  ASSERT_EQ(figures["heads"].size(), heads);
  for (const json& head : figures["heads"]) {
    EXPECT_EQ(head["energy_falls"], 1);
    EXPECT_GE(head["effective_rank"].get<double>(), 1 - 1e-9);
    EXPECT_LE(head["effective_rank"].get<double>(), head["n"].get<double>() + 1e-9);
    EXPECT_GT(head["low_frequencies"].get<double>(), 0);
    EXPECT_EQ(head["energies"].size(), 13U);
  }
  for (const char* claim : {"rank_at_most_a_tenth", "first_tenth_explains_most", "low_frequencies_hold_most",
                            "energy_falls", "distance_falls", "attended_keys_are_nearer"})
    EXPECT_EQ(figures["claims"][claim]["heads"], heads) << claim;
  EXPECT_EQ(run_command(joined(arguments, {"--analyze", "--json", "--threads", "1"})).out, told.out);
}

using AttentionCommand = InAFolder;

TEST_F(AttentionCommand, AnalysesEveryTask) {
  for (const std::string& task : names_of_tasks()) {
    const int64_t heads =
        3 * tiny_options(task).config.num_attention_heads;  // of the encoder's layer and the decoder's
    const std::string run = folder / task;
    train_tiny(folder, task, task, {"--max-steps", "2", "--no-progress"});
    expect_analysis({"attention", task, "--model", run}, run, static_cast<std::size_t>(heads));
    const Ran plain = run_command({"attention", task, "--model", run});
    EXPECT_EQ(plain.out.find("Analysis of the heads"), std::string::npos);
  }
  const Arguments chosen{"attention", "copy", "--model", folder / "copy", "--out", folder / "one", "--only"};
  const Ran one = successful(run_command(joined(chosen, {"cross layer 0, head 1"})));
  EXPECT_NE(one.out.find("encoder layer 0, head 0"), std::string::npos) << one.out;  // the text and the page have all
  const std::string picture = slurp(folder / "one/attention.svg");
  EXPECT_NE(picture.find("cross layer 0, head 1"), std::string::npos);
  EXPECT_EQ(picture.find("encoder"), std::string::npos);
  EXPECT_TEXT(rejected(run_command(joined(chosen, {"layer 7"}))));
}

TEST_F(AttentionCommand, ShowsAGptsMaps) {
  train_small_gpt(folder, "run", {"--max-steps", "2", "--n-layers", "2", "--no-progress"});
  const std::string run = folder / "run", report = slurp(run + "/report.html");
  expect_parts(report, {"<h2>Attention</h2>", "layer 0, head 0", "layer 1, head 1"});
  EXPECT_EQ(faults_of_page(report), std::vector<std::string>());

  const Arguments attention{"attention", "gpt", "--model", run, "--prompt", "The cat", "--max-new-tokens", "5"};
  expect_analysis(attention, run, 4);
  expect_parts(run_command(attention).out, {"Heatmaps of 4 heads: "});
  EXPECT_EQ(json::parse(run_command(joined(attention, {"--analyze", "--json"})).out)["tokens"].size(), 12U);
  const Ran by_ids = successful(run_command({"attention", "gpt", "--model", run + "/model.safetensors", "--prompt-ids",
                                             "1,2,3", "--quiet", "--out", folder / "else"}));
  EXPECT_FALSE(slurp(folder / "else/attention.svg").empty());
  EXPECT_EQ(by_ids.out.find("layer 0"), std::string::npos);
  expect_errors("tasks/errors/runs.txt", "attention of a GPT", folder);
}

TEST_F(AttentionCommand, LabelsShowControlCharacters) {
  const auto tokenizer = data::make_character_tokenizer("a \n\x01\x1f");
  const nn::GPTModel model(
      {.vocab_size = tokenizer->size(), .context_length = 8, .emb_dim = 4, .n_heads = 1, .n_layers = 1});
  const std::vector<HeadMap> heads = attend(model, tokenizer->encode("a \n\x01\x1f"), tokenizer.get());
  EXPECT_EQ(heads[0].row_tokens, (std::vector<std::string>{"a", "\u00b7", "\u21b5", "\u2401", "\u241f"}));
  EXPECT_EQ(faults_of(draw(heads)), std::vector<std::string>());
}

// Only what a mask hides is grey and null: a weight that underflowed to 0 is a weight.
TEST_F(AttentionCommand, AWeightOfZeroIsNotMasked) {
  constexpr int kTokens = 120;
  manual_seed(1);
  std::string text;
  for (int i = 0; i < kTokens; ++i) text += static_cast<char>('a' + i % 7);
  const auto tokenizer = data::make_character_tokenizer(text);
  nn::GPTModel model(
      {.vocab_size = tokenizer->size(), .context_length = kTokens, .emb_dim = 4, .n_heads = 1, .n_layers = 1});
  NamedTensors state = nn::state_dict(model);
  for (NamedTensor& t : state)
    if (t.name.find("W_query") != std::string::npos) t.tensor = t.tensor.detach() * 1e6;
  nn::load_state_dict(model, state);
  std::vector<HeadMap> heads = attend(model, tokenizer->encode(text), tokenizer.get());
  const auto nulls = [&] {
    const json weights = json::parse(heads_json(heads).dump())["heads"][0]["weights"];
    return std::count(weights.begin(), weights.end(), json());
  };
  constexpr int kLater = kTokens * (kTokens - 1) / 2;
  EXPECT_GT(std::count(heads[0].weights.begin(), heads[0].weights.end(), 0.0F), kLater);
  EXPECT_EQ(nulls(), kLater);
  const Tensor between = norm(heads[0].queries.unsqueeze(1) - heads[0].keys.unsqueeze(0), 2, {2});
  EXPECT_NEAR(analyse(heads)[0].distances.all / (sum(tril(between)).item() / (kLater + kTokens)), 1, 1e-4);
  bool cut = false;
  heads = drawable(heads, cut);  // 100 tokens
  EXPECT_TRUE(cut);
  EXPECT_EQ(nulls(), 100 * 99 / 2);
  heads[0].seen = {};  // of a map without its mask
  EXPECT_GT(nulls(), 100 * 99 / 2);
}

TEST_F(AttentionCommand, ClaimsAreDecided) {
  HeadMap copying, equal;
  copying.name = equal.name = "a layer 0, head 0";
  copying.group = equal.group = "g";
  for (int i = 0; i < 20; ++i) copying.row_tokens.push_back("t"), copying.column_tokens.push_back("t");
  equal.row_tokens = equal.column_tokens = copying.row_tokens;
  copying.weights = eye(20).to_vector<float>();
  equal.weights = full({20, 20}, 0.05).to_vector<float>();
  const std::vector<HeadFigures> figures = analyse({copying, equal});
  const std::vector<Claim> claims = claims_about(figures);
  ASSERT_EQ(claims.size(), 3U);  // none about queries and keys, which are not known
  for (const Claim& claim : claims) EXPECT_EQ(claim.verdict(), "holds for 1 of 2 heads") << claim.claim;
  EXPECT_EQ(claims_about(analyse({copying}))[0].verdict(), "holds for no head");
  std::vector<HeadFigures> between = analyse({equal});  // a rank of 1.4 is at most a tenth of 15
  between[0].n = 15;
  between[0].map.effective_rank = 1.4;
  EXPECT_EQ(claims_about(between)[0].verdict(), "holds for every head");
  between[0].n = 13;
  EXPECT_EQ(claims_about(between)[0].verdict(), "holds for no head");
}

}  // namespace
}  // namespace tapegrad::tasks
