// Random programs as training: updates in backward against updates at its end.
#include <tapegrad/tests/programs/programs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {

namespace {

constexpr int kSteps = 2;
constexpr std::string_view kWhere = "update_fault_of";

// Elements of a parameter: a thread takes 32,768 at a time in an update, and an update waits for 131,072.
constexpr int64_t kSizes[] = {1,      5,       32'767,  32'768,  32'769,  65'535,
                              65'536, 131'071, 131'072, 131'073, 200'000, 300'000};

// How a step of the program runs.
enum class Way { plain, recomputed, custom, custom_of_result, recorded, hooked, recomputed_reading };
constexpr std::string_view kWays[] = {
    "plain", "recomputed", "custom", "custom of its result", "recorded", "hooked", "recomputed and reading"};

// A program with what was drawn for its training.
class Training {
 public:
  Training(const Program& program, Reads custom_reads)
      : program_(program), custom_reads_(custom_reads), generator_(program.seed * 1000003 + 7 * program.number + 1) {
    const auto length = static_cast<int64_t>(program.steps.size());
    for (const Tensor& input : program.tensors(kFloat32)) start_.push_back(input.contiguous().clone());
    for (int64_t k = below(3); k >= 0; --k) add_parameter(kSizes[below(std::size(kSizes))]);
    if (below(8) == 0) {
      for (int k = 0; k < 40; ++k) add_parameter(3);  // more leaves than a tape's first table has room for
    }
    const auto more = static_cast<int64_t>(start_.size() - program.inputs.size());
    for (int64_t k = 0; k < more; ++k) enters_.push_back({below(length + 1), below(length + 1)});
    for (int64_t k = 0; k < length; ++k)
      ways_.push_back({static_cast<Way>(below(std::size(kWays))), below(static_cast<int64_t>(start_.size()))});
    shares_memory_ = below(3) == 0;
    optimizer_ = below(4);
  }

  using Bytes = std::vector<std::vector<std::byte>>;

  // The bytes of all parameters and of the optimiser's state after some steps, or the text of an Error, and the bytes
  // of the parameters then.
  struct End {
    Bytes bytes;
    std::string error;
  };

  // A step with gradients that are not finite. Some parameters may be updated before such a gradient is found.
  struct NotFinite {
    Bytes before, after;       // of parameters; after: by their gradients that are finite
    std::vector<bool> finite;  // the gradient of each
  };

  End run_in_backward() const {
    State state(*this);
    return state.end([&](Tape& tape, const Tensor& loss) { state.optimizer->step(tape, loss); });
  }

  // `broken`: of a step with gradients that are not finite, if there is one, where it ends.
  End run_at_end(NotFinite& broken) const {
    State state(*this);
    return state.end([&](Tape& tape, const Tensor& loss) {
      if (const double value = loss.item(); !std::isfinite(value))
        fail("optimizer",
             fmt::format("the loss is {}, so nothing was updated (Tape::trap_nan finds the operation)", value));
      const Gradients grads = tape.backward(loss);
      Gradients finite;
      for (const Tensor& leaf : state.leaves) {
        const Tensor* const grad = grads.find(leaf);
        broken.finite.push_back(!grad || all_finite(*grad));
        if (grad && broken.finite.back()) finite.set(leaf, *grad);
      }
      if (std::ranges::find(broken.finite, false) == broken.finite.end()) {
        broken.finite.clear();
        state.optimizer->step(grads);
        return;
      }
      broken.before = state.parameters();
      try {
        state.optimizer->step(grads);
      } catch (const Error&) {
        if (state.parameters() != broken.before) fail(kWhere, "parameters were updated before an Error");
        state.optimizer->step(finite);
        broken.after = state.parameters();
        throw;
      }
      fail(kWhere, "gradients that are not finite were accepted");
    });
  }

