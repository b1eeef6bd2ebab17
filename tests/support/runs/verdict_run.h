// Short training runs on The Verdict that start from a model of transformers.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/stored.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

inline const std::string kVerdict = data_path("the_verdict.txt");

// `tapegrad train gpt --out OUT` without evaluations after the first step and without samples.
inline Arguments verdict_run(const std::string& out, const Arguments& more) {
  return joined(
      {"train", "gpt", "--out", out, "--text", kVerdict, "--seq-length", "24", "--batch-size", "8", "--schedule",
       "constant", "--eval-interval", "1000000", "--eval-batches", "1", "--sample-tokens", "0", "--no-progress"},
      more);
}

// The loss that `test gpt` finds in the first 400 tokens, with the model that these options choose.
inline double tested_loss(const Arguments& model) {
  const Arguments test{"test", "gpt", "--text", kVerdict, "--max-tokens", "400", "--json"};
  return Json::parse(successful(run_command(joined(test, model))).out)["loss"];
}

inline std::vector<double> losses_in(const std::string& folder) {
  std::vector<double> losses;
  for (const Json& m : json_lines(folder + "/metrics.jsonl"))
    if (m.contains("step")) losses.push_back(m["loss"]);
  return losses;
}

// 50 steps from the model in data/NAME have the losses in its losses.json: those of PyTorch's AdamW with transformers.
inline void expect_losses_of_transformers(const std::string& name, const std::string& out) {
  const Json expected = stored(name + "/losses.json");
  successful(
      run_command(verdict_run(out, {"--from", data_path(name), "--lr", "0.003", "--weight-decay", "0.1", "--clip-grad",
                                    "1", "--seed", expected["seed"].dump(), "--max-steps", "50"})));
  const std::vector<double> losses = losses_in(out);
  ASSERT_EQ(losses.size(), 50U);
  ASSERT_EQ(losses.size(), expected["losses"].size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], expected["losses"][i].get<double>(), 1e-4) << name << ", step " << i + 1;
}

}  // namespace tapegrad::tests
