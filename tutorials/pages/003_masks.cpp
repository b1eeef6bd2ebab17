// Tutorial 003, section 8.2.5: the causal mask and the padding mask, of the tutorial's words or of a random example.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr std::string_view kLine = "--------------------------------------------------\n";
constexpr int64_t kMostInTables = 7;  // tokens that fit into a table of 80 columns

struct Example {
  std::vector<std::string> words;
  Tensor scores;  // [T, T]
};

Example tutorial_example() { return {{"I", "love", "deep", "learning"}, given::scores()}; }

// The steps of the causal mask.
struct CausalMask {
  explicit CausalMask(const Tensor& of) : scores(of) {}
  Tensor scores;  // [T, T]
  Tensor seen = nn::causal_mask(scores.size(0)), ones_and_zeros = seen.to(kFloat32);
  Tensor ones_and_inf = masked_fill(ones_and_zeros, !seen, -INFINITY), added = scores + ones_and_inf;
  Tensor masked = masked_fill(scores, !seen, -INFINITY), weights = softmax(masked);
};

// Scores from 0.00 to 0.99, with two decimals.
Example drawn_example(int64_t length, Generator& generator) {
  Example example;
  for (int64_t i = 0; i < length; ++i) example.words.push_back(fmt::format("t{}", i));
  example.scores = randint(0, 100, {length, length}, &generator).to(kFloat32) / 100;
  return example;
}

bool is_drawn(const ShowRequest& request) { return request.length || request.seed; }

// Numbered steps: each has a headline, a table (shades if it is large) and an explanation.
class Steps {
 public:
  explicit Steps(const std::vector<std::string>& words, int before = 0) : words_(words), number_(before) {
    width_ = std::min(12, drawing::kTerminalWidth / (static_cast<int>(words.size()) + 1));
  }
  void add(std::string_view headline, const Tensor& x, int digits, bool exponent, std::string_view told) {
    text += fmt::format("{}. {}:\n", ++number_, headline);
    text += Matrix{x, {words_, words_, width_, digits, exponent}, {}, std::ssize(words_) > kMostInTables};
    text += told.empty() ? "" : fmt::format("\n{}\n", told);
  }
  void plain(std::string_view headline, std::string_view what, const Tensor& x, std::string_view told) {
    text += fmt::format("{}. {}:\n{}", ++number_, headline, what);
    text += Matrix{x.reshape({4, -1}), {{}, {}, 0, 0}, str(x) + "\n"};
    text += fmt::format("\n{}\n", told);
  }
  void line() { text += std::string(kLine); }

  Notes text;

 private:
  const std::vector<std::string>& words_;
  int width_;
  int number_;
};

}  // namespace

Exhibit show_causal_mask(const ShowRequest& request) {
  const int64_t length = request.length.value_or(4);
  Generator generator(request.seed.value_or(0));
  const auto [words, scores] = is_drawn(request) ? drawn_example(length, generator) : tutorial_example();
  const CausalMask mask(scores);

  Steps steps(words);
  steps.add(said("Attention scores"), scores, 2, false, said("Rows are queries, columns are keys."));
  steps.line();
  steps.add(said("Lower triangular mask (1: allowed, 0: blocked)"), mask.ones_and_zeros, 2, false,
            said("A word attends to itself and to earlier words: the diagonal and all below it."));
  steps.line();
  steps.add(said("The mask with -inf instead of 0"), mask.ones_and_inf, 1, true, said("The exponential of -inf is 0."));
  steps.line();
  steps.add(said("Scores with the mask added"), mask.added, 1, false,
            said("This is what the tutorial prints: its mask adds 1 to allowed scores, so 0.90\n"
                 "becomes 1.9. The softmax is unchanged, because it depends only on differences\n"
                 "within a row. tapegrad adds nothing: blocked scores become -inf, the others\n"
                 "keep their values."));
  steps.line();
  steps.add(said("Attention weights (softmax of each row)"), mask.weights, 2, false, "");
  steps.text += said("\nEach row sums to 1, and no weight falls on a later word.\n");

  return {said("Causal mask (8.2.5)"),
          steps.text,
          {draw_matrix(said("1. Attention scores"), scores, words, words, 0, 1),
           draw_matrix(said("2. Mask (1: allowed)"), mask.ones_and_zeros, words, words, 0, 2, 0),
           draw_matrix(said("3. Mask with -inf"), mask.ones_and_inf, words, words, 0, 2, 0),
           draw_matrix(said("4. Masked scores"), mask.masked, words, words, 0, 1),
           draw_matrix(said("5. Attention weights"), mask.weights, words, words, 0, 1)}};
}

