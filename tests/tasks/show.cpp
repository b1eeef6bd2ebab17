// Pictures: of `tapegrad show`, and of images; and the checker of pictures.
#include <tapegrad/tests/support/pictures/shown.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/texts.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;
using Faults = std::vector<std::string>;

using Show = InAFolder;

TEST_F(Show, OtherSizes) {
  for (const char* length : {"1", "2", "7", "8", "11", "20", "64"}) {
    expect_shows("causal-mask", {"--length", length});
    expect_shows("padding-mask", {"--seed", "3", "--length", length});
  }
  for (const char* length : {"2", "3", "10"}) expect_shows("padded-attention", {"--length", length});
  for (const char* length : {"2", "5", "120", "1000"}) expect_shows("positional-encoding", {"--length", length});
  for (const char* dim : {"16", "64", "516", "4096"}) expect_shows("positional-encoding", {"--dim", dim});
  for (const char* length : {"1", "12", "32"}) expect_shows("layer-norm", {"--seed", "7", "--length", length});
  for (const char* dim : {"2", "16"}) expect_shows("layer-norm", {"--dim", dim});
}

TEST_F(Show, AttentionCost) {
  expect_parts(
      expect_shows("attention-cost", {"--dim", "64", "--length", "2048"}).text,
      {"Time in milliseconds\n", "Memory in megabytes\n", " full     window", "     512 ", "    1024 ", "   slope "});
}

TEST_F(Show, GPTCost) {
  expect_shows("gpt-cost", {"--dim", "64", "--length", "256", "--threads", "2"});
  const std::string out = expect_shows("gpt-cost", {"--dim", "64", "--length", "128", "--threads", "1"}).text;
  expect_parts(out, {"One sequence\n", "Sequences of 64 tokens\n", "     1     128 ", "     2     128 ", "tokens/s"});
  EXPECT_EQ(out.find("speed-up"), std::string::npos) << "with one thread";
}

TEST_F(Show, PerformerError) {
  const std::string out = expect_shows("performer-error", {"--dim", "8"}).text;
  const std::size_t at = out.find("\n    slope");
  ASSERT_NE(at, std::string::npos) << out;
  std::istringstream slopes(out.substr(at + 10));
  double small = 0, causal = 0, larger = 0;
  slopes >> small >> causal >> larger;
  EXPECT_NEAR(small, -0.5, 0.08);
  EXPECT_NEAR(causal, -0.5, 0.08);
  EXPECT_LT(larger, -0.3);  // larger queries and keys: not yet the slope of the theory
  EXPECT_GT(larger, -0.58);
}

TEST_F(Show, SameSeedSamePicture) {
  const auto drawn = [&](const char* seed) {
    successful(run_command({"show", "layer-norm", "--seed", seed, "--out", folder / seed}));
    return slurp(folder / (std::string(seed) + "/layer-norm.svg"));
  };
  const std::string first = drawn("5");
  EXPECT_EQ(first, drawn("5"));
  EXPECT_NE(first, drawn("6"));
}

TEST_F(Show, QuietWritesOnlyFiles) {
  const Ran ran = run_command({"show", "causal-mask", "--quiet", "--out", folder / "p"});
  EXPECT_EQ(ran.out, "Plots: " + (folder / "p/causal-mask.svg") + ", " + (folder / "p/causal-mask.html") + "\n");
  EXPECT_NE(slurp(folder / "p/causal-mask.html").find("<th>love</th><td>0.45</td><td>0.55</td>"), std::string::npos);
}

// Each text is in both languages with the same fields, whose order may differ, and a topic says it.
TEST(ShowTexts, HaveTheSameFieldsInBothLanguages) {
  std::string sources;
  for (const auto& file : std::filesystem::directory_iterator(std::string(kSourceDir) + "/tutorials/show"))
    if (file.path().extension() == ".cpp") sources += slurp(file.path());
  tutorial::EntryReader file("show/texts");
  int texts = 0;
  for (; const tutorial::Entry* const text = file.take_if("text"); ++texts) {
    const std::string& korean = file.take("ko").lines;
    const std::string& english = file.take("en").lines;
    EXPECT_EQ(std::ranges::count(korean, '{'), std::ranges::count(english, '{')) << text->text;
    EXPECT_NE(sources.find(fmt::format("told(\"{}\"", text->text)), std::string::npos) << text->text;
  }
  file.expect_end();
  EXPECT_GE(texts, 18);
  EXPECT_ERROR(text_told("none"));
}

