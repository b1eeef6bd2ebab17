// The attention player: its numbers are those of the model, and its script shows them.
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using json = Json;
using namespace tests;

// The five largest probabilities of one row of logits [V], against those of a step.
void expect_likely(const json& step, const Tensor& logits, const std::function<std::string(int64_t)>& text_of) {
  const std::vector<float> shares = softmax(logits).to_vector<float>();
  std::vector<std::pair<float, std::string>> expected;
  for (std::size_t i = 0; i < shares.size(); ++i) expected.emplace_back(-shares[i], text_of(static_cast<int64_t>(i)));
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(step["likely"].size(), std::min<std::size_t>(5, shares.size()));
  for (std::size_t k = 0; k < step["likely"].size(); ++k)
    EXPECT_NEAR(step["likely"][k][1].get<double>(), -expected[k].first, 1e-6) << step["row"] << " " << k;
  EXPECT_EQ(step["likely"][0][0], expected[0].second);
}

// One row of each head of a group, against weights [1, H, T, S].
void expect_rows(const json& player, const std::string& group, int64_t row, const std::vector<Tensor>& layers) {
  std::size_t at = 0;
  for (const json& head : player["heads"]) {
    if (head["group"] != group) continue;
    const auto columns = static_cast<int64_t>(head["columns"].size());
    const std::size_t heads = static_cast<std::size_t>(layers[0].size(1));
    const std::vector<float> own =
        layers[at / heads][0][static_cast<int64_t>(at % heads)][row].contiguous().to_vector<float>();
    ASSERT_EQ(own.size(), static_cast<std::size_t>(columns));
    for (int64_t i = 0; i < columns; ++i) {
      const auto shown = head["weights"][static_cast<std::size_t>(row * columns + i)].get<double>();
      EXPECT_NEAR(shown / 1e4, own[static_cast<std::size_t>(i)], 6e-5) << head["name"] << " " << row << " " << i;
    }
    ++at;
  }
  EXPECT_GT(at, 0u);
}

using AttentionPlayer = InAFolder;

TEST_F(AttentionPlayer, NumbersAreTheTransformersOwn) {
  for (const std::string& task : names_of_tasks()) {
    SCOPED_TRACE(task);
    const TemporaryFolder folder;
    const std::string run = trained(folder, task);
    successful(run_command({"attention", task, "--model", run, "--seed", "3", "--quiet"}));
    const json player = json_in_page(slurp(run + "/attention.html"));
    Seq2SeqRecipe recipe(task_named(task));
    load_model(recipe, run + "/model.safetensors");
    const Task& own = recipe.task();
    Generator generator(3);
    const Batch example = own.draw(1, generator);
    std::vector<int64_t> read{own.start_token()};
    const std::string cross = "cross-attention (decoder to encoder)";
    EXPECT_EQ(player["decoding"]["group"], cross);
    ASSERT_FALSE(player["decoding"]["steps"].empty());
    for (const json& step : player["decoding"]["steps"]) {
      nn::AttentionMaps maps;
      const auto length = static_cast<int64_t>(read.size());
      const Tensor outputs = recipe.transformer()(example.source, tensor(read, {1, length}),
                                                  own.source_mask(example.source), nn::causal_mask(length), &maps);
      expect_likely(step, outputs[0][-1], [&](int64_t token) { return own.token_text(token); });
      std::vector<Tensor> layers;
      for (const NamedTensor& map : maps)
        if (map.name.find("cross") != std::string::npos) layers.push_back(map.tensor);
      EXPECT_EQ(step["row"], length - 1);
      expect_rows(player, cross, length - 1, layers);
      read.push_back(argmax(outputs[0][-1]).item<int64_t>());
      EXPECT_EQ(step["next"], own.token_text(read.back()));
      EXPECT_EQ(step["given"], false);
    }
    const std::size_t pictures = task == "copy" ? 0 : player["decoding"]["steps"].size() + 1;
    EXPECT_EQ(player["decoding"]["pictures"].size(), pictures);
  }
}

