// The checks of a certificate, in the order of the page.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/io/bits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/certify/detail/along.h>
#include <tapegrad/nn/certify/detail/each_operation.h>
#include <tapegrad/nn/certify/detail/objective.h>
#include <tapegrad/nn/module/detail/keep_generator.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tapegrad::nn::detail {
namespace {

// Where a check is made: a point, and a mode of the model.
struct Place {
  std::string name;  // "as given, train"
  const Point& x;
  bool training;
};

class Certification {
 public:
  Certification(const CertifiedModel& single, const CertifiedModel& wide, const std::vector<Tensor>& batch,
                const CertifyOptions& options)
      : options_(options),
        single_(single, batch, kFloat32, options.seed),
        wide_(wide, batch, kFloat64, options.seed),
        generator_(options.seed) {
    add_points();
    describe(wide, batch);
  }

  Certificate run() {
    const auto begin = std::chrono::steady_clock::now();
    if (!repeats()) return std::move(page_);
    directional();
    taylor();
    tensors();
    operations();
    precision();
    repeated();
    examples();
    control();
    page_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(page_);
  }

 private:
  using Lines = std::vector<CertificateLine>;

  Lines& section(std::string title, std::string about) {
    return page_.sections.emplace_back(CertificateSection{std::move(title), std::move(about), {}}).lines;
  }
  const std::string& name_of(std::size_t i) const { return wide_.variables()[i].name; }

  // Normal numbers of the size of each variable, or of 0.02 where that is less: a bias begins with 0.
  Point direction(double scale) {
    Point v;
    for (const Tensor& x : wide_.start()) {
      const Tensor drawn = Tensor::empty(x.shape(), kFloat64);
      generator_.normal(drawn.mutable_data<double>(), drawn.numel(), 0, scale * std::max(rms(x), 0.02));
      v.push_back(drawn);
    }
    return v;
  }

  void add_points() {
    points_.emplace_back(options_.given, wide_.start());
    for (const auto& [name, state] : options_.states) points_.emplace_back(name, point_of(name, state));
    for (int64_t i = 1; i < options_.points; ++i)
      points_.emplace_back(i == 1 ? "moved" : fmt::format("moved {}", i), moved(wide_.start(), direction(0.5), 1));
  }

