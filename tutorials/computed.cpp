// Calls a page's functions, and joins what they compute with the texts.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/sources.h>

namespace tapegrad::tasks::tutorial {
namespace {

// Numbers and figures are computed in the order in which the page's file has them.
void expect_equal(const Page& page, const std::string& computed, const std::string& in_file) {
  if (computed != in_file)
    fail("tutorial", fmt::format("page {}: expected {}, as in its file, got {}", place_of(page), in_file, computed));
}

std::vector<Number> numbers_of(const Page& page) {
  std::vector<Number> numbers = page.numbers();
  expect_equal(page, fmt::format("{} numbers", numbers.size()), fmt::format("{} numbers", page.printed.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Number& in_file = page.printed[i];
    expect_equal(page, fmt::format("\"{}\"", numbers[i].label), fmt::format("\"{}\"", in_file.label));
    numbers[i].printed = in_file.printed;
    numbers[i].rows = in_file.rows, numbers[i].columns = in_file.columns;
    numbers[i].why = in_file.why;
  }
  return numbers;
}

std::vector<Figure> figures_of(const Page& page) {
  std::vector<Figure> figures = page.figures();
  expect_equal(page, fmt::format("{} figures", figures.size()), fmt::format("{} figures", page.captions.size()));
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].caption = page.captions[i];
  return figures;
}

}  // namespace

Computed computed(const Page& page, Language language) {
  const LanguageScope english(Language::en);  // numbers are the same text in both
  Computed out{&page, {}, {}, {}, {}, {}};
  for (const Lines& lines : page.lines) out.snippets.push_back(snippet(lines.snippet));
  if (page.numbers != nullptr) out.numbers = numbers_of(page);
  {
    const LanguageScope own(language);
    if (page.figures != nullptr) out.figures = figures_of(page);
    for (const Touch& touch : page.touch) out.touch.push_back(touch.data == nullptr ? "null" : touch.data());
    for (const Fault& fault : page.faults) out.proofs.push_back(fault.shown == nullptr ? "" : fault.shown());
  }
  return out;
}

}  // namespace tapegrad::tasks::tutorial