TEST_F(AttentionPlayer, NumbersAreTheGptsOwn) {
  const std::string run = trained(folder, "gpt", {"--n-layers", "2"});
  successful(
      run_command({"attention", "gpt", "--model", run, "--prompt", "The cat", "--max-new-tokens", "4", "--quiet"}));
  const json player = json_in_page(slurp(run + "/attention.html"));
  const TrainedGPT own = load_gpt(run);
  const auto text_of = [&](int64_t id) { return own.tokenizer->decode({&id, 1}); };
  std::vector<int64_t> ids = own.tokenizer->encode("The cat");
  const std::size_t given = ids.size();
  const json& steps = player["decoding"]["steps"];
  ASSERT_EQ(steps.size(), given + 4);
  EXPECT_EQ(player["decoding"]["read"], json::array({"T"}));
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const std::vector<int64_t> read(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    nn::AttentionMaps maps;
    const Tensor logits = (*own.model)(tensor(read, {1, static_cast<int64_t>(read.size())}), nullptr, &maps)[0][-1];
    const std::vector<float> shares = softmax(logits).to_vector<float>();
    EXPECT_NEAR(steps[at]["likely"][0][1].get<double>(), *std::max_element(shares.begin(), shares.end()), 1e-6);
    EXPECT_EQ(steps[at]["given"], at + 1 < given);
    if (at + 1 >= given) ids.push_back(argmax(logits).item<int64_t>());
    const std::string next = text_of(ids[at + 1]);
    EXPECT_EQ(steps[at]["next"], next == " " ? "\u00b7" : next == "\n" ? "\u21b5" : next);
    for (const json& head : player["heads"]) {
      if (head["group"] != "layer 1") continue;
      const Tensor row = maps[1].tensor[0][head["name"] == "layer 1, head 0" ? 0 : 1][-1];
      for (std::size_t i = 0; i <= at; ++i)
        EXPECT_NEAR(head["weights"][at * steps.size() + i].get<double>() / 1e4, row[static_cast<int64_t>(i)].item(),
                    6e-5);
    }
  }
}

TEST_F(AttentionPlayer, CarriesAreThoseOfTheOperands) {
  using Digits = std::vector<int64_t>;
  EXPECT_EQ(carries_into(Digits{1, 5, 3}, Digits{3, 9, 1}), (Digits{1, 0, 0}));
  EXPECT_EQ(carries_into(Digits{0, 9, 9}, Digits{0, 0, 1}), (Digits{1, 1, 0}));
  EXPECT_EQ(carries_into(Digits{1, 2, 3}, Digits{4, 5, 6}), (Digits{0, 0, 0}));
  EXPECT_EQ(carries_into(Digits{}, Digits{}), Digits{});
  const AdditionTask task(AdditionTask::defaults());
  const Answer answer{{1, 5, 3, 10, 3, 9, 8}, {5, 5, 1}, {5, 4, 1}};
  const auto picture = [&](std::size_t written) { return task.picture_of_part(answer, written)->body; };
  EXPECT_NE(picture(0).find("10^2: 1 + 3 + 1 = 5, no carry"), std::string::npos) << picture(0);
  EXPECT_NE(picture(1).find("10^1: 5 + 9 + 1 = 15, write 5, carry 1"), std::string::npos) << picture(1);
  EXPECT_NE(picture(2).find("10^0: 3 + 8 = 11, write 1, carry 1"), std::string::npos) << picture(2);
  EXPECT_EQ(picture(3).find("10^"), std::string::npos);
  EXPECT_EQ(picture(1).find("class=\"warm\""), std::string::npos);
  EXPECT_NE(picture(2).find("class=\"warm\""), std::string::npos) << "the wrong 4 is not marked";
  for (std::size_t written = 0; written <= 3; ++written)
    EXPECT_EQ(faults_of(*task.picture_of_part(answer, written)), std::vector<std::string>());
}