TEST(ShowNotes, AreTextAndHTML) {
  Notes notes(std::string("A sentence that is long enough to be continued on the next line,\nwhich it is.\n\n"));
  notes += Table({-6, 8}).row("a & b", "x").row("c", 1.5).add("2 < 3");
  notes += Matrix{tensor({{1., 0.25}}), {{"row"}, {"left", "right"}, 10, 2}};
  expect_parts(notes.terminal(),
               {"line,\nwhich it is.\n\na & b        x\nc          1.5   2 < 3\n                left     right\n",
                "row       [    1.00][    0.25]\n"});
  expect_parts(notes.html(), {"<p>A sentence", "line, which it is.</p>", "<tr><th>a &amp; b</th><th>x</th></tr>",
                              "<tr><th>c</th><td>1.5</td><td>2 &lt; 3</td></tr>", "<th>left</th><th>right</th>",
                              "<tr><th>row</th><td>1.00</td><td>0.25</td></tr>"});
}

TEST_F(Show, HelpHasTheOptionsOfItsTopic) {
  for (const Topic& topic : topics()) {
    const std::string help = run_command({"show", std::string(topic.name), "--help"}).out;
    expect_parts(help, {"--out DIR"});
    EXPECT_EQ(help.find("--length") != std::string::npos, !topic.length.help.empty()) << help;
  }
}

TEST(Grid, ColumnsAreAsWideAsTheyNeedToBe) {
  const drawing::Drawing narrow{10, 5, "<g/>"}, wide{30, 7, "<g/>"};
  const drawing::Drawing all = drawing::grid({narrow, wide, narrow}, 2);
  EXPECT_EQ(all.width, 40);
  EXPECT_EQ(all.height, 12);
  expect_parts(all.body, {"translate(10 0)", "translate(0 7)"});
}

TEST(Images, EveryPixelIsDrawnOnce) {
  const Tensor pixels = tensor({{{1., 0.}, {1., 0.5}}, {{0., 0.}, {0., 1.}}});
  const drawing::Drawing plain = draw(drawing::Images{.images = pixels, .columns = 2, .pixel = 3, .gap = 4});
  EXPECT_EQ(plain.width, 4 + 2 * 10 + 2);
  EXPECT_EQ(plain.height, 4 + 10 + 2);
  expect_parts(plain.body, {"<path class=\"heat\" fill-opacity=\"1.00\" d=\"M4 4h3v6h-3zM17 7h3v3h-3z\"/>"});
  EXPECT_EQ(faults_of(plain), Faults());
  const drawing::Drawing four =
      draw(drawing::Images{.images = pixels.unsqueeze(1), .columns = 2, .pixel = 3, .gap = 4});
  EXPECT_EQ(four.body, plain.body);
  EXPECT_EQ(faults_of(draw(drawing::Images{.title = "A title that is wider than the images",
                                           .images = pixels,
                                           .captions = {"3, is 5", "a longer caption"},
                                           .marked = {true, false}})),
            Faults());
  EXPECT_EQ(faults_of(draw(drawing::Images{.title = "None", .images = zeros({0, 8, 8})})), Faults());
}

TEST(Drawings, SizesThatDoNotFitAreErrors) {
  const drawing::Series one{.name = "a", .x = {1, 2}, .y = {1}};
  // clang-format off
  EXPECT_ERROR(draw(drawing::LineChart{.series = {one}}));
  EXPECT_ERROR(draw(drawing::BarChart{.labels = {"x", "y"}, .series = {one}}));
  EXPECT_ERROR(draw(drawing::Heatmap{.row_labels = {"a", "b"}, .column_labels = {"c", "d"}, .values = {1, 2, 3}}));
  EXPECT_ERROR(draw(drawing::Images{.images = ones({2, 3, 8, 8})}));
  EXPECT_ERROR(draw(drawing::Images{.images = ones({2, 8, 8}), .columns = 0}));
  EXPECT_ERROR(draw(drawing::Images{.images = ones({2, 8, 8}), .captions = {"a"}}));
  EXPECT_ERROR(drawing::grid({}, 0));
  EXPECT_ERROR(drawing::bracket_table(ones({3}), {.rows = {"a"}, .columns = {"b", "c"}}));
  EXPECT_ERROR(drawing::shaded_maps({{"a", {"x", "y"}, {1, 1}}, {"b", {"x"}, {1}}}));
  // clang-format on
}

