// The comparison of derivatives with differences: a quick look at all of them, a thorough one where they disagree.
#include <tapegrad/autograd/derivatives/detail/jacobian.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace tapegrad::detail {
namespace {

constexpr int kMostWrong = 20;  // elements of inputs with wrong derivatives, after which the check ends
constexpr int kSmallerSteps = 5;

}  // namespace

bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

Values gradients_in_row(Tape& tape, const Tensor& y, const BackwardOptions& options, std::span<const Tensor> leaves,
                        const std::vector<int>& wanted) {
  Gradients grads;
  if (tape.position_of(y) >= 0) grads = tape.backward(y, options);
  Values all;
  for (int i : wanted) {
    const Tensor& leaf = leaves[static_cast<std::size_t>(i)];
    const Tensor* grad = grads.find(leaf);
    const Values part = grad ? grad->to_vector<double>() : Values(static_cast<std::size_t>(leaf.numel()), 0.0);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<bool> JacobianCheck::run() {
  do rows_.push_back(row_by_backward(rows_.size()));
  while (rows_.size() < outputs_);
  Place place{0, 0, 0};
  std::vector<bool> all_zero;
  for (int input : j_.wanted) {
    const int64_t count = j_.packed[static_cast<std::size_t>(input)].numel();
    bool zero = true;
    for (place.input = input, place.index = 0; place.index < count; ++place.index, ++place.at) {
      const Column c = column(place, options_.step * scale_at(place));
      check_column(place, c);
      if (wrong_columns_ == kMostWrong || unstable_) return {};
      for (std::size_t k = 0; k < outputs_; ++k) zero = zero && std::abs(c.slope[k]) <= options_.atol + c.rounding[k];
    }
    all_zero.push_back(zero);
  }
  return all_zero;
}

// Row k at x, or at x with its numbers moved by up to a part of them; empty if the result has no such element.
Values JacobianCheck::row_by_backward(std::size_t k, Generator* moves, double part) {
  Tape tape;
  std::vector<Tensor> leaves = j_.x;
  for (int i : j_.wanted) {
    Tensor& x = leaves[static_cast<std::size_t>(i)];
    if (moves) x = x * (1 + (rand(x.shape(), kFloat64, moves) - 0.5) * (2 * part));
    x = x.detach().as_leaf();
  }
  const Tensor y = j_.record(tape, leaves);
  outputs_ = static_cast<std::size_t>(y.numel());
  if (k >= outputs_) return {};
  const Tensor seed = zeros(y.shape(), kFloat64);
  seed.mutable_data<double>()[k] = 1;
  return gradients_in_row(tape, y, {.grad_output = seed}, leaves, j_.wanted);
}

// The rounding errors of row k by backward, where it is worth the time: how much it changes if x moves a little, which
// may be a true change, or by its last bits, which is none.
const Values& JacobianCheck::noise_of_row(std::size_t k) {
  const auto [at, made] = noise_.try_emplace(k, rows_[k].size(), 0.0);
  if (!made) return at->second;
  Generator moves(k);
  const Values still = row_by_backward(k, &moves, 0);  // in the layout that moved numbers have
  double most = 0;
  for (double v : rows_[k]) most = std::max(most, 1e-6 * std::abs(v));
  for (const auto& [part, limit] : {std::pair{0x1p-40, most}, {0x1p-50, std::numeric_limits<double>::infinity()}}) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      const Values moved = row_by_backward(k, &moves, part);
      for (std::size_t i = 0; i < moved.size(); ++i)
        at->second[i] = std::max(at->second[i], std::min(limit, 10 * std::abs(moved[i] - still[i])));
    }
  }
  return at->second;
}