namespace {

struct Sentences {
  std::vector<std::vector<std::string>> words;  // equally long, padded with PAD
  Tensor ids;                                   // [4, T]; PAD is 0
};

Sentences tutorial_sentences() {
  return {{{"I", "love", "deep", "learning"},
           {"I", "love", "ML", "PAD"},
           {"Deep", "learning", "is", "fun"},
           {"Machines", "learn", "from", "data"}},
          tensor({{1, 2, 3, 4}, {1, 2, 5, 0}, {3, 4, 6, 7}, {8, 9, 10, 11}})};
}

// The first sentence is full, the others have random lengths; ids from 1 to 99.
Sentences drawn_sentences(int64_t length, Generator& generator) {
  Sentences out{{}, randint(1, 100, {4, length}, &generator)};
  const std::vector<int64_t> lengths = randint(1, length + 1, {4}, &generator).to_vector<int64_t>();
  std::vector<int64_t> ids = out.ids.to_vector<int64_t>();
  for (int64_t s = 0; s < 4; ++s) {
    out.words.emplace_back();
    for (int64_t i = 0; i < length; ++i) {
      const bool pad = s > 0 && i >= lengths[static_cast<std::size_t>(s)];
      if (pad) ids[static_cast<std::size_t>(s * length + i)] = 0;
      out.words.back().push_back(pad ? "PAD" : fmt::format("t{}", i));
    }
  }
  out.ids = tensor(ids, {4, length});
  return out;
}

std::string show_sentences(const Sentences& sentences) {
  std::string out;
  for (const std::vector<std::string>& words : sentences.words) {
    std::string line = "  ";
    for (const std::string& word : words) line += fmt::format(" {:<9}", word);
    line.erase(line.find_last_not_of(' ') + 1);
    if (words.size() <= static_cast<std::size_t>(kMostInTables)) out += line + '\n';
  }
  return out + said("token ids:\n");
}

// The steps of the padding mask.
struct PaddingMask {
  PaddingMask(const Tensor& ids, const Tensor& of) : scores(of), seen(nn::padding_mask(ids)) {}
  Tensor masked(int64_t sentence) const { return masked_fill(scores, !seen[sentence][0], -INFINITY); }
  Tensor scores, seen;                                         // [T, T], [4, 1, 1, T]
  Tensor rows = seen.reshape({4, seen.size(3)}).to(kFloat32);  // one per sentence
};

int64_t shortest(const Sentences& sentences) {
  return argmin(sum(ne(sentences.ids, 0).to(kInt64), {1})).item<int64_t>();
}

constexpr std::string_view kOrdinals[] = {translatable("first"), translatable("second"), translatable("third"),
                                          translatable("fourth")};

}  // namespace