  std::string description() const {
    std::string text = "parameters of";
    for (const Tensor& start : start_) text += fmt::format(" {}", start.numel());
    text += shares_memory_ ? " elements (the last one in shared memory); steps" : " elements; steps";
    for (const auto& [way, read] : ways_) text += fmt::format(" [{}, p{}]", kWays[static_cast<std::size_t>(way)], read);
    return text;
  }

 private:
  int64_t below(int64_t n) {
    int64_t drawn = 0;
    generator_.randint(&drawn, 1, 0, n);
    return drawn;
  }
  void add_parameter(int64_t n) { start_.push_back(randn({n}, kFloat32, &generator_)); }

  std::unique_ptr<optim::Optimizer> made(const NamedTensors& parameters) const {
    switch (optimizer_) {
      case 0: return std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
      case 1: return std::make_unique<optim::NAdam>(parameters, optim::NAdamOptions{.lr = 0.05});
      case 2: return std::make_unique<optim::Adafactor>(parameters, optim::AdafactorOptions{.lr = 0.05});
      default: return std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = 0.05});
    }
  }

  // Where a run is.
  struct State {
    explicit State(const Training& t) : training(t) {
      for (const Tensor& start : t.start_) leaves.push_back(start.clone().as_leaf());
      if (t.shares_memory_) leaves.back() = leaves[t.program_.inputs.size()].detach().as_leaf();
      NamedTensors named;
      for (const Tensor& leaf : leaves) named.push_back({fmt::format("p{}", named.size()), leaf});
      optimizer = t.made(named);
      optimizer->allow_missing(true);
    }
    Bytes parameters() const {
      Bytes all;
      for (const Tensor& leaf : leaves) all.push_back(bytes_of(leaf));
      return all;
    }
    End end(const std::function<void(Tape& tape, const Tensor& loss)>& step) {
      try {
        for (int k = 0; k < kSteps; ++k) {
          Tape tape;
          step(tape, training.loss_of(leaves));
        }
      } catch (const Error& error) {
        return {parameters(), error.what()};
      }
      End end{parameters(), {}};
      for (const NamedTensor& entry : optimizer->state()) end.bytes.push_back(bytes_of(entry.tensor));
      return end;
    }

    const Training& training;
    std::vector<Tensor> leaves;
    std::unique_ptr<optim::Optimizer> optimizer;
  };

  static std::vector<std::byte> bytes_of(const Tensor& x) {
    const Tensor packed = x.detach().contiguous();
    std::vector<std::byte> bytes(static_cast<std::size_t>(packed.numel() * item_size(packed.dtype())));
    if (!bytes.empty()) std::memcpy(bytes.data(), packed.raw_data(), bytes.size());
    return bytes;
  }

  // Read from the leaf when it is called.
  static double factor_of(const Tensor& leaf) { return leaf.numel() == 0 ? 1 : 1 + 0.25 * leaf.data<float>()[0]; }

  Tensor loss_of(const std::vector<Tensor>& leaves) const {
    const std::size_t inputs = program_.inputs.size();
    std::vector<Tensor> values(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(inputs));
    for (std::size_t k = 0; k < program_.steps.size(); ++k) {
      Tensor v = step(k, values, leaves);
      for (std::size_t j = 0; j < enters_.size(); ++j) {
        const Tensor& leaf = leaves[inputs + j];
        for (const int64_t at : {enters_[j].first, enters_[j].second})
          if (at == static_cast<int64_t>(k)) v = v * (1 + mean(leaf * leaf) * 0.1);
      }
      values.push_back(v);
    }
    Tensor loss = scalar(0);
    for (const int k : program_.results) loss = loss + weighted_sum(values[static_cast<std::size_t>(k)]);
    for (std::size_t k = 0; k < inputs; ++k) loss = loss + sum(values[k]);
    return loss;
  }

  Tensor step(std::size_t k, const std::vector<Tensor>& values, const std::vector<Tensor>& leaves) const {
    const Call& call = program_.steps[k];
    const Way way = ways_[k].first;
    const Tensor leaf = leaves[static_cast<std::size_t>(ways_[k].second)];
    if ((way == Way::recomputed || way == Way::recomputed_reading) && !call.t.empty()) {
      const bool reads = way == Way::recomputed_reading;
      const auto at = static_cast<std::size_t>(call.t[0]);
      auto f = [&call, at, values = std::vector<Tensor>(values), leaf = Tensor(leaf), reads](const Tensor& x) mutable {
        values[at] = x;
        const Tensor y = computed(call, values, kFloat32);
        return reads ? y * factor_of(leaf) : y;
      };
      return nn::recompute(values[at], std::move(f), reads ? Reads::anything : Reads::inputs);
    }
    static const Op kReads{"reads_a_parameter"};  // not in programs that only link this file
    const Tensor v = computed(call, values, kFloat32);
    const auto forward = [leaf](const Tensor& x) { return x * factor_of(leaf); };
    const auto backward = [leaf](const Tensor& dy) -> Grads { return dy * factor_of(leaf); };
    switch (way) {
      case Way::custom: return custom(kReads, {v}, forward, backward, custom_reads_);
      case Way::custom_of_result: {
        const auto of_result = [backward](const Tensor& dy, const Tensor&) { return backward(dy); };
        return custom(kReads, {v}, forward, of_result, custom_reads_);
      }
      case Way::recorded: return record(kReads, v.detach() * factor_of(leaf), {v}, backward, custom_reads_);
      case Way::hooked: return on_grad(v, [leaf](const Tensor& dy) { return dy * factor_of(leaf); });
      default: return v;
    }
  }

  const Program& program_;
  const Reads custom_reads_;
  Generator generator_;
  std::vector<Tensor> start_;                        // of all parameters, inputs first
  std::vector<std::pair<int64_t, int64_t>> enters_;  // of those that are no inputs: the steps that use it
  std::vector<std::pair<Way, int64_t>> ways_;        // of each step, and the parameter that it reads
  bool shares_memory_ = false;
  int64_t optimizer_ = 0;
};

