// Operations one by one: their values in six passes, and one backward each.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/tape_modules.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/certify/detail/along.h>
#include <tapegrad/nn/certify/detail/each_operation.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace tapegrad::nn::detail {
namespace {

// The results of a tape by position. Too many elements: none are kept.
class KeptResults : public TapeWatch {
 public:
  KeptResults(const Tape& tape, int64_t most) : TapeWatch(tape), most_(most) {}
  std::map<int64_t, Tensor> of;
  bool too_many() const { return elements_ > most_; }

 private:
  void recorded(const Tensor& y, std::span<const Tensor>) override {
    elements_ += y.numel();
    if (too_many()) return of.clear();
    if (is_floating(y.dtype())) of.emplace(y.tape_index().position, y.detach());
  }
  const int64_t most_;
  int64_t elements_ = 0;
};

using Names = std::vector<std::string>;

// Values of a pass at x + t v, with those of leaves, and the operations' names in order.
struct NearbyPass {
  std::map<int64_t, Tensor> values;
  std::vector<std::string_view> names;
};

std::optional<NearbyPass> pass_at(Objective& objective, const Point& x, int64_t most) {
  Tape tape;
  const Point leaves = leaves_at(x);
  NearbyPass pass;
  {
    KeptResults watch(tape, most);
    static_cast<void>(objective.record(leaves));
    if (watch.too_many()) return {};
    pass.values = std::move(watch.of);
  }
  for (int64_t i = 0; i < tape.size(); ++i) pass.names.push_back(tape.op_name(i));
  for (const Tensor& leaf : tape.leaves()) pass.values.emplace(tape.position_of(leaf), leaf.detach());
  return pass;
}

// Derivatives by t at three pairs of steps; and whether the two best contradict each other: then there is a kink.
struct Tangents {
  Tensor fine, coarse;  // by fourth order with h and 2 h
};

Tensor random_like(const Shape& shape, Generator& generator) {
  const Tensor u = Tensor::empty(shape, kFloat64);
  generator.uniform(u.mutable_data<double>(), u.numel(), -1, 1);
  return u;
}

class OperationChecks {
 public:
  OperationChecks(Objective& objective, const Point& x, const Point& v, int64_t most)
      : objective_(objective), x_(x), v_(v), most_(most) {}

  // Why nothing can be said; empty: checked.
  std::string run() {
    Tape tape;
    const Point leaves = leaves_at(x_);
    static_cast<void>(objective_.record(leaves));
    places_ = modules_of(tape, leaf_names(tape, leaves));
    std::vector<int64_t> open(static_cast<std::size_t>(tape.size()));
    std::iota(open.begin(), open.end(), 0);
    std::map<int64_t, std::string> disagree;
    for (const double step : {0x1p-11, 0x1p-16}) {  // a kink between the steps is not between smaller ones
      if (std::string reason = read_passes(step); !reason.empty()) return reason;
      disagree.clear();
      for (const int64_t position : open) {
        std::string numbers = check(tape, position);
        if (!numbers.empty()) disagree.emplace(position, std::move(numbers));
      }
      const std::vector<int64_t> before = std::exchange(open, {});
      for (const auto& [position, numbers] : disagree) open.push_back(position);
      if (step == 0x1p-11) {
        for (const int64_t position : before)
          if (!disagree.contains(position) && checked_.contains(position)) ++right[tape.op_name(position)];
        continue;
      }
      for (const int64_t position : before)
        if (!disagree.contains(position)) kinks.push_back(text_of(tape, position));
    }
    for (const auto& [position, numbers] : disagree) {
      if (is_kink(position, tape.inputs_of(position))) {
        kinks.push_back(text_of(tape, position));
      } else {
        wrong.emplace_back(text_of(tape, position), numbers);
      }
    }
    return {};
  }

  std::map<std::string_view, int64_t> right;               // by operation
  std::vector<std::string> kinks;                          // "relu in blocks.0.ff"
  std::vector<std::pair<std::string, std::string>> wrong;  // and their numbers

 private:
  std::string read_passes(double step) {
    step_ = step;
    passes_.clear();
    for (const double t : {0.0, step, -step, 2 * step, -2 * step, 4 * step, -4 * step}) {
      std::optional<NearbyPass> pass = pass_at(objective_, moved(x_, v_, t), most_ / 7);
      if (!pass) return fmt::format("operations one by one: their values have more than {} elements", most_ / 7);
      if (!passes_.empty() && pass->names != passes_[0].names)
        return "operations one by one: a pass nearby runs other operations";
      passes_.push_back(std::move(*pass));
    }
    return {};
  }

  std::string text_of(const Tape& tape, int64_t position) const {
    const std::string& place = places_[static_cast<std::size_t>(position)];
    return fmt::format("{}{}{}", tape.op_name(position), place.empty() ? "" : " in ", place);
  }