TEST_F(AttentionPlayer, TheTreeGrowsWithItsTokens) {
  const std::unique_ptr<Task> task = task_named("parser").make(task_named("parser").defaults());
  const Batch example = task->read_expression("x=3+8");
  const Tokens target = example.target.to_vector<int64_t>();
  const Answer answer{example.source.to_vector<int64_t>(), target, target};
  const auto nodes = [&](std::size_t written) {
    const std::string body = task->picture_of_part(answer, written)->body;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = body.find("<rect", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  for (std::size_t written = 0; written <= target.size(); ++written) EXPECT_EQ(nodes(written), written);
  Answer wrong = answer;
  wrong.output[3] = target[4];
  EXPECT_EQ(task->picture_of_part(wrong, 3)->body.find("node wrong"), std::string::npos);
  EXPECT_NE(task->picture_of_part(wrong, 4)->body.find("node wrong"), std::string::npos);
}

TEST_F(AttentionPlayer, PagesAreSmallAndCompleteWithoutScript) {
  successful(run_command({"train", "copy", "--max-steps", "1", "--no-progress", "--out", folder / "run"}, folder));
  successful(run_command({"attention", "copy", "--model", folder / "run", "--quiet", "--lang", "ko"}));
  const std::string page = slurp(folder / "run/attention.html");
  EXPECT_LT(page.size(), 4'000'000u);
  EXPECT_EQ(faults_of_page(page), std::vector<std::string>{"the page has <script"});
  expect_parts(page, {"<html lang=\"ko\">", "<h1>copy 태스크: 어텐션</h1>", "<noscript>",
                      ">크로스 어텐션 (디코더에서 인코더로)<", ">크로스 층 1, 헤드 1"});
}

// Plays the page. This needs a JavaScript engine, which is no part of what tapegrad is built with: skipped without one.
// The numbers that the page has are compared by the tests above.
TEST_F(AttentionPlayer, TheScriptShowsThem) {
  if (!has_program("node")) GTEST_SKIP() << "there is no node (Debian: nodejs)";
  const std::string sources = kSourceDir;
  for (const std::string task : {"copy", "parser", "gpt"}) {
    SCOPED_TRACE(task);
    const std::string run = trained(folder, task);
    Arguments words{"attention", task, "--model", run, "--quiet"};
    if (task == kGPTTask) words = joined(words, {"--prompt", "The cat", "--max-new-tokens", "3"});
    successful(run_command(words));
    const json player = json_in_page(slurp(run + "/attention.html")), &steps = player["decoding"]["steps"];
    for (const std::string language : {"ko", "en"}) {
      const Ran ran = successful(run_program({"node", sources + "/tests/tasks/seeing/player.js",
                                              sources + "/tutorials/widgets", run + "/attention.html", language}));
      const json shown = json::parse(ran.out), &states = shown["states"];
      EXPECT_EQ(shown["parts"].size(), 2u);
      const std::size_t first = states[0]["step"], last = states.back()["step"];
      EXPECT_EQ(first, task == kGPTTask ? 6u : 0u);  // the first token that the model writes
      EXPECT_EQ(last, task == kGPTTask ? steps.size() - 1 : steps.size());
      EXPECT_EQ(states.size(), last - first + 1);
      EXPECT_EQ(shown["back"], last - 1);
      EXPECT_EQ(shown["played"], last);
      for (const json& state : states) {
        const std::size_t at = state["step"];
        if (at == steps.size()) continue;
        ASSERT_EQ(state["likely"].size(), steps[at]["likely"].size());
        for (std::size_t k = 0; k < steps[at]["likely"].size(); ++k) {
          EXPECT_EQ(state["likely"][k][0], steps[at]["likely"][k][0]);
          EXPECT_NEAR(std::stod(state["likely"][k][2].get<std::string>()), steps[at]["likely"][k][1].get<double>(),
                      5.1e-5);
        }
        std::map<std::string, double> sums;  // of the arcs of each head; the thinnest have none
        for (const json& arc : state["arcs"]) sums[arc[0].get<std::string>()] += std::stod(arc[1].get<std::string>());
        EXPECT_GE(sums.size(), 2u);
        for (const auto& [head, sum] : sums) EXPECT_NEAR(sum, 1, 0.05) << head;
        EXPECT_EQ(state["picture"].get<std::string>().empty(), task != "parser");
      }
      EXPECT_EQ(states.back()["told"].get<std::string>().find("토큰") != std::string::npos ||
                    states.back()["told"].get<std::string>().find("단계") != std::string::npos,
                language == "ko");
    }
  }
}

}  // namespace
}  // namespace tapegrad::tasks