  Point point_of(const std::string& name, const NamedTensors& state) const {
    Point x = wide_.start();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!wide_.variables()[i].parameter) continue;
      const auto found = std::ranges::find(state, name_of(i), &NamedTensor::name);
      if (found == state.end() || found->tensor.shape() != x[i].shape())
        fail("certify",
             fmt::format("expected the state \"{}\" to have \"{}\" of shape {}", name, name_of(i), str(x[i].shape())));
      x[i] = found->tensor.detach().to(kFloat64);
    }
    return x;
  }

  void describe(const CertifiedModel& model, const std::vector<Tensor>& batch) {
    int64_t count = 0, tensors = 0, inputs = 0;
    for (const Objective::Variable& v : wide_.variables()) {
      if (!v.parameter) ++inputs;
      if (!v.parameter) continue;
      ++tensors;
      count += (*v.parameter)->numel();
    }
    const std::vector<NamedParameter> all = named_parameters(model.model, true);
    NamedTensors values, data;
    for (std::size_t i = 0; i < wide_.variables().size(); ++i)
      if (wide_.variables()[i].parameter) values.push_back({name_of(i), single_.start()[i]});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      data.push_back({fmt::format("batch {}", i), batch[i]});
      if (!is_floating(batch[i].dtype()))
        page_.unchecked.push_back(fmt::format("batch {}: {}, which has no derivative", i, name(batch[i].dtype())));
    }
    for (const NamedParameter& p : all)
      if (p.parameter.frozen()) page_.unchecked.push_back(fmt::format("{}: frozen", p.name));
    for (const NamedBuffer& b : named_buffers(model.model))
      page_.unchecked.push_back(fmt::format("{}: a buffer, not differentiated", b.name));
    page_.subject = {
        {"parameters", fmt::format("{} in {} tensors, bits {}", count, tensors, bits_of(values))},
        {"batch", fmt::format("{} tensors, {} of them differentiated, bits {}", batch.size(), inputs, bits_of(data))},
        {"checked in", "float64 against differences; float32 against float64"},
        {"kernels", std::string(kernels_in_use())},
        {"seed", fmt::format("{}", options_.seed)}};
  }

  std::vector<Place> places() const {
    std::vector<Place> all;
    for (const auto& [name, x] : points_) {
      if (wide_.has_modes()) all.push_back({name + ", train", x, true});
      all.push_back({wide_.has_modes() ? name + ", eval" : name, x, false});
    }
    return all;
  }

  Measured measure(const Point& x, const Point& gradient, const Point& v, const Steps& steps = {}) {
    const auto f = [&](double t) { return wide_.value(moved(x, v, t)); };
    return along(f, inner(gradient, v), inner_size(gradient, v), steps);
  }
  // Steps for many directions at one point.
  Steps few_steps(const Point& x, const Point& v) {
    return {.first = 5, .last = 8, .rounding = rounding_of([&](double t) { return wide_.value(moved(x, v, t)); })};
  }

  // Without it, differences mean nothing.
  bool repeats() {
    Lines& lines = section("The loss", "computed twice, with the same random numbers");
    for (const Place& place : places()) {
      wide_.set_training(place.training);
      const double first = wide_.value(place.x), second = wide_.value(place.x);
      const bool equal = first == second || (std::isnan(first) && std::isnan(second));
      lines.push_back({place.name,
                       equal ? fmt::format("{:.9g}", first) : fmt::format("{:.17g}, then {:.17g}", first, second), "",
                       equal ? Verdict::right : Verdict::wrong});
    }
    return page_.ok();
  }

  void directional() {
    Lines& lines = section("Directional derivatives",
                           "the gradient times a random direction, against differences whose error is measured");
    for (const Place& place : places()) {
      wide_.set_training(place.training);
      const Point gradient = wide_.gradient(place.x);
      if (!same(gradient, wide_.gradient(place.x)))
        lines.push_back({place.name, "another gradient when it is computed again", "", Verdict::wrong});
      for (int64_t i = 1; i <= options_.directions; ++i) {
        const Point v = direction(1);
        const Measured m = confirmed(measure(place.x, gradient, v), place.x, v);
        lines.push_back(line_of(fmt::format("{}, direction {}", place.name, i), m));
        if (page_.numbers.empty()) keep_numbers(place.x, v, gradient, m);
        if (m.verdict == Verdict::wrong) find_element(lines, place.x, gradient, v);
      }
    }
  }

  // The worst verdict about single operations; wrong if they cannot be checked.
  Verdict of_operations(const Point& x, const Point& v) {
    std::vector<std::string> unchecked;
    const CertificateSection found = each_operation(wide_, x, v, options_.most_elements, unchecked);
    if (!unchecked.empty()) return Verdict::wrong;
    Verdict worst = Verdict::right;
    for (const CertificateLine& line : found.lines) worst = std::max(worst, line.verdict);
    return worst;
  }

  // x, all of whose numbers move by their last bits: rounding errors are others there.
  Point nearby(const Point& x) {
    Point y = x;
    for (Tensor& one : y) {
      const double part = one.dtype() == kFloat64 ? 0x1p-50 : 0x1p-23;
      const Tensor drawn = Tensor::empty(one.shape(), kFloat64);
      generator_.uniform(drawn.mutable_data<double>(), drawn.numel(), -part, part);
      one = (one.to(kFloat64) * (1 + drawn)).to(one.dtype());
    }
    return y;
  }

  // Whether rounding errors of `analytic`, a derivative at x, explain what m has found.
  bool is_rounding(const Measured& m, const Point& x, const std::function<double(const Point&)>& analytic) {
    double noise = 0;
    for (int repeat = 0; repeat < 4; ++repeat) noise = std::max(noise, std::abs(analytic(nearby(x)) - m.analytic));
    return m.gap() <= m.error + 10 * noise && noise > 1e-6 * std::abs(m.analytic);
  }

  // A gradient that is wrong is so in one operation at least, whose own derivative is not hidden by others' kinks.
  Measured confirmed(Measured m, const Point& x, const Point& v) {
    if (m.verdict != Verdict::wrong) return m;
    if (of_operations(x, v) != Verdict::wrong) {
      m.verdict = Verdict::unknown;
      m.reason = "kinks? every operation by itself is right";
    } else if (is_rounding(m, x, [&](const Point& y) { return inner(wide_.gradient(y), v); })) {
      m.verdict = Verdict::unknown;
      m.reason = "rounding errors of backward";
    }
    return m;
  }

  void keep_numbers(const Point& x, const Point& v, const Point& gradient, const Measured& m) {
    for (std::size_t i = 0; i < x.size(); ++i)
      for (const auto& [kind, at] : {std::pair{"x", &x}, {"v", &v}, {"gradient", &gradient}})
        page_.numbers.push_back({fmt::format("{}.{}", kind, name_of(i)), (*at)[i]});
    page_.numbers.push_back({"loss", scalar(wide_.value(x), kFloat64)});
    page_.numbers.push_back({"analytic", scalar(m.analytic, kFloat64)});
    page_.numbers.push_back({"numerical", scalar(m.numerical, kFloat64)});
  }

  // Which element is wrong: of the tensor whose part of the derivative differs most, then of its halves.
  void find_element(Lines& lines, const Point& x, const Point& gradient, const Point& v) {
    if (found_element_) return;
    found_element_ = true;
    std::size_t tensor = 0;
    double most = -1;
    const Steps steps = few_steps(x, v);
    const auto part = [&](std::size_t i, int64_t begin, int64_t end) {
      if (begin >= end) return 0.0;
      const Measured m = measure(x, gradient, restricted(v, i, begin, end), steps);
      return m.verdict == Verdict::wrong ? m.gap() : 0;
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double gap = part(i, 0, v[i].numel());
      if (gap > most) tensor = i, most = gap;
    }
    int64_t begin = 0, end = v[tensor].numel();
    while (end - begin > 1) {
      const int64_t middle = (begin + end) / 2;
      (part(tensor, begin, middle) >= part(tensor, middle, end) ? end : begin) = middle;
    }
    const Point one = restricted(v, tensor, begin, end);
    const double move = one[tensor].flatten().to_vector<double>()[static_cast<std::size_t>(begin)];
    Measured m = measure(x, gradient, one);
    CertificateLine line = line_of(fmt::format("  most of it: element {} of {}", begin, name_of(tensor)), m);
    line.found = fmt::format("analytic {:.12g}, numerical {:.12g}", m.analytic / move, m.numerical / move);
    lines.push_back(std::move(line));
  }

  static Point restricted(const Point& v, std::size_t tensor, int64_t begin, int64_t end) {
    Point part(v.size());
    std::vector<double> values = v[tensor].flatten().to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (static_cast<int64_t>(i) < begin || static_cast<int64_t>(i) >= end) values[i] = 0;
    part[tensor] = from_data(values.data(), v[tensor].numel(), v[tensor].shape(), kFloat64);
    return part;
  }

  // log2 of how much smaller the remainder is after half the step: 2 for a right gradient, 3 with a right Hessian. The
  // verdict is that of differences: of f, and of its gradient.
  void taylor() {
    Lines& lines =
        section("Taylor remainders", "f(x + hv) - f(x) - h<g, v>, and the same less h^2 v'Hv / 2: their orders in h");
    const Place place = places().front();
    wide_.set_training(place.training);
    const Point v = direction(1), gradient = wide_.gradient(place.x);
    const Measured slope = confirmed(measure(place.x, gradient, v), place.x, v);
    std::optional<Measured> curvature;
    try {
      const double analytic = wide_.curvature(place.x, v);
      curvature = along([&](double t) { return inner(wide_.gradient(moved(place.x, v, t)), v); }, analytic,
                        std::abs(analytic), {.first = 5, .last = 9});
      if (curvature->verdict == Verdict::wrong &&
          (of_operations(place.x, v) == Verdict::unknown ||
           is_rounding(*curvature, place.x, [&](const Point& y) { return wide_.curvature(y, v); }))) {
        curvature->verdict = Verdict::unknown;
        curvature->reason = "kinks or rounding errors";
      }
    } catch (const Error& error) {
      page_.unchecked.push_back(fmt::format("second order: {}", error.what()));
    }
    std::vector<double> first, second;
    const double middle = wide_.value(place.x);
    for (int k = 3; k <= 9; ++k) {
      const double h = std::ldexp(1.0, -k), change = wide_.value(moved(place.x, v, h)) - middle - h * slope.analytic;
      first.push_back(change);
      second.push_back(change - h * h / 2 * (curvature ? curvature->analytic : 0));
    }
    lines.push_back(order_line("gradient", first, middle, slope));
    if (curvature) lines.push_back(order_line("Hessian product", second, middle, *curvature));
  }

  static CertificateLine order_line(std::string what, const std::vector<double>& remainders, double middle,
                                    const Measured& m) {
    const double noise = 1e4 * 2.2e-16 * std::max(std::abs(middle), 1e-3);
    std::string table;
    std::optional<double> order;
    for (std::size_t i = 0; i < remainders.size() && std::abs(remainders[i]) >= noise; ++i) {
      if (i > 0) order = std::log2(std::abs(remainders[i - 1] / remainders[i]));
      table += fmt::format("{}{:.1e}", i > 0 ? " " : "", remainders[i]);
    }
    CertificateLine line = line_of(std::move(what), m);
    const std::string numbers = m.verdict == Verdict::right ? "" : "; " + line.found;
    line.found =
        (order ? fmt::format("order {:.3f}: {}", *order, table) : "remainders below rounding errors") + numbers;
    return line;
  }

  void tensors() {
    Lines& lines = section("Each tensor", "the derivative when it alone moves, the norm of its gradient, its zeros");
    const Place place = places().back();
    wide_.set_training(place.training);
    std::vector<bool> has_none;
    const Point gradient = wide_.gradient(place.x, &has_none), v = direction(1);
    const Steps steps = few_steps(place.x, v);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      Point alone(v.size());
      alone[i] = v[i];
      const Measured m = confirmed(measure(place.x, gradient, alone, steps), place.x, alone);
      CertificateLine line = line_of(name_of(i), m);
      const double zeros = 1 - sum(ne(gradient[i], 0).to(kFloat64), {}).item<double>() /
                                   std::max<double>(1, static_cast<double>(gradient[i].numel()));
      const double size = norm_of(gradient[i]);
      line.found = fmt::format("norm {:.3g}", size);
      if (m.verdict == Verdict::wrong)
        line.found += fmt::format(", analytic {:.12g}, numerical {:.12g}", m.analytic, m.numerical);
      if (!m.reason.empty()) line.found += ", " + m.reason;
      if (size == 0 && gradient[i].numel() > 0) {
        line.found += has_none[i] ? ", DETACHED: it took no part in the loss" : ", DEAD: its gradient is zero";
        line.verdict = std::max(line.verdict, Verdict::unknown);
      } else if (zeros > 0.5) {
        line.found += fmt::format(", {:.0f} % zeros", 100 * zeros);
      }
      lines.push_back(std::move(line));
    }
    std::ranges::stable_sort(lines, worse);
  }

  static bool worse(const CertificateLine& a, const CertificateLine& b) {
    return a.verdict != b.verdict ? a.verdict > b.verdict : a.digits < b.digits;
  }

  void operations() {
    const Place place = places().front();
    wide_.set_training(place.training);
    const bool right = page_.ok();
    CertificateSection found = each_operation(wide_, place.x, direction(1), options_.most_elements, page_.unchecked);
    for (CertificateLine& line : found.lines) {
      if (!right || line.verdict != Verdict::wrong) continue;  // the whole is right: what is detached here cancels
      line.verdict = Verdict::unknown;
      line.found += " (it uses a detached value that depends on the parameters)";
    }
    page_.sections.push_back(std::move(found));
  }

  // In float32, against float64. Where float32 has lost digits, as in what is saturated, the two are compared where
  // everything is smaller: there, too, a wrong kernel is wrong.
  void precision() {
    Lines& lines = section("float32 gradients", "their distance from float64 ones at the same point, relative");
    const bool training = places().front().training;
    wide_.set_training(training);
    single_.set_training(training);
    std::vector<Distance> found = distances(single_.start());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].counts) continue;
      Verdict verdict = found[i].error <= found[i].limit ? Verdict::right : Verdict::wrong;
      std::string text = fmt::format("{:.1e}", found[i].error);
      for (const double size : {1.0, 0.1, 0.01}) {
        if (verdict != Verdict::wrong) break;
        const Distance other = distances(of_size(size))[i];
        if (other.error > other.limit) continue;
        verdict = Verdict::unknown;
        text += fmt::format(" (rounding; with numbers of size {}: {:.1e})", size, other.error);
      }
      lines.push_back({name_of(i), std::move(text), fmt::format("{:.1e}", found[i].limit), verdict});
    }
    std::ranges::stable_sort(lines, worse);
  }

  // Parameters of at most this size in the mean, and a batch of this size.
  Point of_size(double size) const {
    Point x = single_.start();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double now = rms(x[i]);
      if (now > size || (now > 0 && !wide_.variables()[i].parameter)) x[i] = x[i] * (size / now);
    }
    return x;
  }

  struct Distance {
    bool counts;
    double error, limit;  // relative to the size of the gradient
  };
  // What rounding may do is measured by gradients at points that differ in their last bits: rounding errors in float32
  // are 2^29 times those in float64.
  std::vector<Distance> distances(const Point& x) {
    Point wide;
    for (const Tensor& one : x) wide.push_back(one.to(kFloat64));
    const Point exact = wide_.gradient(wide), found = single_.gradient(x);
    std::vector<double> noise(x.size());
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Point single_moved = single_.gradient(nearby(x)), wide_moved = wide_.gradient(nearby(wide));
      for (std::size_t i = 0; i < x.size(); ++i)
        noise[i] =
            std::max({noise[i], norm_of(single_moved[i] - found[i]), 0x1p27 * norm_of(wide_moved[i] - exact[i])});
    }
    std::vector<Distance> all;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double size = std::max(norm_of(exact[i]), 1e-300), error = norm_of(found[i].to(kFloat64) - exact[i]);
      all.push_back({size > 1e-300 || error > 0, error / size, 32 * noise[i] / size + 1e-5});
    }
    return all;
  }

  static bool same(const Point& a, const Point& b) {
    const auto named = [](const Point& x) {
      NamedTensors all;
      for (const Tensor& one : x) all.push_back({fmt::format("{:06}", all.size()), one});
      return all;
    };
    return bits_of(named(a)) == bits_of(named(b));
  }

  void repeated() {
    Lines& lines = section("Equal bits", "the float32 gradient, computed again");
    single_.set_training(places().front().training);
    const Point& x = single_.start();
    const Point first = single_.gradient(x);
    const auto add = [&](std::string what, const Point& g) {
      const bool equal = same(first, g);
      lines.push_back({std::move(what), equal ? "equal" : "differ", "", equal ? Verdict::right : Verdict::wrong});
    };
    add("a second time", single_.gradient(x));
    const int before = num_threads();
    for (const int threads : {1, 2, 3}) {
      if (threads == before) continue;
      set_num_threads(threads);
      add(fmt::format("{} thread{} instead of {}", threads, threads == 1 ? "" : "s", before), single_.gradient(x));
    }
    set_num_threads(before);
    retained(lines, x, first);
  }

  // On one tape: twice, and for some variables alone.
  void retained(Lines& lines, const Point& x, const Point& first) {
    constexpr std::size_t kMost = 8;
    Tape tape;
    Point leaves;
    for (const Tensor& one : x) leaves.push_back(one.detach().as_leaf());
    const Tensor loss = single_.record(leaves);
    if (tape.position_of(loss) < 0) return;
    const auto gradients = [&](const std::vector<Tensor>& only) {
      const Gradients grads = tape.backward(loss, {.retain_graph = true, .only = only});
      Point g;
      for (const Tensor& leaf : leaves) g.push_back(grads.find(leaf) ? *grads.find(leaf) : Tensor());
      return g;
    };
    const Point once = gradients({}), twice = gradients({});
    bool equal = true, alone = true;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!once[i].defined()) continue;
      equal = equal && same({once[i], twice[i]}, {first[i], first[i]});
    }
    lines.push_back(
        {"twice on a retained tape", equal ? "equal" : "differ", "", equal ? Verdict::right : Verdict::wrong});
    std::size_t count = 0;
    const std::size_t stride = std::max<std::size_t>(1, leaves.size() / kMost);
    for (std::size_t i = 0; i < leaves.size(); i += stride) {
      if (!once[i].defined()) continue;
      ++count;
      const Tensor g = gradients({leaves[i]})[i];
      alone = alone && g.defined() && norm_of(g - first[i]) <= 1e-5 * norm_of(first[i]);
    }
    lines.push_back({fmt::format("for one tensor alone ({} of {})", count, leaves.size()), alone ? "equal" : "differ",
                     "", alone ? Verdict::right : Verdict::wrong});
  }

  // Of a loss that is the mean or the sum of those of its examples.
  void examples() {
    constexpr int64_t kMost = 64;
    const int64_t rows = wide_.rows();
    const Place place = places().back();
    wide_.set_training(false);
    const auto skip = [&](std::string_view why) {
      page_.unchecked.push_back(fmt::format("sums over single examples: {}", why));
    };
    if (rows == 0) return skip("the loss has the batch to itself");
    if (rows < 2 || rows > kMost) return skip(fmt::format("the batch has {} rows", rows));
    try {
      double total = 0;
      for (int64_t i = 0; i < rows; ++i) total += wide_.value_of_rows(place.x, i, i + 1);
      const double whole = wide_.value(place.x);
      const auto is = [&](double sum) { return std::abs(sum - whole) <= 1e-10 * std::max(std::abs(whole), 1e-3); };
      if (!is(total) && !is(total / static_cast<double>(rows)))
        return skip("the loss is neither their mean nor their sum");
      const double factor = is(total) ? 1 : 1 / static_cast<double>(rows);
      const Point all = wide_.gradient(place.x);
      Point sums;
      for (int64_t i = 0; i < rows; ++i) {
        const Point one = wide_.gradient_of_rows(place.x, i, i + 1);
        for (std::size_t k = 0; k < one.size(); ++k)
          if (wide_.variables()[k].parameter)
            i == 0 ? sums.push_back(one[k] * factor) : void(sums[k] = sums[k] + one[k] * factor);
      }
      double error = 0, size = 0;
      for (std::size_t k = 0; k < sums.size(); ++k) {
        error = std::max(error, norm_of(sums[k] - all[k]));
        size = std::max(size, norm_of(all[k]));
      }
      section("Examples", "the gradients of single examples, added")
          .push_back({fmt::format("{} examples", rows), fmt::format("distance {:.1e}", size > 0 ? error / size : error),
                      "1.0e-09", error <= 1e-9 * size + 1e-300 ? Verdict::right : Verdict::wrong});
    } catch (const Error& error) {
      skip(error.what());
    }
  }

  // A check that cannot fail proves nothing: an error is planted in one element, as large as the median of its tensor.
  void control() {
    const Place place = places().back();
    wide_.set_training(place.training);
    const Point gradient = wide_.gradient(place.x);
    Lines& lines = section("Negative control", "an error planted in one element of one gradient must be found");
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      if (norm_of(gradient[i]) > 0) candidates.push_back(i);
    if (candidates.empty()) {
      lines.push_back({"no gradient is other than zero", "nothing to plant in", "", Verdict::unknown});
      return;
    }
    int64_t drawn = 0;
    generator_.randint(&drawn, 1, 0, static_cast<int64_t>(candidates.size()));
    const std::size_t tensor = candidates[static_cast<std::size_t>(drawn)];
    const std::vector<double> values = gradient[tensor].flatten().to_vector<double>();
    const double least = rms(gradient[tensor]);
    int64_t element = 0;
    do generator_.randint(&element, 1, 0, static_cast<int64_t>(values.size()));
    while (std::abs(values[static_cast<std::size_t>(element)]) < least * 0.999);
    Point v(gradient.size());
    v[tensor] = direction(1)[tensor];
    const double move = v[tensor].flatten().to_vector<double>()[static_cast<std::size_t>(element)];
    const double error = options_.planted * values[static_cast<std::size_t>(element)];
    const Measured m = measure(place.x, gradient, v);
    const bool found = m.would_find(m.analytic + error * move);
    const double smallest = m.error / std::abs(values[static_cast<std::size_t>(element)] * move);
    lines.push_back({fmt::format("element {} of {}", element, name_of(tensor)),
                     fmt::format("{:.0e} of it {}; from {:.0e} on errors are found", options_.planted,
                                 found ? "found" : "not found", smallest),
                     "", found ? Verdict::right : Verdict::unknown});
  }

  const CertifyOptions& options_;
  Objective single_, wide_;
  Generator generator_;
  std::vector<std::pair<std::string, Point>> points_;
  Certificate page_;
  bool found_element_ = false;
};

}  // namespace

Certificate certify(const CertifiedModel& single, const CertifiedModel& wide, const std::vector<Tensor>& batch,
                    const CertifyOptions& options) {
  if (options.points < 1 || options.directions < 1)
    fail("certify",
         fmt::format("expected points and directions of 1 or more, got {} and {}", options.points, options.directions));
  require_whole_visit(single.model);
  const KeepGenerator keep;
  return Certification(single, wide, batch, options).run();
}

}  // namespace tapegrad::nn::detail