std::string difference(const Training::End& expected, const Training::End& found) {
  if (found.error != expected.error)
    return fmt::format("updates in backward end with \"{}\", not \"{}\"", found.error, expected.error);
  for (std::size_t i = 0; i < expected.bytes.size(); ++i) {
    if (found.bytes[i] != expected.bytes[i])
      return fmt::format("parameter or state {} has other bits after updates in backward", i);
  }
  return {};
}

// Which of the gradients that are not finite is found first depends on the order. Its parameter is named, none of
// theirs is updated, and the others are updated or not.
std::string difference(const Training::NotFinite& expected, const Training::End& found) {
  bool named = false;
  for (std::size_t i = 0; i < expected.finite.size(); ++i) {
    const bool finite = expected.finite[i];
    named =
        named || (!finite && found.error == fmt::format("[optimizer] the gradient of \"p{}\" is not finite, so it was "
                                                        "not updated (Tape::trap_nan finds the operation)",
                                                        i));
    if (found.bytes[i] == expected.before[i] || (finite && found.bytes[i] == expected.after[i])) continue;
    return fmt::format(
        "parameter {}, whose gradient is {}, has other bits after updates in backward that end with \"{}\"", i,
        finite ? "finite" : "not finite", found.error);
  }
  return named ? std::string() : fmt::format("updates in backward end with \"{}\"", found.error);
}

}  // namespace

std::string update_fault_of(const Program& program, Reads custom_reads) {
  const Training training(program, custom_reads);
  Training::NotFinite broken;
  const Training::End expected = training.run_at_end(broken), found = training.run_in_backward();
  const std::string wrong = broken.after.empty() ? difference(expected, found) : difference(broken, found);
  return wrong.empty() ? wrong : fmt::format("{}; {}", wrong, training.description());
}

}  // namespace tapegrad::tests