// f'(x) = (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h, with an error of h^4 f^(5) / 30.
JacobianCheck::Column JacobianCheck::column(const Place& place, double h) {
  Column c{Values(outputs_, 0.0), Values(outputs_, 0.0)};
  for (const auto& [steps, weight] : {std::pair{1, 8.0}, {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
    const Values y = evaluate_at(place, steps * h);
    for (std::size_t k = 0; k < outputs_; ++k) {
      c.slope[k] += weight / (12 * h) * y[k];
      c.rounding[k] = std::max(c.rounding[k], std::numeric_limits<double>::epsilon() / h * std::abs(y[k]));
    }
  }
  return c;
}

double JacobianCheck::value_at(const Place& place) const {
  return j_.packed[static_cast<std::size_t>(place.input)].data<double>()[place.index];
}

// The power of two below max(1, |x|).
double JacobianCheck::scale_at(const Place& place) const {
  return std::ldexp(1.0, std::ilogb(std::max(1.0, std::abs(value_at(place)))));
}

// The largest |x| of an input; 1 if all are zero.
double JacobianCheck::largest_of(int input) const {
  double largest = 0;
  for (double v : j_.packed[static_cast<std::size_t>(input)].to_vector<double>())
    largest = std::max(largest, std::abs(v));
  return largest > 0 ? largest : 1;
}

// f with one element of one input moved; NaN where that raises an Error, as outside of a domain.
Values JacobianCheck::evaluate_at(const Place& place, double move) {
  Tensor& moved = j_.packed[static_cast<std::size_t>(place.input)];
  const Tensor still = moved;
  moved = from_data(still.raw_data(), still.numel(), still.shape(), kFloat64);
  moved.mutable_data<double>()[place.index] += move;
  Tensor result;
  try {
    result = j_.value(j_.packed);
  } catch (const Error&) {
    error_ = std::current_exception();
  }
  moved = still;
  if (!result.defined()) return Values(outputs_, NAN);
  require(
      static_cast<std::size_t>(result.numel()) == outputs_, "gradcheck",
      "the function returned {} elements, and {} near the same point (expected a shape that does not depend on values)",
      outputs_, result.numel());
  return result.to_vector<double>();
}

// The chosen outputs at steps from 8 times to 2^-42 times the size of x, each times `part`.
std::vector<Line> JacobianCheck::lines_at(const Place& place, const std::vector<std::size_t>& outputs, double part) {
  const double scale = scale_at(place), top = 8 * scale * part;
  const double size = value_at(place) != 0 ? std::abs(value_at(place)) : largest_of(place.input);
  const int levels = 46 + std::clamp(std::ilogb(scale) - std::ilogb(size), 0, 40);
  std::vector<Line> lines(outputs.size(), Line{.top = top, .small = std::ldexp(std::min(size, scale), -22)});
  const Values middle = evaluate_at(place, 0);
  double largest = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) lines[i].middle = middle[outputs[i]];
  for (int level = 0; level < levels; ++level) {
    const double h = std::ldexp(top, -level);
    const Values above = evaluate_at(place, h), below = evaluate_at(place, -h);
    for (std::size_t k = 0; k < outputs_; ++k)
      if (above[k] != middle[k] || below[k] != middle[k]) largest = std::max(largest, std::abs(middle[k]));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Line& line = lines[i];
      line.above.push_back(above[outputs[i]]);
      line.below.push_back(below[outputs[i]]);
      const double change = std::abs(line.above.back() - line.middle) + std::abs(line.below.back() - line.middle);
      if (std::isfinite(change) && h >= line.small) line.steepest = std::max(line.steepest, change / h);
    }
  }
  const std::size_t first = place.at - static_cast<std::size_t>(place.index);  // of this input
  const int64_t count = j_.packed[static_cast<std::size_t>(place.input)].numel();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    line.largest = std::max(largest, std::abs(line.middle));
    line.cancelling = j_.cancelling;
    line.near = largest_of(place.input);
    for (double slope : std::span(rows_[outputs[i]]).subspan(first, static_cast<std::size_t>(count)))
      line.beside = std::max(line.beside, std::abs(slope));
  }
  return lines;
}

// --- the comparison ---

double JacobianCheck::tolerance(double slope, double noise) const {
  return options_.atol + options_.rtol * std::abs(slope) + noise + std::numeric_limits<double>::min();
}

void JacobianCheck::note_error(double error, double slope) {
  double& worst = report_.worst[j_.order - 1];
  worst = std::max(worst, error / std::max(1.0, std::abs(slope)));
}

bool JacobianCheck::settles(const Place& place, const Column& c, std::size_t k) {
  const double error = std::abs(rows_[k][place.at] - c.slope[k]);
  if (!(error <= tolerance(c.slope[k], c.rounding[k]))) return false;
  note_error(error, c.slope[k]);
  return true;
}

// Entries that do not agree with the first step are measured again: a kink within two steps, or a function that is
// steep, makes it too long. The first step is repeated, so that what is wrong now and then does not get away.
void JacobianCheck::check_column(const Place& place, const Column& first) {
  report_.entries += static_cast<int64_t>(outputs_);
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < outputs_; ++k)
    if (!settles(place, first, k)) open.push_back(k);
  if (open.empty()) return;
  double h = options_.step * scale_at(place);
  if (!same_bits(column(place, h).slope, first.slope)) return fail_as_unstable();
  for (int i = 0; i < kSmallerSteps && !open.empty(); ++i) {
    Column c = column(place, h /= 4);
    for (std::size_t k = 0; k < outputs_; ++k) {  // rounding errors that grow must not excuse more, nor agree by chance
      const double relative = options_.rtol * std::abs(c.slope[k]);
      if (c.rounding[k] > std::max(first.rounding[k], relative)) c.rounding[k] = -relative;
    }
    std::erase_if(open, [&](std::size_t k) { return settles(place, c, k); });
  }
  if (open.empty()) return;
  bool wrong = false;
  const std::vector<Line> lines = lines_at(place, open);
  for (std::size_t i = 0; i < open.size() && !unstable_; ++i) wrong = !accepts(place, open[i], lines[i]) || wrong;
  if (wrong) ++wrong_columns_;
}

