// `tapegrad certify`: the certificate of a run of every kind, on the terminal and as a page.
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using CertifyVerb = InAFolder;

TEST_F(CertifyVerb, TrainedModelsHaveCertificates) {
  std::vector<std::string> kinds = names_of_tasks();
  kinds.emplace_back("gpt");
  for (const std::string& task : kinds) {
    SCOPED_TRACE(task);
    const std::string run = folder / task;
    const Arguments words = task == "gpt" ? small_gpt_run(folder, task, {"--max-steps", "2"}) : tiny_run(task, run);
    successful(run_command(words, folder));
    const Ran ran = run_command({"certify", run, "--points", "2", "--directions", "1"}, folder);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    expect_parts(ran.out, {"parameters", "trained", "initial", "Directional derivatives", "Each tensor", "Operations",
                           "Negative control", "none wrong", "Page: "});
  }
}

TEST_F(CertifyVerb, ThePageHasTheSameLines) {
  const std::string run = folder / "run";
  ASSERT_EQ(run_command(tiny_run("copy", run), folder).code, 0);
  const Arguments words{"certify", run, "--directions", "1", "--numpy", folder / "page.npz"};
  const Ran ran = run_command(words, folder);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  const std::string page = slurp(run + "/certificate.html");
  expect_parts(page, {"<h2>Taylor remainders</h2>", "<h2>float32 gradients</h2>", "class=\"good\">right</td>",
                      "tapegrad certify", "generator.weight"});
  EXPECT_EQ(page.find("WRONG"), std::string::npos);
  EXPECT_TRUE(load_npz(folder / "page.npz", "gradient.generator.weight").defined());
  // Its trained parameters, not new ones.
  const Tensor weight = load_safetensors(run + "/model.safetensors").tensors.front().tensor;
  const std::string name = load_safetensors(run + "/model.safetensors").tensors.front().name;
  EXPECT_TRUE(equal(load_npz(folder / "page.npz", "x." + name), weight.to(kFloat64))) << name;
  const std::string out = folder / "other.html";
  EXPECT_EQ(run_command({"certify", run, "--points", "1", "--directions", "1", "--out", out}, folder).code, 0);
  EXPECT_NE(slurp(out).find("Gradients of run"), std::string::npos);
}

TEST_F(CertifyVerb, WhatIsNotARunIsAnError) {
  expect_error(run_command({"certify"}, folder), 2, {"[run] expected the folder of a run, got none"});
  EXPECT_TEXT(rejected(run_command({"certify", "nothing"}, folder)));
  expect_error(run_command({"certify", "nothing", "--points", "0"}, folder), 2, {"--points"});
}

}  // namespace
}  // namespace tapegrad::tasks
