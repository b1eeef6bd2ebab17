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
    const Ran ran =
        successful(run_command({"certify", trained(folder, task), "--points", "2", "--directions", "1"}, folder));
    expect_parts(ran.out, {"parameters", "trained", "initial", "Directional derivatives", "Each tensor", "Operations",
                           "Negative control", "none wrong", "Page: "});
  }
}

TEST_F(CertifyVerb, ThePageHasTheSameLines) {
  const std::string run = folder / "run";
  train_tiny(folder, "copy", "run");
  successful(run_command({"certify", run, "--directions", "1", "--numpy", folder / "page.npz"}, folder));
  const std::string page = slurp(run + "/certificate.html");
  expect_parts(page, {"<h2>Taylor remainders</h2>", "<h2>float32 gradients</h2>", "class=\"good\">right</td>",
                      "tapegrad certify", "generator.weight"});
  EXPECT_EQ(page.find("WRONG"), std::string::npos);
  EXPECT_TRUE(load_npz(folder / "page.npz", "gradient.generator.weight").defined());
  // Its trained parameters, not new ones.
  const SafeTensors model = load_safetensors(run + "/model.safetensors");
  const auto& [name, weight] = model.tensors.front();
  EXPECT_TRUE(equal(load_npz(folder / "page.npz", "x." + name), weight.to(kFloat64))) << name;
  const std::string out = folder / "other.html";
  successful(run_command({"certify", run, "--points", "1", "--directions", "1", "--out", out}, folder));
  expect_parts(slurp(out), {"Gradients of run"});
}

}  // namespace
}  // namespace tapegrad::tasks