Exhibit show_padding_mask(const ShowRequest& request) {
  const int64_t length = request.length.value_or(4);
  Generator generator(request.seed.value_or(0));
  const Sentences sentences = is_drawn(request) ? drawn_sentences(length, generator) : tutorial_sentences();
  const Tensor scores = is_drawn(request) ? drawn_example(length, generator).scores : tutorial_example().scores;
  const PaddingMask mask(sentences.ids, scores);
  const int64_t padded = shortest(sentences);
  const std::vector<std::string>& words = sentences.words[0];
  const std::vector<std::string>& padded_words = sentences.words[static_cast<std::size_t>(padded)];

  Steps steps(words);
  steps.plain(said("Four sentences, padded to one length"), show_sentences(sentences), sentences.ids,
              said("The padding token PAD has the id 0."));
  steps.line();
  steps.plain(said("Padding mask (1: a word, 0: padding)"), "", mask.rows.reshape({4, 1, length}),
              said("One row per sentence; it applies to every query."));
  steps.line();
  steps.add(said("Attention scores (first sentence)"), scores, 2, false, "");
  steps.line();
  steps.add(said("Scores with the padding mask applied (first sentence)"), mask.masked(0), 1, true,
            said("Scores of padding would be -inf; the first sentence has none."));
  steps.line();
  steps.add(said("Attention weights (first sentence)"), softmax(mask.masked(0)), 2, false, said("Each row sums to 1."));
  if (padded != 0) {
    const std::string ordinal = said(kOrdinals[padded]);
    steps.line();
    Steps second(padded_words, 5);
    second.add(said("Beyond the tutorial, the {} sentence with the same scores, masked", ordinal), mask.masked(padded),
               1, true, said("Padding is masked in every row."));
    second.line();
    second.add(said("Its attention weights ({} sentence)", ordinal), softmax(mask.masked(padded)), 2, false, "");
    second.text += said(
        "\nPadding gets no weight. The rows of the padding tokens are computed, but never\n"
        "used: a padding mask masks columns (keys), not rows (queries).\n");
    steps.text += second.text;
  }

  Exhibit out{said("Padding mask (8.2.5)"), steps.text, {}};
  std::vector<std::string> names, columns;
  for (const std::string_view ordinal : kOrdinals) names.push_back(said(ordinal));
  for (int64_t i = 0; i < length; ++i) columns.push_back(fmt::format("{}", i + 1));
  out.drawings.push_back(
      draw_matrix(said("Padding mask (1: a word), by sentence"), mask.rows, names, columns, 0, 2, 0));
  out.drawings.push_back(draw_matrix(said("Attention scores (first sentence)"), scores, words, words, 0, 1));
  out.drawings.push_back(draw_matrix(said("Weights, first sentence"), softmax(mask.masked(0)), words, words, 0, 1));
  if (padded != 0)
    out.drawings.push_back(draw_matrix(said("Weights, {} sentence", said(kOrdinals[padded])),
                                       softmax(mask.masked(padded)), padded_words, padded_words, 0, 1));
  return out;
}

namespace {

std::vector<Number> numbers_of_masks() {
  const CausalMask causal(tutorial_example().scores);
  const PaddingMask padding(tutorial_sentences().ids, causal.scores);
  return {
      same("1. Original attention score matrix", rows_of(causal.scores, 2)),
      same("2. Lower triangular mask (1: allowed, 0: blocked)", rows_of(causal.ones_and_zeros, 2)),
      same("3. Mask converted to -inf", exponent_rows_of(causal.ones_and_inf, 1)),
      same("4. Attention scores with mask applied", rows_of(causal.added, 1)),
      same("5. Final attention weights (after softmax)", rows_of(causal.weights, 2)),
      same("2. Create padding mask (1: valid token, 0: padding token)", numpy_rows(padding.rows)),
      same("3. Original attention scores (first sentence)", rows_of(causal.scores, 2)),
      same("4. Scores with padding mask applied (first sentence)", exponent_rows_of(padding.masked(0), 1)),
      same("5. Final attention weights (first sentence)", rows_of(softmax(padding.masked(0)), 2)),
  };
}

std::vector<Figure> figures_of_masks() {
  return {{.panels = show_causal_mask({}).drawings}, {.panels = show_padding_mask({}).drawings}};
}

std::string words_as_mask() {
  const auto [words, scores] = tutorial_example();
  return json_of_mask(words, scores, tril(ones({4, 4})));
}

// The weights with 1 added to allowed scores, and without.
std::string same_weights() {
  const CausalMask mask(tutorial_example().scores);
  return said("largest difference of a weight: {:.1e}\n", amax(abs(mask.weights - softmax(mask.added))).item());
}

}  // namespace

const Computation k003_8_2_5{"003-8.2.5", numbers_of_masks, figures_of_masks, {words_as_mask}, {same_weights}};

}  // namespace tapegrad::tasks::tutorial