  Names leaf_names(const Tape& tape, const Point& leaves) const {
    std::map<int64_t, std::string> names;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (objective_.variables()[i].parameter)
        names.emplace(leaves[i].tape_index().position, objective_.variables()[i].name);
    return names_of_leaves(tape, [&](const TapeIndex& leaf) {
      const auto found = names.find(leaf.position);
      return found == names.end() ? std::string() : found->second;
    });
  }

  const Tensor* value(std::size_t pass, int64_t position) const {
    const auto found = passes_[pass].values.find(position);
    return found == passes_[pass].values.end() ? nullptr : &found->second;
  }

  std::optional<Tangents> tangents(int64_t position) const {
    const Tensor* at[7];
    for (std::size_t i = 0; i < 7; ++i) {
      at[i] = value(i, position);
      if (!at[i] || at[i]->shape() != at[0]->shape()) return {};
    }
    const auto slope = [&](std::size_t near, double h) {
      const Tensor a = at[near]->to(kFloat64) - at[near + 1]->to(kFloat64),
                   b = at[near + 2]->to(kFloat64) - at[near + 3]->to(kFloat64);
      return (8 * a - b) / (12 * h);
    };
    return Tangents{slope(1, step_), slope(3, 2 * step_)};
  }

  // The numbers, if they disagree.
  std::string check(Tape& tape, int64_t position) {
    const std::span<const int64_t> inputs = tape.inputs_of(position);
    const std::optional<Tangents> y = tangents(position);
    if (inputs.empty() || !y) return {};
    const Tensor& result = *value(0, position);
    Generator generator(static_cast<uint64_t>(position) + 17);
    const Tensor u = random_like(result.shape(), generator);
    const double fine = inner({u}, {y->fine}), coarse = inner({u}, {y->coarse});
    const double size = inner_size({u}, {y->fine});
    double noise = std::abs(fine - coarse) + kEps / step_ * inner_size({u}, {result}) + 16 * kEps * size;
    const std::vector<int64_t> from(inputs.begin(), inputs.end());
    Grads grads = tapegrad::detail::gradients_of_inputs(tape, position, u.to(result.dtype()));
    double analytic = 0, terms = size;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] < 0 || !grads[i].defined()) continue;
      const std::optional<Tangents> x = tangents(from[i]);
      if (!x) return {};
      const double one = inner({grads[i]}, {x->fine});
      analytic += one;
      noise +=
          std::abs(one - inner({grads[i]}, {x->coarse})) + kEps / step_ * inner_size({grads[i]}, {*value(0, from[i])});
      terms += inner_size({grads[i]}, {x->fine});
    }
    const double error = std::abs(analytic - fine);
    checked_.insert(position);
    if (error <= 4 * noise + 64 * kEps * terms || !std::isfinite(fine)) return {};
    return fmt::format("analytic {:.9g}, numerical {:.9g}", analytic, fine);
  }

  // Whether the result bends where its inputs do not: its second differences are of first order in the step.
  bool is_kink(int64_t position, std::span<const int64_t> from) const {
    const auto bend = [&](int64_t at) {
      const Tensor near = *value(1, at) + *value(2, at) - 2 * *value(0, at),
                   far = *value(3, at) + *value(4, at) - 2 * *value(0, at);
      return std::pair{max(abs(near)).item<double>(), max(abs(far)).item<double>()};
    };
    const auto [near, far] = bend(position);
    double of_inputs = 0;
    for (const int64_t one : from)
      if (one >= 0 && value(0, one)) of_inputs = std::max(of_inputs, bend(one).first);
    return near > 0.3 * far && near > 8 * of_inputs && near > 1e3 * kEps;  // a smooth one: a quarter
  }

  Objective& objective_;
  const Point& x_;
  const Point& v_;
  const int64_t most_;
  double step_ = 0;
  std::vector<NearbyPass> passes_;  // at 0, h, -h, 2h, -2h, 4h, -4h
  std::set<int64_t> checked_;
  Names places_;
};

}  // namespace

CertificateSection each_operation(Objective& objective, const Point& x, const Point& v, int64_t most_elements,
                                  std::vector<std::string>& unchecked) {
  CertificateSection section{"Operations",
                             "the backward of each operation by itself, at its values in the model, for a random "
                             "gradient of its result",
                             {}};
  OperationChecks checks(objective, x, v, most_elements);
  if (std::string reason = checks.run(); !reason.empty()) {
    unchecked.push_back(std::move(reason));
    return section;
  }
  for (const auto& [what, numbers] : checks.wrong) section.lines.push_back({what, numbers, "", Verdict::wrong});
  std::map<std::string, int64_t> bent;
  for (const std::string& what : checks.kinks) ++bent[what];
  for (const auto& [what, count] : bent)
    section.lines.push_back({what, fmt::format("{} with a kink nearby", count), "", Verdict::unknown});
  for (const auto& [name, count] : checks.right)
    section.lines.push_back({std::string(name), fmt::format("{} right", count), "", Verdict::right});
  return section;
}

}  // namespace tapegrad::nn::detail