TEST(Checker, FindsFaults) {
  const auto svg = [](const std::string& inside) {
    return faults_of_svg("<svg width=\"100\" height=\"50\">" + inside + "</svg>");
  };
  EXPECT_EQ(svg("<text x=\"10\" y=\"20\">ab</text><text x=\"40\" y=\"20\">ab</text>"), Faults());
  EXPECT_EQ(svg("<text x=\"10\" y=\"20\">ab</text><text x=\"18\" y=\"22\">cd</text>"),
            Faults{"\"ab\" and \"cd\" overlap"});
  EXPECT_EQ(
      svg("<g transform=\"translate(8 0)\"><text x=\"2\" y=\"20\">ab</text></g><text x=\"18\" y=\"22\">cd</text>"),
      Faults{"\"ab\" and \"cd\" overlap"});
  EXPECT_EQ(svg("<text x=\"20\" y=\"20\" text-anchor=\"end\">abcdef</text>").size(), 1U);
  EXPECT_EQ(svg("<text x=\"12\" y=\"25\" text-anchor=\"middle\" transform=\"rotate(-90 12 25)\">abcd</text>"),
            Faults());
  EXPECT_EQ(svg("<text x=\"12\" y=\"5\" text-anchor=\"middle\" transform=\"rotate(-90 12 5)\">abcd</text>").size(), 1U);
  for (const char* bad : {"<g>", "<g></h>", "<g a=b/>", "<g a=\"1\" a=\"2\"/>", "a & b", "<image href=\"x.png\"/>",
                          "<g style=\"fill: url(http://x)\"/>", "<style>@import 'x';</style>", "<script></script>",
                          "<text x=\"1\">no y</text>"})
    EXPECT_EQ(svg(bad).size(), 1U) << bad;
  EXPECT_FALSE(faults_of_page("<p>no picture</p>").empty());
  EXPECT_FALSE(faults_of_page("<img src=\"x\"><svg width=\"1\" height=\"1\"></svg>").empty());
}

TEST(Tables, NumpysLayout) {
  EXPECT_EQ(drawing::numpy_text(tensor({1.0, 0.25, -3.0}, kFloat64)), "[ 1.    0.25 -3.  ]");
  EXPECT_EQ(drawing::numpy_text(tensor({{0.1, 0.12345678901}, {10.0, 0.0}}, kFloat64)),
            "[[ 0.1         0.12345679]\n [10.          0.        ]]");
  EXPECT_EQ(drawing::tuple_text({5}), "(5,)");
  EXPECT_EQ(drawing::tuple_text({2, 5, 1}), "(2, 5, 1)");
  EXPECT_EQ(drawing::fixed(-0.001, 2), "0.00");
  EXPECT_EQ(drawing::fixed(-0.01, 2), "-0.01");
  expect_narrow(drawing::numpy_text(arange(0, 4, 0.1, kFloat64)));
}

TEST(Tables, LongLinesAreBroken) {
  const std::string name = "  --option N                  ";
  const std::string words = "a text that tells what the option does, in more words than eighty columns can hold";
  const std::string broken = drawing::wrapped("short\n\n" + name + words + "\n");
  expect_narrow(broken);
  EXPECT_EQ(broken.rfind("short\n\n" + name + "a text", 0), 0U);
  EXPECT_NE(broken.find("\n" + std::string(name.size(), ' ') + "words"), std::string::npos) << broken;
  EXPECT_EQ(drawing::wrapped(std::string(100, 'x')), std::string(100, 'x') + "\n");
  const std::string half(40, 'x');
  EXPECT_EQ(drawing::wrapped("a: " + half + ", " + half + "\n", 4), "a: " + half + ",\n    " + half + "\n");
}

TEST(Tables, ShadesInEightyColumns) {
  const std::vector<float> weights{0, 0.05F, 0.2F, 1};
  EXPECT_EQ(drawing::shaded_maps({{"a", {"x", "yz"}, weights}, {"b", {"x", "y"}, weights}}),
            "a       b\n x  ░    x  ░\nyz ▒█    y ▒█\n\n");
  expect_narrow(
      drawing::shaded_maps(std::vector<drawing::ShadedMap>(9, {"a name", {"label"}, std::vector<float>(20, 0.5F)})));
}

}  // namespace
}  // namespace tapegrad::tasks