bool JacobianCheck::accepts(const Place& place, std::size_t k, const Line& line) {
  const Slope slope = slope_of(line, scale_at(place));
  if (!std::isfinite(slope.error) && error_) std::rethrow_exception(error_);
  const double analytic = rows_[k][place.at];
  const double error = std::abs(analytic - slope.value);
  const double low = std::min(slope.below, slope.above), high = std::max(slope.below, slope.above);
  const auto agrees = [&](double noise) {
    const double sides = slope.of_sides + noise;
    return error <= tolerance(slope.value, slope.error + noise) ||
           (slope.broken && analytic >= low - sides && analytic <= high + sides);
  };
  // Too small for a change of x by its own size to be seen in the result. Where f is flat, there may be more to it from
  // nearer than its rounding errors show: of a gradient, which sums may cancel, than those of all entries.
  constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();
  const double size = largest_of(place.input);
  const bool flat = std::abs(slope.value) * size <= kRounding * line.largest;
  const double hidden = flat ? 1e-9 * (j_.order == 2 ? line.largest : std::abs(line.middle)) : 0;
  const double seen = std::max({hidden, kRounding / 16 * line.largest, (flat ? 1e-11 : kRounding) * j_.cancelling});
  const double terms = std::min(j_.cancelling * factors(place, k), factors(place, k) + line.steepest);
  const bool remainder = j_.order == 2 && error <= 128 * kRounding * terms * std::max(1.0, 1 / size);
  if (error * size <= seen || remainder) {
    note_error(error, slope.value);
    return true;
  }
  if (!agrees(0) && !is_one_of_several(line, analytic) && !agrees(noise_of_row(k)[place.at])) {
    if (!same_bits(row_by_backward(k), rows_[k])) {
      fail_as_unstable();
      return false;
    }
    const auto by = [&](double part) { return slope_of(lines_at(place, {k}, part)[0], scale_at(place)); };
    if (const std::optional<double> other = contradicting(slope, by)) {
      note_undecidable(place, k,
                       fmt::format("the numerical derivative depends on the steps (analytic {:.12g}, numerical {:.6g} "
                                   "and, with other steps, {:.6g})",
                                   analytic, slope.value, *other));
      return true;
    }
    mismatch(place, k, analytic, slope);
    return false;
  }
  if (!slope.broken) {
    note_error(error, slope.value);
  } else {
    note_undecidable(place, k,
                     fmt::format("the derivative lies between the two slopes (analytic {:.12g}, numerical {:.6g} below "
                                 "and {:.6g} above)",
                                 analytic, slope.below, slope.above));
  }
  return true;
}

// By what two numbers may be multiplied on their way into f: by as much as the largest of the other inputs. A second
// derivative by them has the rounding errors of what is nearly constant there (of 1 - y, where sigmoid(x) = y) so
// often. Where f is larger than 1, for the same factors or for others, it may have them more often, but then its slope
// changes somewhere along the line.
double JacobianCheck::factors(const Place& place, std::size_t output) const {
  int of_gradient = -1;
  for (std::size_t i = 0, end = 0; of_gradient < 0 && i < j_.wanted.size(); ++i) {
    end += static_cast<std::size_t>(j_.packed[static_cast<std::size_t>(j_.wanted[i])].numel());
    if (output < end) of_gradient = j_.wanted[i];
  }
  double product = 1;
  for (const int own : {place.input, of_gradient}) {
    double largest = 1;
    for (const int input : j_.wanted)
      if (input != own) largest = std::max(largest, largest_of(input));
    product *= largest;
  }
  return product;
}

void JacobianCheck::note_undecidable(const Place& place, std::size_t k, std::string_view reason) {
  if (report_.undecidable++ == 0) report_.note = fmt::format("{}: undecidable: {}", entry_text(place, k), reason);
}

void JacobianCheck::mismatch(const Place& place, std::size_t k, double analytic, const Slope& slope) {
  const double error = std::abs(analytic - slope.value);
  const double excess = std::isnan(error) ? INFINITY : error / tolerance(slope.value, slope.error);
  if (!std::isnan(error)) note_error(error, slope.value);
  if (excess <= excess_) return;
  excess_ = excess;
  report_.ok = false;
  report_.order = j_.order;
  report_.input = place.input;
  report_.index = place.index;
  report_.output = static_cast<int64_t>(k);
  report_.analytic = analytic;
  report_.numerical = slope.value;
  report_.text = fmt::format("{}: analytic {:.12g}, numerical {:.12g}", entry_text(place, k), analytic, slope.value);
  if (slope.broken)
    report_.text += fmt::format(" (at a kink: {:.6g} below and {:.6g} above)", slope.below, slope.above);
}

void JacobianCheck::fail_as_unstable() {
  unstable_ = true;
  report_.ok = false;
  report_.order = j_.order;
  report_.text = fmt::format("order {}: {} different values when it is computed again", j_.order,
                             j_.order == 1 ? "the function or its gradient has" : "the gradient has");
}

std::string JacobianCheck::entry_text(const Place& place, std::size_t k) const {
  return fmt::format("order {}: {} by {}", j_.order, j_.output_text(static_cast<int64_t>(k)),
                     j_.input_text(place.input, place.index));
}

}  // namespace tapegrad::detail
