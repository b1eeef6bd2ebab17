// einsum and tensordot: sums of products by subscripts or by lists of axes.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/product/detail/contract.h>
#include <tapegrad/autograd/pool.h>

#include <algorithm>
#include <array>
#include <string>

namespace tapegrad {
namespace {

constexpr std::string_view kEinsum = "einsum";
constexpr std::string_view kTensordot = "tensordot";

// Labels: A-Z are 0 .. 25, a-z 26 .. 51, and the axes of "..." 52 .. 59, counted from the last.
constexpr int kLetters = 52;
constexpr int kAllLabels = kLetters + kMaxRank;

int label_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1; }

std::string text_of(int64_t label) {
  if (label >= kLetters) return fmt::format("axis {} of \"...\"", kLetters - label - 1);
  return std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

// One comma-separated part of an equation: its letters, and the position of "..." among them.
struct Part {
  std::string letters;  // labels
  int ellipsis = -1;
};

struct Equation {
  explicit Equation(std::string_view text) : text(text) {
    inputs.emplace_back();
    Part* part = inputs.data();
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::string_view rest = text.substr(i);
      if (text[i] == ' ') continue;
      if (const int label = label_of(text[i]); label >= 0) {
        part->letters.push_back(static_cast<char>(label));
      } else if (text[i] == ',' && !has_output) {
        part = &inputs.emplace_back();
      } else if (rest.starts_with("->") && !has_output) {
        has_output = true;
        part = &output;
        ++i;
      } else if (rest.starts_with("...") && part->ellipsis < 0) {
        part->ellipsis = static_cast<int>(part->letters.size());
        i += 2;
      } else {
        fail(kEinsum,
             "expected letters, commas, one \"->\" and one \"...\" per operand, got '{}' at position {} of \"{}\"",
             text[i], i, text);
      }
    }
  }

  std::string_view text;
  PoolVector<Part> inputs;
  Part output;
  bool has_output = false;
};

// The labels of an operand; axes without a letter belong to "...".
Labels labels_of(const Equation& equation, const Part& part, const Shape& shape) {
  const int letters = static_cast<int>(part.letters.size()), further = shape.rank() - letters;
  if (further < 0 || (further > 0 && part.ellipsis < 0)) {
    fail(kEinsum, "expected an operand with {}{} axes in \"{}\", got {}", part.ellipsis < 0 ? "" : "at least ", letters,
         equation.text, shape);
  }
  Labels labels;
  for (int i = 0; i <= letters; ++i) {
    for (int k = further; i == part.ellipsis && k > 0; --k) labels.push_back(kLetters + k - 1);
    if (i < letters) labels.push_back(part.letters[static_cast<std::size_t>(i)]);
  }
  return labels;
}

// Error unless the axes of each label have the same size, or size 1.
void check_sizes(const Equation& equation, const PoolVector<Term>& terms) {
  std::array<int64_t, kAllLabels> sizes;
  sizes.fill(1);
  for (const Term& term : terms) {
    for (int i = 0; i < term.labels.rank(); ++i) {
      const int64_t label = term.labels[i], size = term.x.shape()[i];
      int64_t& known = sizes[static_cast<std::size_t>(label)];
      const int first =
          static_cast<int>(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
      const int64_t before = first < i ? term.x.shape()[first] : known;
      if (size != before && (first < i || (size != 1 && known != 1))) {
        fail(kEinsum, "expected one size of {} in \"{}\", got {} and {}", text_of(label), equation.text, before, size);
      }
      if (size != 1) known = size;
    }
  }
}

PoolVector<int> output_labels(const Equation& equation, const PoolVector<Term>& terms) {
  std::array<int, kAllLabels> count{};
  for (const Term& term : terms) {
    for (int64_t label : term.labels) ++count[static_cast<std::size_t>(label)];
  }
  const auto present = [&](int label) { return count[static_cast<std::size_t>(label)] > 0; };
  PoolVector<int> output;
  const auto add_ellipsis = [&] {
    for (int label = kAllLabels - 1; label >= kLetters; --label) {
      if (present(label)) output.push_back(label);
    }
  };
  if (!equation.has_output) {
    add_ellipsis();
    for (int label = 0; label < kLetters; ++label) {
      if (count[static_cast<std::size_t>(label)] == 1) output.push_back(label);
    }
    return output;
  }
  const std::string& letters = equation.output.letters;
  for (std::size_t i = 0; i <= letters.size(); ++i) {
    if (static_cast<int>(i) == equation.output.ellipsis) add_ellipsis();
    if (i == letters.size()) break;
    if (!present(letters[i])) {
      fail(kEinsum, "expected output letters that an operand has, got {} in \"{}\"", text_of(letters[i]),
           equation.text);
    }
    if (letters.find(letters[i]) != i) {
      fail(kEinsum, "expected each output letter once, got {} twice in \"{}\"", text_of(letters[i]), equation.text);
    }
    output.push_back(letters[i]);
  }
  return output;
}

Labels output_of(const Equation& equation, const PoolVector<Term>& terms) {
  const PoolVector<int> all = output_labels(equation, terms);
  require(all.size() <= kMaxRank, kEinsum, "expected an output with at most {} axes, got {} in \"{}\"", kMaxRank,
          all.size(), equation.text);
  Labels output;
  for (int label : all) output.push_back(label);
  return output;
}

// float32, float64 or int64, the same for all.
void check_types(std::string_view where, const PoolVector<Term>& terms) {
  const DType dtype = terms[0].x.dtype();
  bool fits = is_floating(dtype) || dtype == kInt64;
  for (const Term& term : terms) fits = fits && term.x.dtype() == dtype;
  if (fits) return;
  std::string got;
  for (const Term& term : terms) got += fmt::format("{}{}", got.empty() ? "" : ", ", name(term.x.dtype()));
  fail(where, "expected operands of one type, float32, float64 or int64, got {}", got);
}

}  // namespace

Tensor einsum(std::string_view text, std::span<const Tensor> operands) {
  const Equation equation(text);
  require(operands.size() == equation.inputs.size(), kEinsum, "expected {} operand{} for \"{}\", got {}",
          equation.inputs.size(), equation.inputs.size() == 1 ? "" : "s", text, operands.size());
  PoolVector<Term> terms;
  terms.reserve(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back({operands[i], labels_of(equation, equation.inputs[i], operands[i].shape())});
  }
  check_types(kEinsum, terms);
  check_sizes(equation, terms);
  const Labels output = output_of(equation, terms);  // before `terms` moves
  return contract(kEinsum, std::move(terms), output);
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Axes& axes_a, const Axes& axes_b) {
  require(axes_a.rank() == axes_b.rank(), kTensordot, "expected as many axes of a as of b, got {} and {}", axes_a,
          axes_b);
  Term left{a, {}}, right{b, {}};
  for (int i = 0; i < a.dim(); ++i) left.labels.push_back(i);
  for (int i = 0; i < b.dim(); ++i) right.labels.push_back(kMaxRank + i);
  Labels output;
  for (int i = 0; i < axes_a.rank(); ++i) {
    const int of_a = normal_axis(kTensordot, axes_a[i], a.shape()),
              of_b = normal_axis(kTensordot, axes_b[i], b.shape());
    const int64_t size_a = a.shape()[of_a], size_b = b.shape()[of_b];
    require(left.labels[of_a] < 2 * kMaxRank && right.labels[of_b] < 2 * kMaxRank, kTensordot,
            "expected each axis once, got {} and {}", axes_a, axes_b);
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      fail(kTensordot, "expected equal sizes of axis {} of {} and axis {} of {}", axes_a[i], a.shape(), axes_b[i],
           b.shape());
    }
    left.labels[of_a] = right.labels[of_b] = 2 * kMaxRank + i;
  }
  require(a.dim() + b.dim() - 2 * axes_a.rank() <= kMaxRank, kTensordot,
          "expected a result with at most {} axes, got {} and {}", kMaxRank, a.shape(), b.shape());
  for (const Term& term : {left, right}) {
    for (int64_t label : term.labels) {
      if (label < 2 * kMaxRank) output.push_back(label);
    }
  }
  PoolVector<Term> terms{left, right};
  check_types(kTensordot, terms);
  return contract(kTensordot, std::move(terms), output);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count) {
  if (count < 0 || count > std::min(a.dim(), b.dim())) {
    fail(kTensordot, "expected between 0 and {} axes of {} and {}, got {}", std::min(a.dim(), b.dim()), a.shape(),
         b.shape(), count);
  }
  Axes axes_a, axes_b;
  for (int64_t i = 0; i < count; ++i) {
    axes_a.push_back(a.dim() - count + i);
    axes_b.push_back(i);
  }
  return tensordot(a, b, axes_a, axes_b);
}

}  // namespace tapegrad
