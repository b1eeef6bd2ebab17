// Figures that the command writes as two files, NAME.svg and the page NAME.html, and what it prints with them.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/train/drawing/tables.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tapegrad::tests {

// Expects that the files PATH.svg and PATH.html have no faults.
inline void expect_correct_figure(const std::string& path) {
  EXPECT_EQ(faults_of_svg(slurp(path + ".svg")), std::vector<std::string>()) << path;
  EXPECT_EQ(faults_of_page(slurp(path + ".html")), std::vector<std::string>()) << path;
}

// Expects lines that fit into a terminal, in which Korean characters take two columns.
inline void expect_fits(const std::string& text) {
  for (const std::string& line : lines(text))
    EXPECT_LE(drawing::display_width(line), static_cast<std::size_t>(drawing::kTerminalWidth)) << line;
}

// What `show` prints, without the line about its files, and the files.
struct Shown {
  std::string text, page, svg;
};

// Runs `show TOPIC`, and looks at all that it prints and writes.
inline Shown expect_shows(const std::string& topic, const Arguments& more = {}, const std::string& language = "en") {
  SCOPED_TRACE(testing::PrintToString(joined({topic, language}, more)));
  const TemporaryFolder folder;
  const std::string out = folder / "deep/pictures";
  const Ran ran = successful(run_command(joined({"show", topic, "--lang", language, "--out", out}, more)));
  EXPECT_EQ(ran.err, "");
  Shown shown{.text = ran.out.substr(0, ran.out.rfind(language == "ko" ? "그림: " : "Plots: ")), .page = {}, .svg = {}};
  for (const auto& entry : std::filesystem::directory_iterator(out))
    (entry.path().extension() == ".svg" ? shown.svg : shown.page) = slurp(entry.path());
  expect_fits(shown.text);
  EXPECT_EQ(faults_of_svg(shown.svg), std::vector<std::string>());
  EXPECT_EQ(faults_of_page(shown.page), std::vector<std::string>());
  EXPECT_EQ(shown.page.find("<pre"), std::string::npos) << "tables are tables";
  return shown;
}

}  // namespace tapegrad::tests
